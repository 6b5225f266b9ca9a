// The workgroup scan: prefix sums of 2 TEAM values, two per thread, by one sweep up a binary tree and one down (G. E. Blelloch,
// Prefix sums and their applications, 1990). TEAM is a power of two. Needs Item, as defined by item_f32 and item_u32. Nothing
// is subtracted, so NaN and infinity affect only sums that include them.
override TEAM: u32 = 256u;
override PADDED: bool = true; // leave a slot free after every 32: threads 2, 4, 8, ... apart share no bank

var<workgroup> partial: array<Item, 2u * TEAM + TEAM / 16u>;

// Position of element i in a workgroup array.
fn slot(i: u32) -> u32 {
    return i + select(0u, i / 32u, PADDED);
}

struct Scanned {
    first: Item,  // sum of all values before the first of this thread
    second: Item, // the same for the second
    total: Item,  // sum of all, valid only in thread 0
}

// Scans the values of the workgroup: number `thread` is the first of this thread, number `thread + TEAM` the second. All
// threads call it together, once: a second call would need a barrier before it.
fn scan_team(thread: u32, first: Item, second: Item) -> Scanned {
    partial[slot(thread)] = first;
    partial[slot(thread + TEAM)] = second;
    var stride = 1u;
    for (var pairs = TEAM; pairs > 0u; pairs /= 2u) {
        workgroupBarrier();
        if thread < pairs {
            let right = stride * (2u * thread + 2u) - 1u;
            partial[slot(right)] += partial[slot(right - stride)];
        }
        stride *= 2u;
    }
    var total = Item();
    if thread == 0u {
        // This thread computed the last sum itself.
        total = partial[slot(2u * TEAM - 1u)];
        partial[slot(2u * TEAM - 1u)] = Item();
    }
    for (var pairs = 1u; pairs <= TEAM; pairs *= 2u) {
        stride /= 2u;
        if thread < pairs {
            let right = stride * (2u * thread + 2u) - 1u;
            let before = partial[slot(right)];
            let left = partial[slot(right - stride)];
            partial[slot(right - stride)] = before;
            partial[slot(right)] = before + left;
        }
        workgroupBarrier();
    }
    return Scanned(partial[slot(thread)], partial[slot(thread + TEAM)], total);
}
