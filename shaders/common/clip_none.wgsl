// Gradients as they are.
fn clipped(gradient: vec4<f32>) -> vec4<f32> {
    return gradient;
}
