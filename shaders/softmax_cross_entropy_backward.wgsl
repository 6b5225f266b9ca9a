// softmax_cross_entropy_backward: D = (P - onehot(target)) / rows, the gradient of the batch's mean loss by the logits
// P (probabilities), D (delta) [rows, classes]; f32, rows of vec4s; targets [rows] u32
// A thread owns one vec4; threads beyond the matrix do nothing. The padding of P is 0 and stays so.
//#include blocks
//#include record
//#include elementwise
struct Params {
    classes: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> probabilities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> delta: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn softmax_cross_entropy_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    let width = blocks(params.classes);
    if i < record.rows * width {
        let column = vec4<u32>(4u * (i % width)) + vec4<u32>(0u, 1u, 2u, 3u);
        let onehot = select(vec4<f32>(), vec4<f32>(1.0), column == vec4<u32>(targets[i / width]));
        delta[i] = (probabilities[i] - onehot) / f32(record.rows);
    }
}
