// tanh(z) = (1 - exp(-2 z)) / (1 + exp(-2 z)); some drivers' own tanh overflows for large z.
//#include negative_exp
fn tanh_value(z: vec4<f32>) -> vec4<f32> {
    let e = negative_exp_m1(-2.0 * abs(z));
    let y = -e / (2.0 + e);
    return keep_nan(select(y, -y, z < vec4<f32>()), z);
}

fn tanh_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return dy * (1.0 - y) * (1.0 + y);
}
