// column: the optimizer applied to W with H'*D and to b with the sum of the rows of D, for every layer; then
//   partials = X(next batch)*W1. A batch of no rows changes no parameter and no state.
// features [samples, inputs] bytes or f32 in rows of four, order [samples] u32, parameters, activations as `network`
// has them. A workgroup of the first layer owns a tile of units and one part of the inputs: it updates its weights and
// at once makes its part of the next batch's sums with them. The others update one tile of a layer above each.
// Inputs are read as if they had a column of ones behind them, so that the bias is one more row of the weights.
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
//#include optimizer

const TRANSPOSE_B = false;

fn state_place(index: u32, number: u32) -> u32 {
    return index + params.state + number * params.region;
}

// Which product is made: the gradient of a layer, or the next batch's sums.
var<private> TRANSPOSE_A: bool;
var<private> index: u32; // of the layer
var<private> layer: Layer;
var<private> part: u32;
var<private> start: u32; // blocks of inputs that belong to the product, of the next batch's sums those of the part
var<private> end: u32;

fn a_place(row: u32) -> u32 {
    if row < select(record.next_rows, record.rows, TRANSPOSE_A) {
        let width = blocks(layer.inputs);
        if index == 0u {
            // The next batch stands behind this one.
            let position = record.first + row + select(record.rows, 0u, TRANSPOSE_A);
            return min(order[position], params.samples - 1u) * width;
        }
        return params.network[index - 1u].place + row * width;
    }
    return NOWHERE;
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    let input = start + block;
    var values = vec4<f32>();
    if place != NOWHERE {
        if input < end {
            if index == 0u {
                values = feature(place + input);
            } else {
                values = activations[place + input];
            }
        }
        if TRANSPOSE_A {
            let column = vec4<u32>(4u * input) + vec4<u32>(0u, 1u, 2u, 3u);
            values = select(values, vec4<f32>(1.0), column == vec4<u32>(layer.inputs));
        }
    }
    return values;
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    let width = blocks(layer.outputs);
    if block < width {
        if TRANSPOSE_A {
            if row < record.rows {
                return activations[layer.place + params.deltas + row * width + block];
            }
        } else {
            let input = 4u * start + row;
            if input < min(4u * end, layer.inputs) {
                return result[layer.offset + input * width + block];
            }
        }
    }
    return vec4<f32>();
}

fn store_row(row: u32, block: u32, values: vec4<f32>) {
    let width = blocks(layer.outputs);
    if block < width {
        let product = inside(values, block, layer.outputs);
        if TRANSPOSE_A {
            if row <= layer.inputs {
                let is_bias = row == layer.inputs;
                let rate = record.rate * select(layer.weight_rate, layer.bias_rate, is_bias);
                let decay = record.decay * select(1.0, params.bias_decay, is_bias);
                apply(layer.offset + row * width + block, product, rate, decay);
            }
        } else if row < record.next_rows {
            result[partial_row(part, row) + block] = product;
        }
    }
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
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
    var tiles = 0u;
    var next = 0u; // tiles of rows of the next batch
    var inner = 0u;
    if rest < owners {
        part = rest / first_layer;
        m = part * params.part / params.down;
        let inputs = blocks(params.network[0].inputs);
        let last = min((part + 1u) * params.part, blocks(params.network[0].inputs + 1u));
        tiles = pieces(last, params.down) - m;
        next = pieces(record.next_rows, 4u * params.down);
        inner = min(last, inputs) - part * params.part;
    } else {
        rest -= owners;
        for (var l = 1u; l < params.layers && tiles == 0u; l += 1u) {
            let across = pieces(blocks(params.network[l].outputs), params.across);
            let count = across * pieces(blocks(params.network[l].inputs + 1u), params.down);
            if rest < count {
                index = l;
                n = rest % across;
                m = rest / across;
                tiles = 1u;
            }
            rest -= count;
        }
    }
    layer = params.network[index];
    TRANSPOSE_A = true;
    start = 0u;
    end = blocks(layer.inputs);
    // A batch of no rows changes nothing.
    let updated = select(0u, tiles, record.rows > 0u);
    for (var tile = m; tile < m + updated; tile += 1u) {
        multiply(vec3<u32>(n, tile, 0u), thread, blocks(record.rows));
    }
    // The products below read weights that other threads of this workgroup have updated.
    storageBarrier();
    TRANSPOSE_A = false;
    start = part * params.part;
    end = start + inner;
    for (var tile = 0u; tile < next; tile += 1u) {
        multiply(vec3<u32>(n, tile, 0u), thread, inner);
    }
}
