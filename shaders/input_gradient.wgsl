// input_gradient: dX = dY*W'; with ACTIVATION, dX = dY*W' f'(Z) with X = f(Z), with DROPOUT if X was kept; f' is computed
//   from X, or with KEEP_Z from Z, which follows X
// dY [rows, outputs], W [inputs, outputs] in `parameters`, X and dX [rows, inputs]; f32, rows of vec4s
// Work is laid out by the matmul body: a workgroup owns a tile of dX and iterates over the outputs.
// Outside the matrices loads give 0 and stores are skipped; the padding of dX is written as 0.
//#include blocks
//#include record
//#include layer
//#include matmul_body
//#include activation
//#include dropout
@group(0) @binding(1) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4<f32>>;

override ACTIVATION: bool = false;
override KEEP_Z: bool = false;
override DROPOUT: bool = false;
const TRANSPOSE_A = false;
const TRANSPOSE_B = true;

fn a_place(row: u32) -> u32 {
    return select(NOWHERE, member_start(1u) + row * blocks(params.outputs), row < record.rows);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let live = (place != NOWHERE) & (block < blocks(params.outputs));
    return select(vec4<f32>(), dy[select(0u, place + block, live)], live);
}

fn c_has(row: u32, block: u32) -> bool {
    return row < record.rows && block < blocks(params.inputs);
}

// Value kept by the layer below.
alias Before = vec4<f32>;

fn before(row: u32, block: u32) -> Before {
    if ACTIVATION {
        let live_row = min(row, record.rows - 1u);
        return x[member_start(3u) + select(0u, params.kept, KEEP_Z) + live_row * blocks(params.inputs) + block];
    }
    return vec4<f32>();
}

fn store_row(row: u32, block: u32, values: vec4<f32>, kept: Before) {
    var result = values;
    if ACTIVATION {
        var kept_value = kept;
        if DROPOUT {
            let numbers = dropout_numbers();
            result = dropped(result, params.layer, row, block, numbers.x, bitcast<f32>(numbers.y));
            if !KEEP_Z {
                kept_value /= bitcast<f32>(numbers.y);
            }
        }
        result = activation_gradient(0u, result, kept_value);
    }
    dx[member_start(4u) + row * blocks(params.inputs) + block] = inside(result, block, params.inputs);
}

@compute @workgroup_size(THREADS_X, THREADS_Y, SPLIT)
fn input_gradient(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    begin_member(group);
    multiply(group, thread, blocks(params.outputs));
}
