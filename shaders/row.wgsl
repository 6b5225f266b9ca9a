// row: H1 = f(sum of partials + b1), H2 = f(H1*W2 + b2), ..., Z; Dn = the gradient of the loss by Z,
//   D(l-1) = Dl*Wl' f'(Z(l-1)), down to D1; and the loss: all of a step that goes along the rows of the batch
// parameters, activations as `network` has them, targets of the data set, order [samples] u32,
// metrics [slots, workgroups] of (scaled sum of weight * loss, number correct) over the rows of that workgroup
// A workgroup takes four rows through all layers; see `through`. Dead rows are neither read nor written in storage; the
// padding of H and D is written as 0.
//#include blocks
//#include record
//#include network
//#include team
//#include multiply_block
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

const ROWS = 4u;
var<workgroup> held: array<vec4<f32>, 2u * THREADS>; // [ROWS][most()]: the operand of the next product
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
        let own = local < 2u * chunk;
        let upper_live = own & is_live(lane);
        let lower_live = own & is_live(lane + 2u);
        let upper_at = partial_row(0u, first + lane) + block;
        let lower_at = upper_at + 2u * width;
        let bias = parameter(owner.offset + owner.inputs * width + block, own);
        var upper = vec4<f32>();
        var lower = vec4<f32>();
        // Eight loads on their way.
        for (var part = 0u; part < params.parts; part += 4u) {
            let second = part + 1u < params.parts;
            let third = part + 2u < params.parts;
            let fourth = part + 3u < params.parts;
            let at = part * pitch;
            let upper0 = parameter(upper_at + at, upper_live);
            let lower0 = parameter(lower_at + at, lower_live);
            let upper1 = parameter(upper_at + at + pitch, upper_live & second);
            let lower1 = parameter(lower_at + at + pitch, lower_live & second);
            let upper2 = parameter(upper_at + at + 2u * pitch, upper_live & third);
            let lower2 = parameter(lower_at + at + 2u * pitch, lower_live & third);
            let upper3 = parameter(upper_at + at + 3u * pitch, upper_live & fourth);
            let lower3 = parameter(lower_at + at + 3u * pitch, lower_live & fourth);
            upper += (upper0 + upper1) + (upper2 + upper3);
            lower += (lower0 + lower1) + (lower2 + lower3);
        }
        if own {
            store_outputs(0u, lane, block, upper + bias);
            store_outputs(0u, lane + 2u, block, lower + bias);
        }
    }
    publish(width);
    workgroupBarrier();
}

// A block of layer `l`'s weights: rows 4k.. of W at block n; with `back`, rows 4n.. at block k, transposed.
fn weights(owner: Layer, back: bool, k: u32, n: u32, live: bool) -> mat4x4<f32> {
    let width = blocks(owner.outputs);
    let row = 4u * select(k, n, back);
    let at = owner.offset + row * width + select(n, k, back);
    let block = mat4x4<f32>(
        parameter(at, live & (row < owner.inputs)),
        parameter(at + width, live & (row + 1u < owner.inputs)),
        parameter(at + 2u * width, live & (row + 2u < owner.inputs)),
        parameter(at + 3u * width, live & (row + 3u < owner.inputs)),
    );
    if back {
        return transpose(block);
    }
    return block;
}

// Block k of the operand, of all four rows.
fn operand(k: u32) -> mat4x4<f32> {
    return mat4x4<f32>(held[k], held[most() + k], held[2u * most() + k], held[3u * most() + k]);
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
// their sums are added up in order, two rows at a time. A layer of more than one chunk has no room in workgroup memory: it
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
        // Of the outputs that this thread makes of the sums: two, of two rows.
        let lane = local / chunk;
        let block = n0 + local % chunk;
        let own = local < 2u * chunk;
        var upper_kept: vec4<f32>;
        var lower_kept: vec4<f32>;
        if back {
            if own {
                upper_kept = kept_value(l - 1u, lane, block);
                lower_kept = kept_value(l - 1u, lane + 2u, block);
            }
        } else {
            upper_kept = parameter(owner.offset + owner.inputs * outer + block, own);
            lower_kept = upper_kept;
        }
        var c: mat4x4<f32>;
        for (var piece = 0u; piece < inner; piece += most()) {
            let count = min(most(), inner - piece);
            if inner > most() {
                bring(operand_place, inner, piece, count);
            }
            for (var k = select(count, slice, busy); k < count; k += 4u * slices) {
                let k1 = k + slices;
                let k2 = k1 + slices;
                let k3 = k2 + slices;
                let b0 = weights(owner, back, piece + k, n, true);
                let b1 = weights(owner, back, piece + k1, n, k1 < count);
                let b2 = weights(owner, back, piece + k2, n, k2 < count);
                let b3 = weights(owner, back, piece + k3, n, k3 < count);
                c = added_block(c, b0, operand(k));
                if k1 < count {
                    c = added_block(c, b1, operand(k1));
                }
                if k2 < count {
                    c = added_block(c, b2, operand(k2));
                }
                if k3 < count {
                    c = added_block(c, b3, operand(k3));
                }
            }
        }
        let first_sum = select(local % chunk, (local % chunk) * slices, back) + (local / chunk) * THREADS;
        let pitch = select(chunk, 1u, back);
        for (var half = 0u; half < 2u; half += 1u) {
            if busy {
                sums[local] = select(c[0], c[2], half == 1u);
                sums[THREADS + local] = select(c[1], c[3], half == 1u);
            }
            workgroupBarrier();
            if own {
                var sum = vec4<f32>();
                for (var s = 0u; s < slices; s += 4u) {
                    // Four loads on their way.
                    let last = slices - 1u;
                    let sum1 = sums[first_sum + min(s + 1u, last) * pitch];
                    let sum2 = sums[first_sum + min(s + 2u, last) * pitch];
                    let sum3 = sums[first_sum + min(s + 3u, last) * pitch];
                    sum += sums[first_sum + s * pitch];
                    sum += select(vec4<f32>(), sum1, s + 1u < slices);
                    sum += select(vec4<f32>(), sum2, s + 2u < slices);
                    sum += select(vec4<f32>(), sum3, s + 3u < slices);
                }
                let kept = select(upper_kept, lower_kept, half == 1u);
                if back {
                    store_deltas(l - 1u, lane + 2u * half, block, sum, kept);
                } else {
                    store_outputs(l, lane + 2u * half, block, sum + kept);
                }
            }
            workgroupBarrier();
        }
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
        let total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        metrics[record.slot * pieces(params.capacity, ROWS) + tile] = total.xy;
    }
}
