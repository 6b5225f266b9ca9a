// Exponentials of numbers up to 0, for smooth activations: nothing overflows, and 0 and 1 are reached.

// exp(x) for x <= 0. Below -100 it is 0 in f32.
fn negative_exp(x: vec4<f32>) -> vec4<f32> {
    return exp(max(x, vec4<f32>(-100.0)));
}

// exp(x) - 1 for x <= 0. Near 0 the difference would cancel, so the Taylor series is used.
fn negative_exp_m1(x: vec4<f32>) -> vec4<f32> {
    let tail = 1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0 + x * (1.0 / 5040.0)));
    let series = x + x * x * (0.5 + x * (1.0 / 6.0 + x * tail));
    return select(negative_exp(x) - 1.0, series, x > vec4<f32>(-0.35));
}

// 1 / (1 + exp(-x)), for any x.
fn logistic(x: vec4<f32>) -> vec4<f32> {
    let e = negative_exp(-abs(x));
    return select(vec4<f32>(1.0), e, x < vec4<f32>()) / (1.0 + e);
}

// Clamps x to -100 to 100: beyond that, all derivatives have reached their limits in f32.
fn clamped(x: vec4<f32>) -> vec4<f32> {
    return clamp(x, vec4<f32>(-100.0), vec4<f32>(100.0));
}

// Returns y, or z if that is NaN: drivers' max and clamp drop NaN, but they do not change integer tests of the bits.
fn keep_nan(y: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let magnitude = bitcast<vec4<u32>>(z) & vec4<u32>(0x7fffffffu);
    return select(y, z, magnitude > vec4<u32>(0x7f800000u));
}
