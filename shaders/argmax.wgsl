// argmax: position of the first maximum of a part of a line, and the maximum; NaN counts as the largest
// X [lines, length] (DOWN: [length, lines]), maxima and positions the same with `outputs` for `length`; f32 and u32
// Work is laid out by the reduction body. A first dispatch has no positions yet (FIRST); later ones reduce pairs.
// Threads without an element only keep the barriers; what lies outside the outputs is left as it is.
//#include nan
//#include segments
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> x_positions: array<u32>;
@group(0) @binding(3) var<storage, read_write> maxima: array<f32>;
@group(0) @binding(4) var<storage, read_write> positions: array<u32>;

override FIRST: bool = true; // positions are those in the line

struct Item {
    value: f32,
    position: u32,
}

fn nothing(operation: u32) -> Item {
    return Item(lowest(), 0xffffffffu);
}

// The larger, NaN before all; of equals the first.
fn merge(operation: u32, a: Item, b: Item) -> Item {
    let equal = same(a.value, b.value);
    let first = is_nan(a.value) || (a.value > b.value && !is_nan(b.value));
    if select(first, a.position < b.position, equal) {
        return a;
    }
    return b;
}

fn load(line: u32, position: u32) -> Item {
    let i = place_of(line, position, params.pitch_in);
    if FIRST {
        return Item(x[i], position);
    }
    return Item(x[i], x_positions[i]);
}

fn store(line: u32, output: u32, item: Item) {
    let i = place_of(line, output, params.pitch_out);
    maxima[i] = item.value;
    positions[i] = item.position;
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn argmax(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    reduce_segment(group, groups, thread);
}
