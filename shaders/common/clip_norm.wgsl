// Gradients G scaled by min(1, clip / (|G| + 1e-6)), with |G|^2 the sum of `squares`, computed by sum_squares.
@group(0) @binding(2) var<storage, read> squares: array<f32>;
const RESULT = 3; // binding of the kernel's output

fn clipped(gradient: vec4<f32>) -> vec4<f32> {
    var sum = 0.0;
    for (var g = 0u; g < params.groups; g += 1u) {
        sum += squares[4u * member_start(2u) + g];
    }
    return gradient * min(1.0, record.clip / (sqrt(sum) + 1e-6));
}
