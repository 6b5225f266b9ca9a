// zip: C = A op B element by element; op by OPERATION, for f32 or u32 (see zip_f32, zip_u32)
// A, B, C [rows, columns]; rows of vec4s; a vector is one row
// A thread owns one vec4: threads in a line, or in a plane of tiles. Threads outside do nothing.
// The padding of C is written as 0.
//#include blocks
//#include grid
//#include zip_operation
struct Params {
    rows: u32,
    columns: u32,
    unused0: u32,
    unused1: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<Four>;
@group(0) @binding(2) var<storage, read> b: array<Four>;
@group(0) @binding(3) var<storage, read_write> c: array<Four>;

override OPERATION: u32 = 0u;

@compute @workgroup_size(WORKGROUP, WORKGROUP_Y)
fn zip(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let width = blocks(params.columns);
    let at = place(group, groups, thread, width);
    if at.x < params.rows && at.y < width {
        let i = at.x * width + at.y;
        let column = vec4<u32>(4u * at.y) + vec4<u32>(0u, 1u, 2u, 3u);
        c[i] = select(Four(), apply(OPERATION, a[i], b[i]), column < vec4<u32>(params.columns));
    }
}
