// scan_add: Y[i] = Y[i] + offsets[i / block]: turns the scans of blocks into the scan of the whole
// offsets [blocks], Y [length], f32 or u32; a block is a multiple of four elements
// A thread owns one vec4, which is in one block; vec4s of the first block, whose offset is 0, have no thread.
// The padding of Y is written as 0; threads beyond Y do nothing.
//#include item
//#include blocks
//#include elementwise
struct Params {
    length: u32,
    block: u32,
    unused0: u32,
    unused1: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<Item>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<Item>>;

@compute @workgroup_size(WORKGROUP)
fn scan_add(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread) + params.block / 4u;
    if i < blocks(params.length) {
        let sum = y[i] + offsets[4u * i / params.block];
        let position = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u);
        y[i] = select(vec4<Item>(), sum, position < vec4<u32>(params.length));
    }
}
