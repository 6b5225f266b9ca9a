// row: H1 = f(sum of partials + b1), H2 = f(H1*W2 + b2), ..., Z; Dn = the gradient of the loss by Z,
//   D(l-1) = Dl*Wl' f'(Z(l-1)), down to D1; and the loss: all of a step that goes along the rows of the batch
// parameters, activations as `network` has them, targets of the data set, order [samples] u32,
// metrics [slots, workgroups] of (scaled sum of weight * loss, number correct) over the rows of that workgroup
// A workgroup owns 4*down rows and takes them through all layers; products are laid out by the matmul body.
// Dead rows are neither read nor written, they only keep the barriers; the padding of H and D is written as 0.
//#include blocks
//#include record
//#include network
//#include team
//#include matmul_body
//#include activation
//#include dropout
//#include nan
//#include loss_scale
//#include loss
//#include targets
@group(0) @binding(1) var<storage, read> parameters: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> activations: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> metrics: array<vec2<f32>>;

override WEIGHTED: bool = false;
override DROPOUT: bool = false;
const TRANSPOSE_A = false;
// Which product is made: forward through `layer`, or with its weights transposed back to the deltas below it.
var<private> TRANSPOSE_B: bool;
var<private> layer: Layer;
var<private> below: Layer;
var<private> number: u32; // of `layer`, from 0
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

fn outputs_of_network() -> u32 {
    return params.network[params.layers - 1u].outputs;
}

// The outputs of layer `l` from its products with the inputs; the last has no activation.
fn store_outputs(l: u32, row: u32, block: u32, values: vec4<f32>) {
    let outputs = params.network[l].outputs;
    let width = blocks(outputs);
    let bias = params.network[l].offset + params.network[l].inputs * width + block;
    let index = params.network[l].place + row * width + block;
    var result = values + parameters[bias];
    if l + 1u < params.layers {
        let kind = params.network[l].activation;
        if activation_keeps_z(kind) {
            activations[index + params.deltas] = inside(result, block, outputs);
        }
        result = activation_value(kind, result);
        if DROPOUT {
            result = dropped(result, l, row, block, params.network[l].threshold, params.network[l].scale);
        }
    }
    activations[index] = inside(result, block, outputs);
}

// The deltas of layer `l` from the gradient by its outputs.
fn store_deltas(l: u32, row: u32, block: u32, gradient: vec4<f32>) {
    let outputs = params.network[l].outputs;
    let index = params.network[l].place + row * blocks(outputs) + block;
    let kind = params.network[l].activation;
    let keeps_z = activation_keeps_z(kind);
    var result = gradient;
    var from = activations[index + select(0u, params.deltas, keeps_z)];
    if DROPOUT {
        result = dropped(result, l, row, block, params.network[l].threshold, params.network[l].scale);
        if !keeps_z {
            from /= params.network[l].scale;
        }
    }
    activations[index + params.deltas] = inside(activation_gradient(kind, result, from), block, outputs);
}

fn store_row(row: u32, block: u32, values: vec4<f32>) {
    if row < record.rows && block < blocks(select(layer.outputs, layer.inputs, TRANSPOSE_B)) {
        if TRANSPOSE_B {
            store_deltas(number - 1u, row, block, values);
        } else {
            store_outputs(number, row, block, values);
        }
    }
}

// A block of outputs of the last layer; what lies beyond them is -infinity.
fn last_outputs(row: u32, block: u32) -> vec4<f32> {
    let last = params.layers - 1u;
    let outputs = params.network[last].outputs;
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    let values = activations[params.network[last].place + row * blocks(outputs) + block];
    return select(vec4<f32>(lowest()), values, column < vec4<u32>(outputs));
}

// Writes the delta of the outputs of one row; gives its scaled loss, and 1 if it is classified correctly.
fn loss_row(row: u32) -> vec2<f32> {
    let outputs = outputs_of_network();
    let width = blocks(outputs);
    let source = min(order[record.first + row], params.samples - 1u);
    let class_of_row = target_class(source);
    let weight = row_weight(source);
    let terms = select(1.0, f32(outputs), PER_OUTPUT);
    var largest = lowest();
    var sum = 0.0;
    var prediction = outputs;
    if NEEDS_SOFTMAX {
        for (var block = 0u; block < width; block += 1u) {
            let z = last_outputs(row, block);
            largest = maximum(largest, maximum(maximum(z.x, z.y), maximum(z.z, z.w)));
        }
        for (var block = 0u; block < width; block += 1u) {
            let z = last_outputs(row, block);
            let e = inside(exp(z - largest), block, outputs);
            sum += (e.x + e.y) + (e.z + e.w);
            for (var i = 0u; i < 4u; i += 1u) {
                prediction = select(prediction, min(prediction, 4u * block + i), same(z[i], largest));
            }
        }
    }
    var loss = 0.0;
    let place = params.network[params.layers - 1u].place + params.deltas + row * width;
    for (var block = 0u; block < width; block += 1u) {
        let z = last_outputs(row, block);
        var d = vec4<f32>();
        for (var i = 0u; i < 4u; i += 1u) {
            let column = 4u * block + i;
            if column < outputs {
                let t = target_of(source, class_of_row, column);
                loss += loss_term(z[i], t, largest, sum);
                d[i] = weight * loss_slope(z[i], t, largest, sum) / (f32(record.rows) * terms);
            }
        }
        activations[place + block] = d;
    }
    if CLASSES {
        // A target that is no class has probability 0.
        loss = select(loss, -lowest(), class_of_row >= outputs);
    }
    return vec2<f32>(loss * (weight * LOSS_SCALE / terms), f32(CLASSES && prediction == class_of_row));
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
            store_outputs(0u, row, block, sum);
        }
    }
    storageBarrier();

    TRANSPOSE_B = false;
    for (var l = 1u; l < params.layers; l += 1u) {
        number = l;
        layer = params.network[l];
        below = params.network[l - 1u];
        for (var n = 0u; n < pieces(blocks(params.network[l].outputs), params.across); n += 1u) {
            multiply(vec3<u32>(n, tile, 0u), thread, blocks(params.network[l].inputs));
        }
        storageBarrier();
    }

    var share = vec2<f32>();
    for (var i = local; i < owned; i += threads) {
        if first + i < record.rows {
            share += loss_row(first + i);
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
        number = l;
        layer = params.network[l];
        below = params.network[l - 1u];
        for (var n = 0u; n < pieces(blocks(params.network[l].inputs), params.across); n += 1u) {
            multiply(vec3<u32>(n, tile, 0u), thread, blocks(params.network[l].outputs));
        }
        storageBarrier();
    }
}
