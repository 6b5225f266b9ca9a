// The reduction body. Every line of `length` elements is cut into blocks of `block`, and a block into `parts` parts of `part`
// elements (the last of each may be shorter): one output per part. LANES threads share a part: each takes every LANESth element
// of it, and a tree combines them; ROWS parts per workgroup. A kernel defines Item and merge (see tree), nothing(operation),
// and
//   load(line, position) -> Item        that element
//   store(line, output, item)           the result
//#include tree
//#include team
struct Params {
    lines: u32,
    length: u32,    // elements of a line
    block: u32,
    part: u32,
    parts: u32,     // of a block
    outputs: u32,   // of a line
    pitch_in: u32,  // distance between rows of the input, in elements
    pitch_out: u32, // the same for the output
    count: u32,     // divisor of results for a mean; else 0
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;

override OPERATION: u32 = 0u;
override DOWN: bool = false; // lines are the columns of a matrix: adjacent threads take adjacent lines
override THREADS_X: u32 = 32u; // LANES, or ROWS if lines are columns
override THREADS_Y: u32 = 4u;  // the other

fn reduce_segment(group: vec3<u32>, groups: vec3<u32>, thread: vec3<u32>) {
    let lane = select(thread.x, thread.y, DOWN);
    let abreast = select(thread.y, thread.x, DOWN);
    let segment = team(group, groups) * ROWS + abreast;
    let line = select(segment / params.outputs, segment % params.lines, DOWN);
    let output = select(segment % params.outputs, segment / params.lines, DOWN);
    let live = line < params.lines && output < params.outputs;
    let block_start = (output / params.parts) * params.block;
    let start = block_start + (output % params.parts) * params.part;
    let end = min(start + params.part, min(block_start + params.block, params.length));
    var item = nothing(OPERATION);
    if live {
        for (var i = start + lane; i < end; i += LANES) {
            item = merge(OPERATION, item, load(line, i));
        }
    }
    let result = tree(OPERATION, abreast * LANES, lane, LANES, item);
    if live && lane == 0u {
        store(line, output, result);
    }
}

// Index of element `position` of a line.
fn place_of(line: u32, position: u32, pitch: u32) -> u32 {
    return select(line * pitch + position, position * pitch + line, DOWN);
}
