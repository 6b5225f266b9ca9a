// convolve: C[line, i] = sum over j of A[line, i + j - origin]*B[j], over the elements of the line
// A [lines, inputs], C [lines, outputs] (DOWN: the lines are columns: [inputs, lines], [outputs, lines]), B [taps]
// f32, rows of vec4s; a vector is one row
// A team owns TEAM adjacent positions of ABREAST adjacent lines. B and the elements that the team needs are in workgroup
// memory, each loaded once, with lines interleaved, so that loads of columns coalesce.
// Only elements that outputs of the team need are read; the padding of C is written as 0.
//#include team
struct Params {
    lines: u32,
    lines_stored: u32,   // with the padding of C, if lines are columns
    inputs: u32,
    outputs: u32,
    outputs_stored: u32, // with the padding of C, if lines are rows
    taps: u32,
    origin: u32,
    pitch_in: u32,       // distance between rows of A, in elements
    pitch_out: u32,      // the same for C
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

override DOWN: bool = false;
override TEAM: u32 = 256u;
override ABREAST: u32 = 1u;
override TAPS: u32 = 16u; // at least the number of taps

var<workgroup> taps: array<f32, TAPS>;
var<workgroup> tile: array<f32, (TEAM + TAPS) * ABREAST>;

fn place_of(line: u32, position: u32, pitch: u32) -> u32 {
    return select(line * pitch + position, position * pitch + line, DOWN);
}

@compute @workgroup_size(TEAM)
fn convolve(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let teams = (params.outputs_stored + TEAM - 1u) / TEAM;
    let first_line = (team(group, groups) / teams) * ABREAST;
    let start = (team(group, groups) % teams) * TEAM;
    let end = min(start + TEAM, params.outputs);
    for (var j = thread.x; j < params.taps; j += TEAM) {
        taps[j] = b[j];
    }
    let needed = select(0u, end - start + params.taps - 1u, start < end);
    for (var e = thread.x; e < needed * ABREAST; e += TEAM) {
        let line = first_line + e % ABREAST;
        let position = start + e / ABREAST - params.origin; // before the line it wraps around to beyond its end
        if line < params.lines && position < params.inputs {
            tile[e] = a[place_of(line, position, params.pitch_in)];
        }
    }
    workgroupBarrier();
    for (var e = thread.x; e < TEAM * ABREAST; e += TEAM) {
        let line = first_line + e % ABREAST;
        let i = start + e / ABREAST;
        if line < params.lines_stored && i < params.outputs_stored {
            var sum = 0.0;
            if line < params.lines && i < params.outputs {
                let first = select(0u, params.origin - i, i < params.origin);
                let last = min(params.taps, params.inputs + params.origin - i);
                for (var j = first; j < last; j += 1u) {
                    sum += tile[e + j * ABREAST] * taps[j];
                }
            }
            c[place_of(line, i, params.pitch_out)] = sum;
        }
    }
}
