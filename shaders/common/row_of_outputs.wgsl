// Loss of a row from the outputs of the last layer, and its gradient with respect to them.

fn outputs_of_network() -> u32 {
    return layer_at(layers() - 1u).outputs;
}

// Target probabilities of the target's class, and of every other.
fn target_probabilities() -> vec2<f32> {
    return vec2<f32>(params.own_target, params.other_target);
}

// Returns a block of outputs of the last layer, padded with -infinity.
fn last_outputs(lane: u32, block: u32) -> vec4<f32> {
    let last = layer_at(layers() - 1u);
    let values = held_or_stored(lane, block, last.place, blocks(last.outputs));
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(lowest()), values, column < vec4<u32>(last.outputs));
}

// Statistics of all outputs of a row that its loss needs.
struct Statistics {
    largest: f32,
    sum: f32,        // of exp(z - largest)
    prediction: u32, // index of the first maximum; NaN is larger than any number
}

// Returns the largest output, and its index.
fn largest_of(lane: u32) -> Statistics {
    let width = blocks(outputs_of_network());
    var row = Statistics(lowest(), 0.0, 0u);
    for (var block = 0u; block < width; block += 1u) {
        let z = last_outputs(lane, block);
        for (var i = 0u; i < 4u; i += 1u) {
            let larger = !is_nan(row.largest) & (is_nan(z[i]) | (z[i] > row.largest));
            row.largest = select(row.largest, z[i], larger);
            row.prediction = select(row.prediction, 4u * block + i, larger);
        }
    }
    return row;
}

// Adds the sum to the statistics of a row whose largest output is known.
fn with_sum(lane: u32, known: Statistics) -> Statistics {
    let width = blocks(outputs_of_network());
    var row = known;
    for (var block = 0u; block < width; block += 1u) {
        // Beyond the outputs this is exp(-infinity).
        let z = last_outputs(lane, block);
        let e = exp(z - row.largest);
        row.sum += (e.x + e.y) + (e.z + e.w);
    }
    return row;
}

fn statistics_of(lane: u32) -> Statistics {
    return with_sum(lane, largest_of(lane));
}

// The same without the prediction. If an output is NaN, the maximum may be wrong; the sum is then NaN, and so are all results.
fn softmax_of(lane: u32) -> Statistics {
    let width = blocks(outputs_of_network());
    var most = vec4<f32>(lowest());
    for (var block = 0u; block < width; block += 1u) {
        most = max(most, last_outputs(lane, block));
    }
    return with_sum(lane, Statistics(max(max(most.x, most.y), max(most.z, most.w)), 0.0, 0u));
}

// Computes a block of the deltas of the outputs of a live row; returns its share of the scaled loss.
fn loss_block(lane: u32, block: u32, source: u32, class_of_row: u32, row: Statistics) -> f32 {
    let outputs = outputs_of_network();
    let width = blocks(outputs);
    let weight = row_weight(source);
    let terms = select(1.0, f32(outputs), PER_OUTPUT);
    let place = layer_at(layers() - 1u).place + deltas() + (first + lane) * width;
    let z = last_outputs(lane, block);
    var loss = 0.0;
    var d = vec4<f32>();
    for (var i = 0u; i < 4u; i += 1u) {
        let column = 4u * block + i;
        let t = target_of(source, class_of_row, min(column, outputs - 1u));
        let label = label_of(t, class_of_row, column);
        loss += select(0.0, loss_term(z[i], label, row.largest, row.sum, column), column < outputs);
        d[i] = loss_slope(z[i], t, row.largest, row.sum, column);
    }
    d = inside(d * (weight / (f32(record.rows) * terms)), block, outputs);
    hold(lane, block, width, d);
    store(place + block, d);
    if CLASSES {
        // A target that is not a class has probability 0.
        loss = select(loss, -lowest(), class_of_row >= outputs);
    }
    return loss * (weight * LOSS_SCALE / terms);
}
