// The workgroup reduction body: sums and maxima by a tree of fixed shape, so that results repeat bit for bit.
// A workgroup is ROWS x LANES threads; both are powers of two.
override LANES: u32 = 32u;
override ROWS: u32 = 4u;

const SUM = 0u;
const MAXIMUM = 1u;

var<workgroup> scratch: array<f32, LANES * ROWS>;

fn combine(operation: u32, a: f32, b: f32) -> f32 {
    if operation == SUM {
        return a + b;
    }
    return max(a, b);
}

// Reduces the values of `width` neighbouring threads (a power of two): this one is number `index` of those that
// begin at thread `base`. All threads of the workgroup call it together, and all get their result.
fn reduce(operation: u32, base: u32, index: u32, width: u32, value: f32) -> f32 {
    workgroupBarrier(); // the previous result has been read by all
    scratch[base + index] = value;
    workgroupBarrier();
    for (var half = width / 2u; half > 0u; half /= 2u) {
        if index < half {
            scratch[base + index] = combine(operation, scratch[base + index], scratch[base + index + half]);
        }
        workgroupBarrier();
    }
    return scratch[base];
}

// Over the LANES threads of one row.
fn reduce_row(operation: u32, thread: vec3<u32>, value: f32) -> f32 {
    return reduce(operation, thread.y * LANES, thread.x, LANES, value);
}

// Over the whole workgroup.
fn reduce_all(operation: u32, thread: vec3<u32>, value: f32) -> f32 {
    return reduce(operation, 0u, thread.y * LANES + thread.x, LANES * ROWS, value);
}
