// forward: Y = f(X*W + b), with DROPOUT followed by dropout; with KEEP_Z, Y is followed by Z = X*W + b
// X [rows, inputs], W [inputs, outputs] followed by b [outputs] in `parameters`, Y [rows, outputs]; f32, rows of vec4s
// X is a matrix of activations, or (samples_order) rows of the data set in the order's sequence, as they are stored.
// Work is laid out by the matmul body: a workgroup owns a tile of Y and iterates over the inputs.
// Outside the matrices loads give 0 and stores are skipped; the padding of Y is written as 0.
//#include blocks
//#include record
//#include layer
//#include features
//#include samples
//#include matmul_body
//#include activation
//#include dropout
@group(0) @binding(RESULT) var<storage, read_write> y: array<vec4<f32>>;

override KEEP_Z: bool = false;
override DROPOUT: bool = false;
const TRANSPOSE_A = false;
const TRANSPOSE_B = false;

fn a_place(row: u32) -> u32 {
    let live = row < record.rows;
    return select(NOWHERE, samples_start() + sample(select(0u, row, live)) * blocks(params.inputs), live);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let live = (place != NOWHERE) & (block < blocks(params.inputs));
    return select(vec4<f32>(), feature(select(0u, place + block, live)), live);
}

fn c_has(row: u32, block: u32) -> bool {
    return row < record.rows && block < blocks(params.outputs);
}

// The bias.
alias Before = vec4<f32>;

fn before(row: u32, block: u32) -> Before {
    return parameters[member_start(2u) + params.offset + params.inputs * blocks(params.outputs) + block];
}

fn store_row(row: u32, block: u32, values: vec4<f32>, bias: Before) {
    var result = values + bias;
    let index = member_start(u32(RESULT)) + row * blocks(params.outputs) + block;
    if KEEP_Z {
        y[params.kept + index] = inside(result, block, params.outputs);
    }
    result = activation_value(0u, result);
    if DROPOUT {
        let numbers = dropout_numbers();
        result = dropped(result, params.layer, row, block, numbers.x, bitcast<f32>(numbers.y));
    }
    y[index] = inside(result, block, params.outputs);
}

@compute @workgroup_size(THREADS_X, THREADS_Y, SPLIT)
fn forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    begin_member(group);
    multiply(group, thread, blocks(params.inputs));
}
