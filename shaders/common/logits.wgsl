// What kernels that work on rows of outputs read: Z [rows, classes] f32 in rows of vec4s.
struct Params {
    classes: u32,      // numbers of a row
    samples: u32,      // rows of the data set, where targets are those of its rows
    own_target: f32,   // probability that a target gives its class
    other_target: f32, // and every other
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
