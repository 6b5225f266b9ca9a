// weight_gradient: dW = X'*dY and db = sum of the rows of dY; with UPDATE, W -= rate*dW and b -= rate*db in place
// X [rows, inputs], dY [rows, outputs], result: dW [inputs, outputs] and below it db [outputs]; f32, rows of vec4s
// X is a matrix of activations, or (samples_order) the rows of the data set that the order names, as they are stored. It
// is read as if it had a column of ones behind its inputs, so that db is row `inputs` of the product.
// Work is laid out by the matmul body: a workgroup owns a tile of dW and walks the batch.
// Outside the matrices loads give 0 and stores are skipped; the padding of dW is written as 0.
//#include blocks
//#include record
//#include features
//#include samples
//#include matmul_body
struct Params {
    inputs: u32,
    outputs: u32,
    offset: u32, // of dW (with UPDATE: of W) in `result`, in vec4s
    rate: f32,   // learning rate
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(RESULT) var<storage, read_write> result: array<vec4<f32>>;

override UPDATE: bool = false;
const TRANSPOSE_A = true;
const TRANSPOSE_B = false;

fn a_place(row: u32) -> u32 {
    if row < record.rows {
        return sample(row) * blocks(params.inputs);
    }
    return NOWHERE;
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    var values = vec4<f32>();
    if place != NOWHERE {
        if block < blocks(params.inputs) {
            values = feature(place + block);
        }
        let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
        values = select(values, vec4<f32>(1.0), column == vec4<u32>(params.inputs));
    }
    return values;
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    if row < record.rows && block < blocks(params.outputs) {
        return dy[row * blocks(params.outputs) + block];
    }
    return vec4<f32>();
}

fn store_row(row: u32, block: u32, values: vec4<f32>) {
    if row <= params.inputs && block < blocks(params.outputs) {
        let index = params.offset + row * blocks(params.outputs) + block;
        let gradient = inside(values, block, params.outputs);
        if UPDATE {
            result[index] -= params.rate * gradient;
        } else {
            result[index] = gradient;
        }
    }
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn weight_gradient(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    multiply(group, thread, blocks(record.rows));
}
