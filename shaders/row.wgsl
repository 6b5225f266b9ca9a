// row: H1 = relu(sum of partials + b1), H2 = relu(H1*W2 + b2), ..., Z; Dn = (softmax(Z) - onehot(target)) / rows,
//   D(l-1) = Dl*Wl' where H(l-1) > 0, down to D1; and the loss: all of a step that goes along the rows of the batch
// parameters, activations as `network` has them, labels and order [samples] u32,
// metrics [slots, workgroups] of (scaled sum of loss, number correct) over the rows of that workgroup
// A workgroup owns 4*down rows and takes them through all layers; products are laid out by the matmul body.
// Dead rows are neither read nor written, they only keep the barriers; the padding of H and D is written as 0.
// The host proves order[..] < samples.
//#include blocks
//#include record
//#include network
//#include team
//#include matmul_body
//#include relu
//#include nan
//#include loss_scale
@group(0) @binding(1) var<storage, read> parameters: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> activations: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> metrics: array<vec2<f32>>;

const TRANSPOSE_A = false;
// Which product is made: forward through `layer`, or with its weights transposed back to the deltas below it.
var<private> TRANSPOSE_B: bool;
var<private> layer: Layer;
var<private> below: Layer;
// (loss, correct) of each thread's rows.
var<workgroup> shares: array<vec2<f32>, THREADS_X * THREADS_Y>;

fn a_width() -> u32 {
    return blocks(select(layer.inputs, layer.outputs, TRANSPOSE_B));
}

fn a_place(row: u32) -> u32 {
    let start = select(below.place, layer.place + params.deltas, TRANSPOSE_B);
    return select(NOWHERE, start + row * a_width(), row < record.rows);
}

fn a_row(place: u32, block: u32) -> vec4<f32> {
    if place != NOWHERE && block < a_width() {
        return activations[place + block];
    }
    return vec4<f32>();
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    if row < layer.inputs && block < blocks(layer.outputs) {
        return parameters[layer.offset + row * blocks(layer.outputs) + block];
    }
    return vec4<f32>();
}

// The outputs of a layer from its products with the inputs, ReLU behind all but the last.
fn activate(owner: Layer, hidden: bool, row: u32, block: u32, values: vec4<f32>) {
    let width = blocks(owner.outputs);
    var result = values + parameters[owner.offset + owner.inputs * width + block];
    if hidden {
        result = rectified(result);
    }
    activations[owner.place + row * width + block] = inside(result, block, owner.outputs);
}

var<private> hidden: bool;

fn store_row(row: u32, block: u32, values: vec4<f32>) {
    if row < record.rows && block < blocks(select(layer.outputs, layer.inputs, TRANSPOSE_B)) {
        if TRANSPOSE_B {
            let index = below.place + row * blocks(layer.inputs) + block;
            let result = inside(values, block, layer.inputs);
            activations[index + params.deltas] =
                select(vec4<f32>(), result, activations[index] > vec4<f32>());
        } else {
            activate(layer, hidden, row, block, values);
        }
    }
}

// A block of logits; what lies beyond the classes is -infinity.
fn logits(last: Layer, row: u32, block: u32) -> vec4<f32> {
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    let values = activations[last.place + row * blocks(last.outputs) + block];
    return select(vec4<f32>(lowest()), values, column < vec4<u32>(last.outputs));
}

// Writes the delta of the logits of one row; gives its scaled loss, and 1 if it is classified correctly.
// exp sees z - max <= 0 and the sum is at least 1: see row_statistics.
fn cross_entropy_row(last: Layer, row: u32) -> vec2<f32> {
    let width = blocks(last.outputs);
    let label = labels[order[record.first + row]];
    var largest = lowest();
    for (var block = 0u; block < width; block += 1u) {
        let z = logits(last, row, block);
        largest = maximum(largest, maximum(maximum(z.x, z.y), maximum(z.z, z.w)));
    }
    var sum = 0.0;
    var target_logit = 0.0;
    var prediction = last.outputs;
    for (var block = 0u; block < width; block += 1u) {
        let z = logits(last, row, block);
        let e = inside(exp(z - largest), block, last.outputs);
        sum += (e.x + e.y) + (e.z + e.w);
        for (var i = 0u; i < 4u; i += 1u) {
            let number = 4u * block + i;
            target_logit = select(target_logit, z[i], number == label);
            prediction = select(prediction, min(prediction, number), same(z[i], largest));
        }
    }
    for (var block = 0u; block < width; block += 1u) {
        let place = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
        let p = exp(logits(last, row, block) - largest) / sum;
        let d = (p - select(vec4<f32>(), vec4<f32>(1.0), place == vec4<u32>(label))) / f32(record.rows);
        activations[last.place + params.deltas + row * width + block] = inside(d, block, last.outputs);
    }
    // -log softmax(z)[target]
    return vec2<f32>((largest + log(sum) - target_logit) * LOSS_SCALE, f32(prediction == label));
}

@compute @workgroup_size(THREADS_X, THREADS_Y)
fn row(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let tile = team(group, groups);
    let owned = 4u * params.down;
    let first = tile * owned;
    let threads = THREADS_X * THREADS_Y;
    let local = thread.y * THREADS_X + thread.x;

    let width = blocks(params.network[0].outputs);
    for (var i = local; i < owned * width; i += threads) {
        let row = first + i / width;
        let block = i % width;
        if row < record.rows {
            var sum = vec4<f32>();
            for (var part = 0u; part < params.parts; part += 1u) {
                sum += parameters[partial_row(part, row) + block];
            }
            activate(params.network[0], params.layers > 1u, row, block, sum);
        }
    }
    storageBarrier();

    TRANSPOSE_B = false;
    for (var l = 1u; l < params.layers; l += 1u) {
        layer = params.network[l];
        below = params.network[l - 1u];
        hidden = l + 1u < params.layers;
        for (var n = 0u; n < pieces(blocks(params.network[l].outputs), params.across); n += 1u) {
            multiply(vec3<u32>(n, tile, 0u), thread, blocks(params.network[l].inputs));
        }
        storageBarrier();
    }

    var share = vec2<f32>();
    for (var i = local; i < owned; i += threads) {
        if first + i < record.rows {
            share += cross_entropy_row(params.network[params.layers - 1u], first + i);
        }
    }
    shares[local] = share;
    workgroupBarrier();
    storageBarrier();
    if local == 0u {
        var total = vec2<f32>();
        for (var i = 0u; i < min(owned, threads); i += 1u) {
            total += shares[i];
        }
        if first < params.capacity {
            metrics[record.slot * pieces(params.capacity, owned) + tile] = total;
        }
    }

    TRANSPOSE_B = true;
    for (var l = params.layers - 1u; l > 0u; l -= 1u) {
        layer = params.network[l];
        below = params.network[l - 1u];
        for (var n = 0u; n < pieces(blocks(params.network[l].inputs), params.across); n += 1u) {
            multiply(vec3<u32>(n, tile, 0u), thread, blocks(params.network[l].outputs));
        }
        storageBarrier();
    }
}
