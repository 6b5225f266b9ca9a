// Unclipped gradients.
const RESULT = 2; // binding of what the kernel writes

fn clipped(gradient: vec4<f32>) -> vec4<f32> {
    return gradient;
}
