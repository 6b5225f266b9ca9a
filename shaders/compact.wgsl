// compact: Y[offsets[i]] = X[i] where keep[i] is not 0 (POSITIONS: i itself)
// X, keep, offsets [length], Y [kept], u32; offsets are the exclusive scan of the flags, so Y keeps the order
// A thread owns one element; threads beyond the length, and those whose element is dropped, do nothing. So do those whose
// offset lies beyond Y, which none does that scan made from the same flags.
//#include elementwise
struct Params {
    length: u32,
    kept: u32, // room in Y
    unused0: u32,
    unused1: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> keep: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<u32>;

override POSITIONS: bool = false;

@compute @workgroup_size(WORKGROUP)
fn compact(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    if i < params.length {
        if keep[i] != 0u {
            var value = i;
            if !POSITIONS {
                value = x[i];
            }
            let to = offsets[i];
            if to < params.kept {
                y[to] = value;
            }
        }
    }
}
