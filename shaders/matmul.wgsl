// matmul: C = A*B, or with transposed operands A'*B, A*B', A'*B'; with BIAS, + b on every row; with RELU, max(0, .)
// A [matrices, m, k] (TRANSPOSE_A: [m, k] stored as [k, m]), B [matrices, k, n] (TRANSPOSE_B: stored as [n, k]), b [n],
// C [matrices, m, n]; f32, rows of vec4s
// Work is laid out by the matmul body: a workgroup owns a tile of one C and iterates over k.
// Outside the matrices loads give 0 and stores are skipped; the padding of C is written as 0.
//#include blocks
//#include matmul_body
//#include relu
struct Params {
    m: u32,
    n: u32,
    k: u32,
    unused: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> c: array<vec4<f32>>;

override TRANSPOSE_A: bool = false; // A is stored [k, m]
override TRANSPOSE_B: bool = false; // B is stored [n, k]
override BIAS: bool = false;
override RELU: bool = false;

var<private> matrix: u32; // index of this workgroup's product

fn a_width() -> u32 {
    return blocks(select(params.k, params.m, TRANSPOSE_A));
}

fn a_place(row: u32) -> u32 {
    let rows = select(params.m, params.k, TRANSPOSE_A);
    return select(NOWHERE, (matrix * rows + row) * a_width(), row < rows);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let live = (place != NOWHERE) & (block < a_width());
    return select(vec4<f32>(), a[select(0u, place + block, live)], live);
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    let rows = select(params.k, params.n, TRANSPOSE_B);
    let width = blocks(select(params.n, params.k, TRANSPOSE_B));
    let live = (row < rows) & (block < width);
    return select(vec4<f32>(), b[select(0u, (matrix * rows + row) * width + block, live)], live);
}

fn c_has(row: u32, block: u32) -> bool {
    return row < params.m && block < blocks(params.n);
}

// The bias.
alias Before = vec4<f32>;

fn before(row: u32, block: u32) -> Before {
    if BIAS {
        return bias[block];
    }
    return vec4<f32>();
}

fn store_row(row: u32, block: u32, values: vec4<f32>, bias_block: Before) {
    var result = values;
    if BIAS {
        result += bias_block;
    }
    if RELU {
        result = relu_value(result);
    }
    c[(matrix * params.m + row) * blocks(params.n) + block] = inside(result, block, params.n);
}

@compute @workgroup_size(THREADS_X, THREADS_Y, SPLIT)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    matrix = group.z;
    multiply(group, thread, blocks(params.k));
}
