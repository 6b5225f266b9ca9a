// reduce: Y[line, output] = sum, maximum or mean of a part of the line: a block of it, or a part of a block
// X [lines, length] (DOWN: [length, lines]), Y the same with `outputs` for `length`; f32 or u32, rows of any pitch
// Work is laid out by the reduction body: some threads share an output; several dispatches reduce many outputs to one.
// Threads without an element only take part in barriers; memory outside Y is unchanged.
//#include item
//#include segments
@group(0) @binding(1) var<storage, read> x: array<Item>;
@group(0) @binding(2) var<storage, read_write> y: array<Item>;

fn load(line: u32, position: u32) -> Item {
    return x[place_of(line, position, params.pitch_in)];
}

fn store(line: u32, output: u32, item: Item) {
    var result = item;
    if params.count > 0u {
        result = item / Item(params.count);
    }
    y[place_of(line, output, params.pitch_out)] = result;
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    reduce_segment(group, groups, thread);
}
