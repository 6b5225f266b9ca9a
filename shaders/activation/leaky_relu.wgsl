// z for z > 0, else 0.01 z.
//#include negative_exp
fn leaky_relu_value(z: vec4<f32>) -> vec4<f32> {
    return keep_nan(select(0.01 * z, z, z > vec4<f32>()), z);
}

fn leaky_relu_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(0.01 * dy, dy, y > vec4<f32>());
}
