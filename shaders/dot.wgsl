// dot: Y[output] = sum of A*B over a part of the vectors; reduce combines the parts
// A, B [length], Y [outputs]; f32
// Work is laid out by the reduction body: some threads share an output.
// Threads without an element only take part in barriers; memory outside Y is unchanged.
//#include item_f32
//#include segments
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

fn load(line: u32, position: u32) -> f32 {
    return a[position] * b[position];
}

fn store(line: u32, output: u32, item: f32) {
    y[output] = item;
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn dot(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    reduce_segment(group, groups, thread);
}
