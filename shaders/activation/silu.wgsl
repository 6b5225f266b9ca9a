// z / (1 + exp(-z)).
//#include negative_exp
fn silu_value(z: vec4<f32>) -> vec4<f32> {
    // -infinity times 0 would be NaN.
    let low = max(z, vec4<f32>(-100.0));
    return keep_nan(low * logistic(low), z);
}

// s + z s (1 - s), with s the logistic function of z, and s (1 - s) = e / (1 + e)^2.
fn silu_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32> {
    let z = clamped(kept);
    let e = negative_exp(-abs(z));
    let s = select(vec4<f32>(1.0), e, z < vec4<f32>()) / (1.0 + e);
    return dy * (s + z * (e / ((1.0 + e) * (1.0 + e))));
}
