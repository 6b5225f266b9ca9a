// Inputs of kernels that work on rows of outputs: Z [rows, classes] f32 in rows of vec4s.
//#include member
struct Params {
    classes: u32,      // numbers of a row
    samples: u32,      // rows of the data set, if targets are read from it
    own_target: f32,   // target probability of the target's class; see target_probabilities
    other_target: f32, // and of every other
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;

// Target probabilities of the target's class, and of every other.
fn target_probabilities() -> vec2<f32> {
    let own = vec2<f32>(params.own_target, params.other_target);
    return bitcast<vec2<f32>>(member_numbers(bitcast<vec2<u32>>(own)));
}

// Start of a row of Z, or of its gradient at a binding.
fn logits_start(binding: u32, row: u32) -> u32 {
    return 4u * (member_start(binding) + row * blocks(params.classes));
}
