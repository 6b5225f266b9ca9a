// z itself.
fn identity_value(z: vec4<f32>) -> vec4<f32> {
    return z;
}

fn identity_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return dy;
}
