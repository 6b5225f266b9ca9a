// Unclipped gradients.
const RESULT = 2; // binding of the kernel's output

fn clipped(gradient: vec4<f32>) -> vec4<f32> {
    return gradient;
}
