// order_keys: keys[i] = random word of row first + i in an epoch's order, rows[i] = first + i
// keys, rows [length] u32; the word is the first of Philox4x32-10 at counter (row, epoch, 0, purpose), key seed
// A thread owns one row; threads beyond the length do nothing.
//#include elementwise
//#include philox
struct Params {
    length: u32,
    first: u32,
    epoch: u32,
    purpose: u32,
    seed: vec2<u32>, // low word, high word
    unused: vec2<u32>,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn order_keys(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    if i < params.length {
        let row = params.first + i;
        keys[i] = philox(vec4<u32>(row, params.epoch, 0u, params.purpose), params.seed).x;
        rows[i] = row;
    }
}
