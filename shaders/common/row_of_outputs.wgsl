// The loss of a row from the outputs of the last layer, and its gradient by them.

fn outputs_of_network() -> u32 {
    return params.network[params.layers - 1u].outputs;
}

// A block of outputs of the last layer; what lies beyond them is -infinity.
fn last_outputs(lane: u32, block: u32) -> vec4<f32> {
    let last = params.network[params.layers - 1u];
    let values = held_or_stored(lane, block, last.place, blocks(last.outputs));
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(lowest()), values, column < vec4<u32>(last.outputs));
}

// Makes the delta of the outputs of one row that is live; gives its scaled loss, and 1 if it is classified correctly.
fn loss_row(lane: u32, source: u32, class_of_row: u32) -> vec2<f32> {
    let outputs = outputs_of_network();
    let width = blocks(outputs);
    let weight = row_weight(source);
    let terms = select(1.0, f32(outputs), PER_OUTPUT);
    var largest = lowest();
    var sum = 0.0;
    var prediction = outputs;
    if NEEDS_SOFTMAX {
        for (var block = 0u; block < width; block += 1u) {
            let z = last_outputs(lane, block);
            largest = maximum(largest, maximum(maximum(z.x, z.y), maximum(z.z, z.w)));
        }
        for (var block = 0u; block < width; block += 1u) {
            let z = last_outputs(lane, block);
            let e = inside(exp(z - largest), block, outputs);
            sum += (e.x + e.y) + (e.z + e.w);
            for (var i = 0u; i < 4u; i += 1u) {
                prediction = select(prediction, min(prediction, 4u * block + i), same(z[i], largest));
            }
        }
    }
    var loss = 0.0;
    let place = params.network[params.layers - 1u].place + params.deltas + (first + lane) * width;
    for (var block = 0u; block < width; block += 1u) {
        let z = last_outputs(lane, block);
        var d = vec4<f32>();
        for (var i = 0u; i < 4u; i += 1u) {
            let column = 4u * block + i;
            if column < outputs {
                let t = target_of(source, class_of_row, column);
                loss += loss_term(z[i], t, largest, sum);
                d[i] = weight * loss_slope(z[i], t, largest, sum) / (f32(record.rows) * terms);
            }
        }
        hold(lane, block, width, d);
        store(place + block, d);
    }
    if CLASSES {
        // A target that is no class has probability 0.
        loss = select(loss, -lowest(), class_of_row >= outputs);
    }
    return vec2<f32>(loss * (weight * LOSS_SCALE / terms), f32(CLASSES && prediction == class_of_row));
}
