// column: the optimizer applied to W with H'*D and to b with the sum of the rows of D, for every layer; then
//   partials = X(next batch)*W1. A batch of no rows changes no parameter and no state.
// features [samples, inputs] bytes or f32 in rows of four, order [samples] u32, parameters, activations as in `network`.
// A workgroup of the first layer owns a tile of units and one part of the inputs: it updates its weights and immediately
// computes its part of the next batch's sums with them. Each other workgroup updates one tile of a layer above.
// Inputs are read as if followed by a column of ones, so that the bias is one more row of the weights.
// Products are laid out by the matmul body: outside the matrices loads give 0 and stores are skipped; padding stays 0.
//#include blocks
//#include record
//#include network
//#include team
//#include features
//#include matmul_body
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> activations: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> result: array<vec4<f32>>;
//#include network_parameter

const TRANSPOSE_B = false;

// Selects the product: the gradient of a layer, or the next batch's sums.
var<private> TRANSPOSE_A: bool;
var<private> FIRST: bool;       // the layer is the first: its inputs are rows of the data set
var<private> layer: Layer;
var<private> below_place: u32;  // of the outputs of the layer below
var<private> part: u32;
var<private> start: u32; // blocks of inputs of the product; for the next batch's sums, of the part
var<private> end: u32;

fn a_place(row: u32) -> u32 {
    let live = row < select(record.next_rows, record.rows, TRANSPOSE_A);
    let width = blocks(layer.inputs);
    if FIRST {
        // The next batch follows this one.
        let position = record.first + row + select(record.rows, 0u, TRANSPOSE_A);
        return select(NOWHERE, min(order[select(0u, position, live)], params.samples - 1u) * width, live);
    }
    return select(NOWHERE, below_place + row * width, live);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let input = start + block;
    let there = place != NOWHERE;
    let live = there & (input < end);
    let index = select(0u, place + input, live);
    var values = vec4<f32>();
    if FIRST {
        values = feature(index);
    } else {
        values = activations[index];
    }
    values = select(vec4<f32>(), values, live);
    let column = vec4<u32>(4u * input) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(values, vec4<f32>(1.0), (column == vec4<u32>(layer.inputs)) & vec4<bool>(there & TRANSPOSE_A));
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    let width = blocks(layer.outputs);
    if TRANSPOSE_A {
        let live = (row < record.rows) & (block < width);
        let index = layer.place + params.deltas + row * width + block;
        return select(vec4<f32>(), activations[select(0u, index, live)], live);
    }
    // Out-of-range reads use weights of this workgroup, which no other thread writes at this time.
    let input = 4u * start + row;
    let last = min(4u * end, layer.inputs) - 1u;
    let values = result[layer.offset + min(input, last) * width + min(block, width - 1u)];
    return select(vec4<f32>(), values, (input <= last) & (block < width));
}

fn c_has(row: u32, block: u32) -> bool {
    return row < select(record.next_rows, layer.inputs + 1u, TRANSPOSE_A) && block < blocks(layer.outputs);
}

// The parameters and their optimizer state.
alias Before = Parameter;

fn before(row: u32, block: u32) -> Before {
    if TRANSPOSE_A {
        return load_parameter(layer.offset + min(row, layer.inputs) * blocks(layer.outputs) + block);
    }
    return Parameter();
}

fn store_row(row: u32, block: u32, values: vec4<f32>, old: Before) {
    let product = inside(values, block, layer.outputs);
    if TRANSPOSE_A {
        let index = layer.offset + row * blocks(layer.outputs) + block;
        store_parameter(index, changed_parameter(layer, row, old, product));
    } else {
        result[partial_row(part, row) + block] = product;
    }
}

@compute @workgroup_size(THREADS_X, THREADS_Y, SPLIT)
fn column(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let first_layer = pieces(blocks(params.network[0].outputs), params.across);
    let owners = first_layer * params.parts;
    var rest = team(group, groups);
    var n = rest % first_layer;
    var m = 0u;
    var index = 0u;  // of the layer
    var tiles = 0u;  // of the first layer
    var others = 0u; // of another
    var next = 0u;   // of rows of the next batch
    var inner = 0u;
    // Uniform in the workgroup, also for browsers: they treat values of private variables as different between threads.
    var own_part = 0u;
    if rest < owners {
        own_part = rest / first_layer;
        m = own_part * params.part / params.down;
        let inputs = blocks(params.network[0].inputs);
        let last = min((own_part + 1u) * params.part, blocks(params.network[0].inputs + 1u));
        tiles = pieces(last, params.down) - m;
        next = pieces(record.next_rows, 4u * params.down);
        inner = min(last, inputs) - own_part * params.part;
    } else {
        rest -= owners;
        for (var l = 1u; l < params.layers && others == 0u; l += 1u) {
            let across = pieces(blocks(params.network[l].outputs), params.across);
            let count = across * pieces(blocks(params.network[l].inputs + 1u), params.down);
            if rest < count {
                index = l;
                n = rest % across;
                m = rest / across;
                others = 1u;
            }
            rest -= count;
        }
    }
    if record.rows == 0u {
        // A batch of no rows changes nothing.
        tiles = 0u;
        others = 0u;
    }
    layer = params.network[index];
    below_place = params.network[max(index, 1u) - 1u].place;
    TRANSPOSE_A = true;
    start = 0u;
    end = blocks(layer.inputs);
    FIRST = false;
    for (var tile = m; tile < m + others; tile += 1u) {
        multiply(vec3<u32>(n, tile, 0u), thread, blocks(record.rows));
    }
    FIRST = true;
    for (var tile = m; tile < m + tiles; tile += 1u) {
        multiply(vec3<u32>(n, tile, 0u), thread, blocks(record.rows));
    }
    // The products below read weights that other threads of this workgroup have updated.
    storageBarrier();
    TRANSPOSE_A = false;
    part = own_part;
    start = part * params.part;
    end = start + inner;
    for (var tile = 0u; tile < next; tile += 1u) {
        multiply(vec3<u32>(n, tile, 0u), thread, inner);
    }
}
