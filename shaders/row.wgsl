// row: H1 = f(sum of partials + b1), H2 = f(H1*W2 + b2), ..., Z; Dn = the gradient of the loss with respect to Z,
//   D(l-1) = Dl*Wl' f'(Z(l-1)), down to D1; and the loss: the part of a step that works along the rows of the batch
// parameters, activations as in `network`, targets of the data set, order [samples] u32,
// metrics [slots, workgroups] of (scaled sum of weight * loss, number correct) over the rows of that workgroup
// A workgroup takes ROWS rows, one or two, through all layers; see `through`. Dead rows are neither read nor written in
// storage; the padding of H and D is written as 0.
//#include blocks
//#include record
//#include network
//#include team
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
//#include first_sums
@group(0) @binding(1) var<storage, read> parameters: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> activations: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> metrics: array<vec2<f32>>;

override THREADS: u32 = 256u;
override ROWS: u32 = 1u;
override WEIGHTED: bool = false;
override DROPOUT: bool = false;
//#include known_network

var<workgroup> held: array<vec4<f32>, THREADS + ROWS>; // [ROWS][most() + 1]: the operand of the next product, and 0
var<workgroup> sums: array<vec4<f32>, ROWS * THREADS>; // [ROWS][THREADS]
var<workgroup> samples_of: array<vec2<u32>, ROWS>; // number in the data set, and class, of each row
var<workgroup> statistics: array<Statistics, ROWS>;
var<workgroup> predictions: array<u32, ROWS>;
var<workgroup> losses: array<f32, THREADS>; // each thread's share of the loss

var<private> local: u32; // of the thread
var<private> first: u32; // of the workgroup's rows

// Blocks of a chunk.
fn most() -> u32 {
    return THREADS / ROWS;
}

// Position of a block of a row in `held`; the last block of a row is followed by a block of 0.
fn held_at(lane: u32, block: u32) -> u32 {
    return lane * (most() + 1u) + block;
}

// Row of element i of two rows, each with `width` elements.
fn lane_of(i: u32, width: u32) -> u32 {
    return select(0u, 1u, ROWS > 1u && i >= width);
}

// local / size: exact, since both are small, and faster than an integer division.
fn quotient(size: u32) -> u32 {
    return u32(f32(2u * local + 1u) / f32(2u * size));
}

fn stored(index: u32) -> vec4<f32> {
    return activations[index];
}

fn store(index: u32, values: vec4<f32>) {
    activations[index] = values;
}

fn is_live(lane: u32) -> bool {
    return first + lane < record.rows;
}

// Stores a block of the operand of the next product in workgroup memory, if all of its `width` blocks fit.
fn hold(lane: u32, block: u32, width: u32, values: vec4<f32>) {
    if width <= most() {
        held[held_at(lane, block)] = values;
    }
}

// Makes values that were written to storage visible to all threads of the workgroup.
fn publish(width: u32) {
    if width > most() {
        storageBarrier();
    }
}

// Places of a thread's blocks of a layer's weights: rows 4k.. of W at its units; with `back` rows of its units at block k,
// transposed. Rows after the last are replaced by the bias, which is multiplied by 0, or computes units that do not exist.
struct Places {
    rows: vec4<u32>, // of the first block
    pitch: u32,      // from block to block
    last: u32,       // distance from the first to the last
    bias: u32,
}

fn places_of(owner: Layer, back: bool, n: u32) -> Places {
    let width = blocks(owner.outputs);
    let steps = vec4<u32>(0u, 1u, 2u, 3u) * width;
    let bias = owner.inputs * width;
    if back {
        let rows = min(4u * n * width + steps, vec4<u32>(bias));
        return Places(owner.offset + rows, 1u, width - 1u, owner.offset + bias);
    }
    let start = owner.offset + n;
    return Places(start + steps, 4u * width, (blocks(owner.inputs) - 1u) * 4u * width, start + bias);
}

// Returns the block of weights at this distance from the first; after the last block, the last again.
fn weights(its: Places, back: bool, distance: u32) -> mat4x4<f32> {
    let at = its.rows + min(distance, its.last);
    if back {
        return transpose(mat4x4<f32>(parameters[at.x], parameters[at.y], parameters[at.z], parameters[at.w]));
    }
    // A layer has at least one input, and a bias.
    return mat4x4<f32>(
        parameters[at.x],
        parameters[at.y],
        parameters[min(at.z, its.bias)],
        parameters[min(at.w, its.bias)],
    );
}

// Block k of the operand, of all rows; 0 if it does not exist.
fn operand(k: u32, there: bool) -> mat2x4<f32> {
    let block = select(most(), k, there);
    if ROWS == 1u {
        return mat2x4<f32>(held[block], vec4<f32>());
    }
    return mat2x4<f32>(held[block], held[held_at(1u, block)]);
}

// c + b*a, of all rows.
fn with_block(c: mat2x4<f32>, b: mat4x4<f32>, a: mat2x4<f32>) -> mat2x4<f32> {
    if ROWS == 1u {
        return mat2x4<f32>(added(c[0], b, a[0]), vec4<f32>());
    }
    return mat2x4<f32>(added(c[0], b, a[0]), added(c[1], b, a[1]));
}

// Copies blocks first_block.. of the operand that begins at `place`, `width` blocks per row, into workgroup memory.
fn bring(place: u32, width: u32, first_block: u32, count: u32) {
    workgroupBarrier();
    for (var i = local; i < ROWS * count; i += THREADS) {
        let lane = lane_of(i, count);
        let block = i - lane * count;
        var values = vec4<f32>();
        if is_live(lane) {
            values = activations[place + (first + lane) * width + first_block + block];
        }
        held[held_at(lane, block)] = values;
    }
    workgroupBarrier();
}

// Takes the rows through layer `l`: to its outputs, or with `back` to the deltas of the layer below. The operand is in
// workgroup memory; weights are loaded from storage straight into registers, since no two threads use the same. A layer is
// computed in chunks of at most most() blocks of units; surplus threads split the inner dimension, and their sums are added in
// order. A layer of more than one chunk does not fit workgroup memory: it is read back from storage, in pieces.
fn through(l: u32, back: bool) {
    let owner = layer_at(l);
    let operand_place = select(layer_at(l - 1u).place, owner.place + deltas(), back);
    let inner = blocks(select(owner.inputs, owner.outputs, back));
    let outer = blocks(select(owner.outputs, owner.inputs, back));
    // Blocks of the inner dimension per thread at a time. A network has few outputs: three blocks are twelve.
    let at_once = select(4u, 3u, back);
    let end = pieces(outer, most()) * most();
    for (var n0 = 0u; n0 < end; n0 += most()) {
        let chunk = min(most(), outer - n0);
        let slices = min(THREADS / chunk, (inner + at_once - 1u) / at_once);
        // Adjacent threads load adjacent vec4s: of W along its rows.
        let side = select(chunk, slices, back);
        let line = quotient(side);
        let rest = local - line * side;
        let x = select(rest, line, back);
        let slice = select(line, rest, back);
        let n = n0 + x;
        let busy = (slice < slices) & (x < chunk);
        // Operands of the outputs that this thread computes from the sums.
        let lane = lane_of(local, chunk);
        let block = n0 + local - lane * chunk;
        let own = local < ROWS * chunk;
        var kept = vec4<f32>();
        if back {
            // An arbitrary number: a constant would be written to the same registers after the load, and wait for it.
            kept = vec4<f32>(f32(slice));
            if own && is_live(lane) {
                kept = kept_value(l - 1u, lane, block);
            }
        }
        let its = places_of(owner, back, n);
        let apart = slices * its.pitch;
        var c = mat2x4<f32>();
        let end_of_pieces = pieces(inner, most()) * most();
        for (var piece = 0u; piece < end_of_pieces; piece += most()) {
            let count = min(most(), inner - piece);
            if inner > most() {
                bring(operand_place, inner, piece, count);
            }
            if busy {
                var bias = vec4<f32>();
                if !back {
                    bias = parameters[owner.offset + owner.inputs * outer + n];
                }
                let turns = pieces(count, at_once * slices);
                for (var turn = 0u; turn < turns; turn += 1u) {
                    let k = turn * at_once * slices + slice;
                    let k1 = k + slices;
                    let k2 = k1 + slices;
                    let k3 = k2 + slices;
                    let distance = (piece + k) * its.pitch;
                    let b0 = weights(its, back, distance);
                    let b1 = weights(its, back, distance + apart);
                    let b2 = weights(its, back, distance + 2u * apart);
                    var b3 = mat4x4<f32>();
                    if !back {
                        b3 = weights(its, back, distance + 3u * apart);
                    }
                    // Full turns need no bounds test.
                    let whole = (turn + 1u) * at_once * slices <= count;
                    let a0 = operand(k, whole || k < count);
                    let a1 = operand(k1, whole || k1 < count);
                    let a2 = operand(k2, whole || k2 < count);
                    if !back {
                        // Added in the loop, as in the first layer.
                        let begins = piece + k == 0u;
                        c = mat2x4<f32>(select(c[0], bias, begins), select(c[1], bias, begins));
                    }
                    c = with_block(with_block(with_block(c, b0, a0), b1, a1), b2, a2);
                    if !back {
                        c = with_block(c, b3, operand(k3, whole || k3 < count));
                    }
                }
            }
        }
        if busy {
            sums[local] = c[0];
            if ROWS > 1u {
                sums[THREADS + local] = c[1];
            }
        }
        workgroupBarrier();
        if own {
            let first_sum = lane * THREADS + (block - n0) * select(1u, slices, back);
            let sum = added_up(first_sum, select(chunk, 1u, back), slices);
            if back {
                store_deltas(l - 1u, lane, block, sum, kept);
            } else {
                store_outputs(l, lane, block, sum);
            }
        }
        workgroupBarrier();
    }
    publish(outer);
}

// Returns a block of the operand of one row, which is stored at `place`.
fn held_or_stored(lane: u32, block: u32, place: u32, width: u32) -> vec4<f32> {
    if width <= most() {
        return held[held_at(lane, block)];
    }
    return stored(place + (first + lane) * width + block);
}

// Computes the losses of the rows, and the deltas of their outputs, a block per thread. With few outputs each of these threads
// computes the statistics of a row itself; otherwise one does for all. The last threads, which would wait, compute the
// prediction.
fn losses_and_deltas() {
    let width = blocks(outputs_of_network());
    let few = width <= 8u && ROWS * width <= THREADS;
    var of_row = Statistics();
    if NEEDS_SOFTMAX {
        let own = lane_of(local, width);
        if few && local < ROWS * width && is_live(own) {
            of_row = softmax_of(own);
        }
        if !few && local < ROWS && is_live(local) {
            statistics[local] = softmax_of(local);
        }
        let lane = THREADS - 1u - local;
        if lane < ROWS && is_live(lane) {
            predictions[lane] = largest_of(lane).prediction;
        }
        workgroupBarrier();
    }
    var loss = 0.0;
    let all = pieces(ROWS * width, THREADS) * THREADS;
    for (var start = 0u; start < all; start += THREADS) {
        let i = start + local;
        let lane = lane_of(i, width);
        if i < ROWS * width && is_live(lane) {
            if !few {
                of_row = statistics[lane];
            }
            let sample = samples_of[lane];
            loss += loss_block(lane, i - lane * width, sample.x, sample.y, of_row);
        }
    }
    losses[local] = loss;
    publish(width);
    workgroupBarrier();
}

// Returns the sum of all threads' losses, and the number of correctly classified rows.
fn loss_and_correct() -> vec2<f32> {
    var result = vec2<f32>();
    for (var i = 0u; i < min(ROWS * blocks(outputs_of_network()), THREADS); i += 1u) {
        result.x += losses[i];
    }
    if CLASSES {
        for (var lane = 0u; lane < ROWS; lane += 1u) {
            let correct = predictions[lane] == samples_of[lane].y;
            result.y += f32(is_live(lane) & correct);
        }
    }
    return result;
}

@compute @workgroup_size(THREADS)
fn row(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = team(group, groups);
    local = thread;
    first = tile * ROWS;
    if LAYERS > 0u {
        // Shows the compiler that places are small.
        first = min(first, CAPACITY);
    }
    if local < ROWS {
        held[held_at(local, most())] = vec4<f32>();
    }
    // The last threads have the least work: they wait for two dependent loads while the first threads add up.
    let lane = THREADS - 1u - local;
    if lane < ROWS && is_live(lane) {
        let source = min(order[record.first + first + lane], params.samples - 1u);
        samples_of[lane] = vec2<u32>(source, target_class(source));
    }

    first_layer();
    if LAYERS == 0u {
        for (var l = 1u; l < params.layers; l += 1u) {
            through(l, false);
        }
    }
    if LAYERS > 1u {
        through(1u, false);
    }
    if LAYERS > 2u {
        through(2u, false);
    }
    if LAYERS > 3u {
        through(3u, false);
    }
    losses_and_deltas();
    if LAYERS == 0u {
        for (var l = params.layers - 1u; l > 0u; l -= 1u) {
            through(l, true);
        }
    }
    if LAYERS > 3u {
        through(3u, true);
    }
    if LAYERS > 2u {
        through(2u, true);
    }
    if LAYERS > 1u {
        through(1u, true);
    }

    if local == THREADS - 1u && first < capacity() {
        metrics[record.slot * pieces(capacity(), ROWS) + tile] = loss_and_correct();
    }
}
