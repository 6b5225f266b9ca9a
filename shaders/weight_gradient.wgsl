// weight_gradient: dW = X'*dY and db = sum of the rows of dY; stored, or applied at once to W and b by the optimizer
// X [rows, inputs], dY [rows, outputs], result: dW [inputs, outputs] followed by db [outputs]; f32, rows of vec4s
// X is a matrix of activations, or (samples_order) rows of the data set in the order's sequence, as they are stored. It is
// read as if followed by a column of ones, so that db is row `inputs` of the product.
// Work is laid out by the matmul body: a workgroup owns a tile of dW and iterates over the batch.
// Outside the matrices loads give 0 and stores are skipped; the padding of dW is written as 0.
//#include blocks
//#include record
//#include features
//#include samples
//#include matmul_body
//#include member
struct Params {
    inputs: u32,
    outputs: u32,
    offset: u32,      // of dW, or W, in `result`, in vec4s
    samples: u32,     // rows of the data set, if X is read from it
    state: u32,       // distance from a parameter to its optimizer state, in vec4s
    region: u32,      // distance from the first to the second number of state
    weight_rate: f32, // factor of the learning rate
    bias_rate: f32,
    bias_decay: f32,  // factor of the weight decay
    unused0: u32,
    unused1: u32,
    unused2: u32,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(RESULT) var<storage, read_write> result: array<vec4<f32>>;
//#include parameter

const TRANSPOSE_A = true;
const TRANSPOSE_B = false;

fn a_place(row: u32) -> u32 {
    let live = row < record.rows;
    return select(NOWHERE, samples_start() + sample(select(0u, row, live)) * blocks(params.inputs), live);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let there = place != NOWHERE;
    let live = there & (block < blocks(params.inputs));
    let values = select(vec4<f32>(), feature(select(0u, place + block, live)), live);
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(values, vec4<f32>(1.0), (column == vec4<u32>(params.inputs)) & vec4<bool>(there));
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    let live = (row < record.rows) & (block < blocks(params.outputs));
    return select(vec4<f32>(), dy[select(0u, member_start(2u) + row * blocks(params.outputs) + block, live)], live);
}

fn c_has(row: u32, block: u32) -> bool {
    return row <= params.inputs && block < blocks(params.outputs);
}

// The parameters and their optimizer state.
alias Before = Parameter;

fn before(row: u32, block: u32) -> Before {
    return load_parameter(member_start(u32(RESULT)) + params.offset + min(row, params.inputs) * blocks(params.outputs) + block);
}

fn store_row(row: u32, block: u32, values: vec4<f32>, old: Before) {
    let is_bias = row == params.inputs;
    let rate = record.rate * select(params.weight_rate, params.bias_rate, is_bias);
    let decay = record.decay * select(1.0, params.bias_decay, is_bias);
    let index = member_start(u32(RESULT)) + params.offset + row * blocks(params.outputs) + block;
    store_parameter(index, updated(old, inside(values, block, params.outputs), rate, decay));
}

@compute @workgroup_size(THREADS_X, THREADS_Y, SPLIT)
fn weight_gradient(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    begin_member(group);
    multiply(group, thread, blocks(batch_rows(group.z)));
}
