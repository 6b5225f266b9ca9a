// z for z > 0, else exp(z) - 1.
//#include negative_exp
fn elu_value(z: vec4<f32>) -> vec4<f32> {
    let below = negative_exp_m1(min(z, vec4<f32>()));
    return keep_nan(select(below, z, z > vec4<f32>()), z);
}

// exp(z) = y + 1.
fn elu_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return dy * select(y + 1.0, vec4<f32>(1.0), y > vec4<f32>());
}
