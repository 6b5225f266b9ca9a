// naive_matmul: C = A*B by the textbook formula
// A [m, k], B [k, n], C [m, n]; f32, rows of vec4s
// A thread owns one element of C and iterates over k; threads in a plane of tiles, or in a line over all elements.
// Threads outside do nothing; the padding of C is written as 0.
//#include blocks
//#include grid
struct Params {
    m: u32,
    n: u32,
    k: u32,
    unused: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(WORKGROUP, WORKGROUP_Y)
fn naive_matmul(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let width = 4u * blocks(params.n);
    let at = place(group, groups, thread, width);
    if at.x < params.m && at.y < width {
        var sum = 0.0;
        if at.y < params.n {
            for (var i = 0u; i < params.k; i += 1u) {
                sum += a[at.x * 4u * blocks(params.k) + i] * b[i * width + at.y];
            }
        }
        c[at.x * width + at.y] = sum;
    }
}
