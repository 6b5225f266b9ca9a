// What kernels that work on rows of logits read: Z [rows, classes] f32 in rows of vec4s.
struct Params {
    classes: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
