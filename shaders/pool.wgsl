// pool: Y[row, i] = sum, mean or maximum of X[row, i - width + 1 ..= i], restricted to the row
// X, Y [rows, columns]; f32, rows of vec4s; a vector is one row
// A team owns TEAM adjacent positions of a row, a thread one of them. The elements of the team and the TEAM before them are
// in workgroup memory; windows of 1, 2, 4, ... elements end at each of them, and the bits of the width select the windows
// that are combined. Windows wider than TEAM are processed in chunks of TEAM, from the newest to the oldest.
// Only elements in a window of the team are read; the padding of Y is written as 0.
//#include blocks
//#include item_f32
//#include team
struct Params {
    rows: u32,
    columns: u32,
    width: u32,
    unused: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

override OPERATION: u32 = 0u;
override MEAN: bool = false; // divide the sum by the number of elements
override TEAM: u32 = 256u;

// Two halves of 2 * TEAM: every step reads the half that the previous step wrote, so one barrier per step is enough.
var<workgroup> spans: array<f32, 4u * TEAM>;

// Returns element `position` of a row, if it is in a window of the team.
fn load(row: u32, position: i32, oldest: i32) -> f32 {
    if row < params.rows && position >= oldest && position < i32(params.columns) {
        return x[row * 4u * blocks(params.columns) + u32(position)];
    }
    return nothing(OPERATION);
}

// Combines windows of `span` elements to windows of twice the size.
fn widen(read: u32, write: u32, slot: u32, span: u32) {
    spans[write + slot] = merge(OPERATION, spans[read + slot], spans[read + slot - span]);
}

@compute @workgroup_size(TEAM)
fn pool(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let pitch = 4u * blocks(params.columns);
    let teams = (pitch + TEAM - 1u) / TEAM;
    let row = team(group, groups) / teams;
    let start = (team(group, groups) % teams) * TEAM;
    let oldest = max(i32(start) - i32(params.width) + 1, 0);
    var position = i32(start + thread.x);
    var newer = load(row, position, oldest);
    var result = nothing(OPERATION);
    var half = 0u;
    for (var done = 0u; done < params.width; done += TEAM) {
        let width = min(TEAM, params.width - done);
        position -= i32(TEAM);
        let older = load(row, position, oldest);
        half = 2u * TEAM - half;
        spans[half + TEAM + thread.x] = newer;
        if thread.x + width > TEAM {
            spans[half + thread.x] = older;
        }
        newer = older;
        workgroupBarrier();
        var chunk = nothing(OPERATION);
        var end = TEAM + thread.x; // the newest remaining element
        var span = 1u;
        for (; 2u * span <= width; span *= 2u) {
            if (width & span) != 0u {
                chunk = merge(OPERATION, chunk, spans[half + end]);
                end -= span;
            }
            let write = 2u * TEAM - half;
            widen(half, write, TEAM + thread.x, span);
            if thread.x + width >= TEAM + 2u * span {
                widen(half, write, thread.x, span);
            }
            half = write;
            workgroupBarrier();
        }
        result = merge(OPERATION, result, merge(OPERATION, chunk, spans[half + end]));
    }
    let i = start + thread.x;
    if row < params.rows && i < pitch {
        if MEAN {
            result /= f32(min(i + 1u, params.width));
        }
        y[row * pitch + i] = select(0.0, result, i < params.columns);
    }
}
