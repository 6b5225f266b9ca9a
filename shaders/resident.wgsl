// resident: whole steps of training, one after the other: H1 = f(X*W1 + b1), ..., Z; Dn = the gradient of
//   the loss by Z, D(l-1) = Dl*Wl' f'(Z(l-1)), down to D1; then the optimizer applied to W with H'*D, to b with the sum of D's rows
// features [samples, inputs] bytes or f32 in rows of four, targets of the data set, order [samples] u32, rules [slots, networks]
// in the form of `record`, network after network its parameters with its activations behind them and the inputs of the batch,
// metrics [slots, networks] of (scaled sum of weight * loss, number correct). A workgroup trains a network.
// A thread owns blocks of 4x4 values of a product, one after the other; where there are fewer blocks than threads, some share
// one: each sums up a slice of the inner dimension, and the sums are added in order. Everything else stays in storage,
// which is this workgroup's alone. Behind the last row of a batch rows of 0 fill a block, so that no load has to ask.
//#include blocks
//#include record
//#include networks
//#include features
//#include multiply_block
//#include added_up
//#include activation
//#include dropout
//#include nan
//#include loss_scale
//#include loss
//#include targets
//#include units
//#include row_of_outputs
//#include network_parameter
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> rules: array<vec4<u32>>; // four a record
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>; // the parameters and what stands behind them
@group(0) @binding(6) var<storage, read_write> metrics: array<vec2<f32>>;

override THREADS: u32 = 256u;
override WEIGHTED: bool = false;
override DROPOUT: bool = false;

// The products: the outputs of a layer, the deltas of the layer below it, the update of its parameters.
const OUTPUTS = 0u;
const DELTAS = 1u;
const UPDATE = 2u;

const first = 0u; // of the workgroup's rows: it has all
var<workgroup> sums: array<vec4<f32>, 4u * THREADS>; // [4][THREADS]
var<private> local: u32;     // of the thread

fn stored(index: u32) -> vec4<f32> {
    return result[index];
}

fn store(index: u32, values: vec4<f32>) {
    result[index] = values;
}

fn is_live(row: u32) -> bool {
    return row < record.rows;
}

// Nothing is held in workgroup memory.
fn hold(row: u32, block: u32, width: u32, values: vec4<f32>) {}

fn held_or_stored(row: u32, block: u32, place: u32, width: u32) -> vec4<f32> {
    return result[place + row * width + block];
}

// Which row of the data set a row of the batch is. An order that names a row which is not there gives the last.
fn sample(row: u32) -> u32 {
    return min(order[record.first + row], params.samples - 1u);
}

// Vec4 `i` of the inputs of the batch; 0 in rows behind the last.
fn gathered(i: u32, source: u32, width: u32) -> vec4<f32> {
    return select(vec4<f32>(), feature(source * width + i % width), is_live(i / width));
}

// Brings the inputs of the batch together.
fn gather(rows: u32) {
    let width = blocks(layer_at(0).inputs);
    let length = 4u * blocks(rows) * width;
    let last = length - 1u;
    for (var i = local; i < length; i += 4u * THREADS) {
        // Four loads on their way, of rows that are live.
        let i1 = min(i + THREADS, last);
        let i2 = min(i + 2u * THREADS, last);
        let i3 = min(i + 3u * THREADS, last);
        let source = sample(min(i / width, rows - 1u));
        let source1 = sample(min(i1 / width, rows - 1u));
        let source2 = sample(min(i2 / width, rows - 1u));
        let source3 = sample(min(i3 / width, rows - 1u));
        let values = gathered(i, source, width);
        let values1 = gathered(i1, source1, width);
        let values2 = gathered(i2, source2, width);
        let values3 = gathered(i3, source3, width);
        result[params.batch + i] = values;
        if i + THREADS < length {
            result[params.batch + i1] = values1;
        }
        if i + 2u * THREADS < length {
            result[params.batch + i2] = values2;
        }
        if i + 3u * THREADS < length {
            result[params.batch + i3] = values3;
        }
    }
}

// Fills the blocks of rows of all activations and deltas.
fn fill(rows: u32) {
    for (var l = 0u; l < params.layers; l += 1u) {
        let width = blocks(layer_at(l).outputs);
        for (var i = rows * width + local; i < 4u * blocks(rows) * width; i += THREADS) {
            result[layer_at(l).place + i] = vec4<f32>();
            result[layer_at(l).place + params.deltas + i] = vec4<f32>();
        }
    }
}

// Where the inputs of layer `l` stand.
fn inputs_of(l: u32) -> u32 {
    if l == 0u {
        return params.batch;
    }
    return layer_at(l - 1u).place;
}

// Four rows of a matrix of `width` blocks, at one of them.
fn four_rows(at: u32, width: u32) -> mat4x4<f32> {
    return mat4x4<f32>(result[at], result[at + width], result[at + 2u * width], result[at + 3u * width]);
}

// Rows 4*k.. of layer l's weights at block n. Below the last stands the bias: finite, and multiplied by padding.
fn weights(l: u32, k: u32, n: u32) -> mat4x4<f32> {
    let layer = layer_at(l);
    let width = blocks(layer.outputs);
    let at = layer.offset + n;
    let row = 4u * k;
    return mat4x4<f32>(
        result[at + row * width],
        result[at + min(row + 1u, layer.inputs) * width],
        result[at + min(row + 2u, layer.inputs) * width],
        result[at + min(row + 3u, layer.inputs) * width],
    );
}

// `values` with ones in the place of row `bias` of the inputs as they stand in the columns of the weights, so that the bias is
// one more row of these.
fn with_ones(values: mat4x4<f32>, row: u32, bias: u32) -> mat4x4<f32> {
    let one = vec4<f32>(1.0);
    return mat4x4<f32>(
        select(values[0], one, row == bias),
        select(values[1], one, row + 1u == bias),
        select(values[2], one, row + 2u == bias),
        select(values[3], one, row + 3u == bias),
    );
}

// What is loaded for row `row` of a block of a product before its sums are there, and what becomes of them.
fn before(product: u32, l: u32, row: u32, n: u32) -> Parameter {
    let layer = layer_at(l);
    var old = Parameter();
    if product == OUTPUTS {
        old.value = result[layer.offset + layer.inputs * blocks(layer.outputs) + n];
    } else if product == DELTAS {
        if is_live(row) {
            old.value = kept_value(l - 1u, row, n);
        }
    } else if row <= layer.inputs {
        old = load_parameter(layer.offset + row * blocks(layer.outputs) + n);
    }
    return old;
}

// The same of the rows that a thread finishes: of the four of a block all, or where `slices` threads share it every
// slices-th, which are one or two.
struct RowsBefore {
    first: Parameter,
    second: Parameter,
    third: Parameter,
    fourth: Parameter,
}

fn rows_before(product: u32, l: u32, m: u32, n: u32, slice: u32, slices: u32) -> RowsBefore {
    var rows = RowsBefore();
    if slices == 1u {
        rows.first = before(product, l, 4u * m, n);
        rows.second = before(product, l, 4u * m + 1u, n);
        rows.third = before(product, l, 4u * m + 2u, n);
        rows.fourth = before(product, l, 4u * m + 3u, n);
    } else {
        if slice < 4u {
            rows.first = before(product, l, 4u * m + slice, n);
        }
        if slice + slices < 4u {
            rows.second = before(product, l, 4u * m + slice + slices, n);
        }
    }
    return rows;
}

fn finish(product: u32, l: u32, row: u32, n: u32, sum: vec4<f32>, old: Parameter) {
    if product == OUTPUTS {
        store_outputs(l, row, n, sum + old.value);
    } else if product == DELTAS {
        store_deltas(l - 1u, row, n, sum, old.value);
    } else {
        let layer = layer_at(l);
        if row <= layer.inputs {
            let gradient = inside(sum, n, layer.outputs);
            store_parameter(
                layer.offset + row * blocks(layer.outputs) + n,
                changed_parameter(layer, row, old, gradient),
            );
        }
    }
}

// Makes a product of layer `l`, of so many inputs and outputs, for the `rows` rows of the batch.
fn multiply(product: u32, l: u32, inputs: u32, outputs: u32, rows: u32) {
    let into = blocks(inputs);
    let out_of = blocks(outputs);
    let lines = blocks(rows);
    let across = select(out_of, into, product == DELTAS);
    let down = select(lines, blocks(inputs + 1u), product == UPDATE);
    let inner = select(select(into, out_of, product == DELTAS), lines, product == UPDATE);
    let input = inputs_of(l);
    let delta = layer_at(l).place + params.deltas;
    let bias = inputs;
    let units = down * across;
    let chunk = min(units, THREADS);
    // A thread takes two blocks of the inner dimension at a time.
    let slices = min(THREADS / chunk, (inner + 1u) / 2u);
    for (var start = 0u; start < units; start += THREADS) {
        let unit = start + local % chunk;
        let slice = local / chunk;
        let busy = (slice < slices) & (unit < units);
        let m = unit / across;
        let n = unit % across;
        // Before the products, which hide the wait; but an optimizer with state leaves the registers to them.
        let early = product != UPDATE || NUMBERS < 2u;
        var old = RowsBefore();
        if early && busy {
            old = rows_before(product, l, m, n, slice, slices);
        }
        var c = mat4x4<f32>();
        for (var k = select(inner, slice, busy); k < inner; k += 2u * slices) {
            let both = k + slices < inner;
            let k1 = select(k, k + slices, both);
            var a0 = mat4x4<f32>();
            var a1 = mat4x4<f32>();
            var b0 = mat4x4<f32>();
            var b1 = mat4x4<f32>();
            if product == OUTPUTS {
                a0 = four_rows(input + 4u * m * into + k, into);
                a1 = four_rows(input + 4u * m * into + k1, into);
                b0 = weights(l, k, n);
                b1 = weights(l, k1, n);
            } else if product == DELTAS {
                a0 = four_rows(delta + 4u * m * out_of + k, out_of);
                a1 = four_rows(delta + 4u * m * out_of + k1, out_of);
                b0 = transpose(weights(l, n, k));
                b1 = transpose(weights(l, n, k1));
            } else {
                let column = min(m, into - 1u);
                a0 = transpose(four_rows(input + 4u * k * into + column, into));
                a1 = transpose(four_rows(input + 4u * k1 * into + column, into));
                b0 = four_rows(delta + 4u * k * out_of + n, out_of);
                b1 = four_rows(delta + 4u * k1 * out_of + n, out_of);
                if 4u * m + 3u >= bias {
                    a0 = with_ones(a0, 4u * m, bias);
                    a1 = with_ones(a1, 4u * m, bias);
                }
            }
            c = added_block(c, b0, a0);
            if both {
                c = added_block(c, b1, a1);
            }
        }
        if !early && busy {
            old = rows_before(product, l, m, n, slice, slices);
        }
        if slices == 1u {
            if busy {
                finish(product, l, 4u * m, n, c[0], old.first);
                finish(product, l, 4u * m + 1u, n, c[1], old.second);
                finish(product, l, 4u * m + 2u, n, c[2], old.third);
                finish(product, l, 4u * m + 3u, n, c[3], old.fourth);
            }
        } else {
            if busy {
                sums[local] = c[0];
                sums[THREADS + local] = c[1];
                sums[2u * THREADS + local] = c[2];
                sums[3u * THREADS + local] = c[3];
            }
            workgroupBarrier();
            if busy && slice < 4u {
                finish(product, l, 4u * m + slice, n, added_up(slice * THREADS + unit, chunk, slices), old.first);
            }
            if busy && slice + slices < 4u {
                let row = slice + slices;
                finish(product, l, 4u * m + row, n, added_up(row * THREADS + unit, chunk, slices), old.second);
            }
            workgroupBarrier();
        }
    }
}

// The loss of a row, whose deltas are made, and whether it is classified correctly.
fn loss_row(row: u32) -> vec2<f32> {
    let source = sample(row);
    let class_of_row = target_class(source);
    var of_row = Statistics();
    if NEEDS_SOFTMAX {
        of_row = statistics_of(row);
    }
    var loss = 0.0;
    for (var block = 0u; block < blocks(outputs_of_network()); block += 1u) {
        loss += loss_block(row, block, source, class_of_row, of_row);
    }
    return vec2<f32>(loss, f32(CLASSES && of_row.prediction == class_of_row));
}

// The losses of all rows, and their gradients.
fn losses(rows: u32, number: u32) {
    var share = vec2<f32>();
    for (var row = local; row < rows; row += THREADS) {
        share += loss_row(row);
    }
    sums[local] = vec4<f32>(share, 0.0, 0.0);
    workgroupBarrier();
    if local == 0u {
        metrics[record.slot * networks.count + number] = added_up(0u, 1u, min(rows, THREADS)).xy;
    }
    workgroupBarrier();
    storageBarrier();
}

// Which network workgroup `group` trains. The first step of a dispatch says it for all.
fn network_of(group: u32, slot: u32, count: u32) -> u32 {
    if count > 1u {
        return min(rules[4u * (slot * count + group)].z, count - 1u);
    }
    return 0u;
}

// The record of a step: which rows is the same for all networks, the optimizer's numbers are the workgroup's.
fn own_record(step: u32, group: u32) -> StepRecord {
    var own = records.steps[step];
    let place = 4u * (own.slot * networks.count + group);
    let words = rules[place + 1u];
    let rates = bitcast<vec4<f32>>(words);
    let means = bitcast<vec4<f32>>(rules[place + 2u]);
    let last = rules[place + 3u];
    own.step = words.y;
    own.rate = rates.z;
    own.decay = rates.w;
    own.beta1 = means.x;
    own.beta2 = means.y;
    own.epsilon = means.z;
    own.correction1 = means.w;
    own.correction2 = bitcast<f32>(last.x);
    own.seed = last.zw;
    return own;
}

@compute @workgroup_size(THREADS)
fn resident(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
    local = thread;
    let number = network_of(group.x, records.steps[0].slot, networks.count);
    let layers = networks.list[number].layers;
    let start = networks.list[number].start;
    params = networks.list[number];
    for (var step = 0u; step < MOST_RECORDS; step += 1u) {
        let rows = records.steps[step].rows;
        if rows == 0u {
            break;
        }
        record = own_record(step, group.x);
        gather(rows);
        if rows % 4u > 0u {
            fill(rows);
        }
        storageBarrier();
        for (var l = 0u; l < layers; l += 1u) {
            multiply(OUTPUTS, l, networks.layers[start + l].inputs, networks.layers[start + l].outputs, rows);
            storageBarrier();
        }
        losses(rows, number);
        for (var l = layers - 1u; l > 0u; l -= 1u) {
            multiply(DELTAS, l, networks.layers[start + l].inputs, networks.layers[start + l].outputs, rows);
            storageBarrier();
        }
        for (var l = 0u; l < layers; l += 1u) {
            multiply(UPDATE, l, networks.layers[start + l].inputs, networks.layers[start + l].outputs, rows);
        }
        storageBarrier();
    }
}
