// sum_squares: squares[g] = sum of the squares of the elements of G that workgroup g owns: every groups-th run of them
// G [length] vec4s, squares [groups]; f32
// Workgroups of LANES x ROWS threads stride over G; a tree combines their sums.
//#include rows
//#include member
struct Params {
    length: u32, // in vec4s
    unused0: u32,
    unused1: u32,
    unused2: u32,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> squares: array<f32>;

@compute @workgroup_size(LANES, ROWS)
fn sum_squares(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    begin_member(group);
    let threads = LANES * ROWS;
    var sum = 0.0;
    for (var i = group.x * threads + thread.y * LANES + thread.x; i < params.length; i += groups.x * threads) {
        let gradient = gradients[member_start(1u) + i];
        sum += dot(gradient, gradient);
    }
    let total = reduce_all(SUM, thread, sum);
    if thread.x == 0u && thread.y == 0u {
        squares[4u * member_start(2u) + group.x] = total;
    }
}
