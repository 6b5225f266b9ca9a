// relu_backward: dZ = dY where Y > 0, else 0 (Y = relu(Z) is positive exactly where Z is)
// Y, dY, dZ [rows, columns]; f32, rows of vec4s
// A thread owns one vec4; threads beyond the matrix do nothing.
//#include blocks
//#include record
//#include elementwise
struct Params {
    columns: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> dz: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn relu_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    if i < record.rows * blocks(params.columns) {
        dz[i] = select(vec4<f32>(), dy[i], y[i] > vec4<f32>());
    }
}
