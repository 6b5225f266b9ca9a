// Sine and cosine of angles in turns, as in src/step/wave.rs. WGSL guarantees its own functions only to 2^-11.

// sin(2 pi a) for |a| <= 1/4.
fn quarter(a: vec4<f32>) -> vec4<f32> {
    let square = a * a;
    return a * (6.283185 + square * (-41.341656 + square * (81.601006 + square * (-76.54978 + square * 39.536705))));
}

fn cosine(turns: vec4<f32>) -> vec4<f32> {
    return quarter(0.25 - abs(turns - round(turns)));
}

fn sine(turns: vec4<f32>) -> vec4<f32> {
    let rest = turns - round(turns);
    return select(vec4<f32>(1.0), vec4<f32>(-1.0), rest < vec4<f32>()) * quarter(0.25 - abs(0.25 - abs(rest)));
}
