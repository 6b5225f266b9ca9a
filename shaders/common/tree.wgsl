// The workgroup reduction body: a tree of fixed shape, so that results are reproducible; of any width. Needs Item and
// merge(operation, a, b), as defined by item_f32 and item_u32. A workgroup is LANES x ROWS threads.
override LANES: u32 = 32u;
override ROWS: u32 = 4u;

var<workgroup> scratch: array<Item, LANES * ROWS>;

// Reduces the values of `width` adjacent threads: this one is number `index` from thread `base` on. All threads of the
// workgroup call it together, and all get their result.
fn tree(operation: u32, base: u32, index: u32, width: u32, value: Item) -> Item {
    workgroupBarrier(); // the previous result has been read by all
    scratch[base + index] = value;
    workgroupBarrier();
    for (var left = width; left > 1u; left = (left + 1u) / 2u) {
        let half = (left + 1u) / 2u;
        if index + half < left {
            scratch[base + index] = merge(operation, scratch[base + index], scratch[base + index + half]);
        }
        workgroupBarrier();
    }
    return scratch[base];
}
