// z tanh(log(1 + exp(z))). With n = exp(z), the tanh is (n^2 + 2 n) / (n^2 + 2 n + 2); for z > 0 both are divided by n^2,
// so that nothing overflows.
//#include negative_exp
fn mish_value(z: vec4<f32>) -> vec4<f32> {
    let e = negative_exp(-abs(z));
    let numerator = mish_numerator(z, e);
    // -infinity times 0 would be NaN.
    return keep_nan(max(z, vec4<f32>(-100.0)) * (numerator / mish_denominator(z, e, numerator)), z);
}

// tanh + z tanh', with tanh' = (1 - tanh^2) / (1 + exp(-z)).
fn mish_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32> {
    let z = clamped(kept);
    let e = negative_exp(-abs(z));
    let numerator = mish_numerator(z, e);
    let denominator = mish_denominator(z, e, numerator);
    let inner = 4.0 * select(e * e, e, z < vec4<f32>()) * (1.0 + e) / (denominator * denominator);
    return dy * (numerator / denominator + z * inner);
}

// Numerator of the tanh, from e = exp(-|z|).
fn mish_numerator(z: vec4<f32>, e: vec4<f32>) -> vec4<f32> {
    return 2.0 * e + select(vec4<f32>(1.0), e * e, z < vec4<f32>());
}

fn mish_denominator(z: vec4<f32>, e: vec4<f32>, numerator: vec4<f32>) -> vec4<f32> {
    return numerator + select(2.0 * e * e, vec4<f32>(2.0), z < vec4<f32>());
}
