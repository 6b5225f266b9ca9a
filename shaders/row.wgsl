// row: H1 = f(sum of partials + b1), H2 = f(H1*W2 + b2), ..., Z; Dn = the gradient of the loss by Z,
//   D(l-1) = Dl*Wl' f'(Z(l-1)), down to D1; and the loss: all of a step that goes along the rows of the batch
// parameters, activations as `network` has them, targets of the data set, order [samples] u32,
// metrics [slots, workgroups] of (scaled sum of weight * loss, number correct) over the rows of that workgroup
// A workgroup takes two rows through all layers; see `through`. Dead rows are neither read nor written in storage; the
// padding of H and D is written as 0.
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
@group(0) @binding(1) var<storage, read> parameters: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> activations: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> metrics: array<vec2<f32>>;

override THREADS: u32 = 256u;
override WEIGHTED: bool = false;
override DROPOUT: bool = false;

const ROWS = 2u;
var<workgroup> held: array<vec4<f32>, THREADS>; // [ROWS][most()]: the operand of the next product
var<workgroup> sums: array<vec4<f32>, 2u * THREADS>; // [2][THREADS]

var<private> local: u32; // of the thread
var<private> first: u32; // of the workgroup's rows

// Blocks of a chunk.
fn most() -> u32 {
    return THREADS / 2u;
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

// Holds a block of the operand of the next product, if all of its `width` blocks fit.
fn hold(lane: u32, block: u32, width: u32, values: vec4<f32>) {
    if width <= most() {
        held[lane * most() + block] = values;
    }
}

// Values that were written to storage, for all threads of the workgroup.
fn publish(width: u32) {
    if width > most() {
        storageBarrier();
    }
}

// What stands at `index` of the parameters, or 0: a load without a branch.
fn parameter(index: u32, live: bool) -> vec4<f32> {
    return select(vec4<f32>(), parameters[select(0u, index, live)], live);
}

// The outputs of the first layer, from the partial sums.
fn first_layer() {
    let owner = params.network[0];
    let width = blocks(owner.outputs);
    let pitch = params.capacity * width;
    for (var n0 = 0u; n0 < width; n0 += most()) {
        let chunk = min(most(), width - n0);
        let lane = local / chunk;
        let block = n0 + local % chunk;
        let own = local < ROWS * chunk;
        let live = own & is_live(lane);
        let at = partial_row(0u, first + lane) + block;
        var sum = vec4<f32>();
        // Eight loads on their way.
        for (var part = 0u; part < params.parts; part += 8u) {
            let start = at + part * pitch;
            let value0 = parameter(start, live);
            let value1 = parameter(start + pitch, live & (part + 1u < params.parts));
            let value2 = parameter(start + 2u * pitch, live & (part + 2u < params.parts));
            let value3 = parameter(start + 3u * pitch, live & (part + 3u < params.parts));
            let value4 = parameter(start + 4u * pitch, live & (part + 4u < params.parts));
            let value5 = parameter(start + 5u * pitch, live & (part + 5u < params.parts));
            let value6 = parameter(start + 6u * pitch, live & (part + 6u < params.parts));
            let value7 = parameter(start + 7u * pitch, live & (part + 7u < params.parts));
            sum += ((value0 + value1) + (value2 + value3)) + ((value4 + value5) + (value6 + value7));
        }
        if own {
            store_outputs(0u, lane, block, sum + parameters[owner.offset + owner.inputs * width + block]);
        }
    }
    publish(width);
    workgroupBarrier();
}

// A block of a layer's weights: rows 4k.. of W at block n; with `back`, rows 4n.. at block k, transposed. In the place of rows
// behind the last the bias comes: it is multiplied by padding, or makes units that are not there.
fn weights(owner: Layer, back: bool, k: u32, n: u32) -> mat4x4<f32> {
    let width = blocks(owner.outputs);
    let row = 4u * select(k, n, back);
    let at = owner.offset + select(n, k, back);
    let block = mat4x4<f32>(
        parameters[at + row * width],
        parameters[at + min(row + 1u, owner.inputs) * width],
        parameters[at + min(row + 2u, owner.inputs) * width],
        parameters[at + min(row + 3u, owner.inputs) * width],
    );
    if back {
        return transpose(block);
    }
    return block;
}

// Block k of the operand, of both rows; 0 where there is none.
fn operand(k: u32, there: bool) -> mat2x4<f32> {
    let zero = vec4<f32>();
    return mat2x4<f32>(select(zero, held[k], there), select(zero, held[most() + k], there));
}

// c + b*a, of both rows.
fn with_block(c: mat2x4<f32>, b: mat4x4<f32>, a: mat2x4<f32>) -> mat2x4<f32> {
    return mat2x4<f32>(added(c[0], b, a[0]), added(c[1], b, a[1]));
}

// Brings blocks first_block.. of the operand that begins at `place`, `width` blocks a row, into workgroup memory.
fn bring(place: u32, width: u32, first_block: u32, count: u32) {
    workgroupBarrier();
    for (var i = local; i < ROWS * count; i += THREADS) {
        let lane = i / count;
        let block = i % count;
        var values = vec4<f32>();
        if is_live(lane) {
            values = activations[place + (first + lane) * width + first_block + block];
        }
        held[lane * most() + block] = values;
    }
    workgroupBarrier();
}

// Takes the rows through layer `l`: to its outputs, or with `back` to the deltas of the layer below.
// The operand stands in workgroup memory; weights go from storage straight into registers, as no two threads want the same.
// A layer is made in chunks of at most most() blocks of units; threads that are left over split the inner dimension, and
// their sums are added up in order. A layer of more than one chunk has no room in workgroup memory: it
// comes back from storage, in pieces.
fn through(l: u32, back: bool) {
    let owner = params.network[l];
    let below = params.network[l - 1u].place;
    let operand_place = select(below, owner.place + params.deltas, back);
    let inner = blocks(select(owner.inputs, owner.outputs, back));
    let outer = blocks(select(owner.outputs, owner.inputs, back));
    for (var n0 = 0u; n0 < outer; n0 += most()) {
        let chunk = min(most(), outer - n0);
        // A thread takes four blocks of the inner dimension at a time.
        let slices = min(THREADS / chunk, (inner + 3u) / 4u);
        // Neighbouring threads load neighbours: of W along its rows.
        let x = select(local % chunk, local / slices, back);
        let slice = select(local / chunk, local % slices, back);
        let n = n0 + x;
        let busy = (slice < slices) & (x < chunk);
        // Of the outputs that this thread makes of the sums.
        let lane = local / chunk;
        let block = n0 + local % chunk;
        let own = local < ROWS * chunk;
        var kept: vec4<f32>;
        if own {
            if back {
                kept = kept_value(l - 1u, lane, block);
            } else {
                kept = parameters[owner.offset + owner.inputs * outer + block];
            }
        }
        var c: mat2x4<f32>;
        for (var piece = 0u; piece < inner; piece += most()) {
            let count = min(most(), inner - piece);
            if inner > most() {
                bring(operand_place, inner, piece, count);
            }
            for (var k = select(count, slice, busy); k < count; k += 4u * slices) {
                // Those behind the last are the last, times 0.
                let last = count - 1u;
                let k1 = k + slices;
                let k2 = k1 + slices;
                let k3 = k2 + slices;
                let b0 = weights(owner, back, piece + k, n);
                let b1 = weights(owner, back, piece + min(k1, last), n);
                let b2 = weights(owner, back, piece + min(k2, last), n);
                let b3 = weights(owner, back, piece + min(k3, last), n);
                let a0 = operand(k, true);
                let a1 = operand(min(k1, last), k1 < count);
                let a2 = operand(min(k2, last), k2 < count);
                let a3 = operand(min(k3, last), k3 < count);
                c = with_block(with_block(with_block(with_block(c, b0, a0), b1, a1), b2, a2), b3, a3);
            }
        }
        let first_sum = select(local % chunk, (local % chunk) * slices, back) + (local / chunk) * THREADS;
        let pitch = select(chunk, 1u, back);
        if busy {
            sums[local] = c[0];
            sums[THREADS + local] = c[1];
        }
        workgroupBarrier();
        if own {
            let sum = added_up(first_sum, pitch, slices);
            if back {
                store_deltas(l - 1u, lane, block, sum, kept);
            } else {
                store_outputs(l, lane, block, sum + kept);
            }
        }
        workgroupBarrier();
    }
    publish(outer);
}

// A block of the operand of one row, which stands at `place`.
fn held_or_stored(lane: u32, block: u32, place: u32, width: u32) -> vec4<f32> {
    if width <= most() {
        return held[lane * most() + block];
    }
    return stored(place + (first + lane) * width + block);
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
    let has_loss = local < ROWS && is_live(local);
    var source = 0u;
    var class_of_row = 0u;
    if has_loss {
        source = min(order[record.first + first + local], params.samples - 1u);
        class_of_row = target_class(source);
    }

    first_layer();
    for (var l = 1u; l < params.layers; l += 1u) {
        through(l, false);
    }
    var share = vec2<f32>();
    if has_loss {
        share = loss_row(local, source, class_of_row);
    }
    publish(blocks(outputs_of_network()));
    workgroupBarrier();
    for (var l = params.layers - 1u; l > 0u; l -= 1u) {
        through(l, true);
    }

    if local < ROWS {
        sums[local] = vec4<f32>(share, 0.0, 0.0);
    }
    workgroupBarrier();
    if local == 0u && first < params.capacity {
        metrics[record.slot * pieces(params.capacity, ROWS) + tile] = (sums[0] + sums[1]).xy;
    }
}
