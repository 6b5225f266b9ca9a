// scan: Y[i] = sum of X[j] over the j < i of the same block (INCLUSIVE: j <= i); sums[block] = sum of the block
// X, Y [length], sums [blocks]; f32 or u32; a block is 2 TEAM elements; with FLAGS nonzero elements count as 1
// A team owns a block and a thread two elements of it, TEAM apart so that loads coalesce (see scan_team).
// Elements beyond the length count as 0; memory outside Y and sums is unchanged.
//#include item
//#include team
//#include scan_team
struct Params {
    length: u32,
    blocks: u32,
    unused0: u32,
    unused1: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<Item>;
@group(0) @binding(2) var<storage, read_write> y: array<Item>;
@group(0) @binding(3) var<storage, read_write> sums: array<Item>;

override INCLUSIVE: bool = false;
override FLAGS: bool = false;

fn load(i: u32) -> Item {
    if i >= params.length {
        return Item();
    }
    let value = x[i];
    return select(value, Item(value != Item()), FLAGS);
}

fn store(i: u32, before: Item, own: Item) {
    if i < params.length {
        y[i] = select(before, before + own, INCLUSIVE);
    }
}

@compute @workgroup_size(TEAM)
fn scan(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let block = team(group, groups);
    let i = block * 2u * TEAM + thread;
    let first = load(i);
    let second = load(i + TEAM);
    let scanned = scan_team(thread, first, second);
    store(i, scanned.first, first);
    store(i + TEAM, scanned.second, second);
    if thread == 0u && block < params.blocks {
        sums[block] = scanned.total;
    }
}
