// Operations after the products of a layer with the rows of a batch: its outputs and, in the backward pass, its deltas, stored
// in the places of `network`. The kernel defines its rows, starting at `first`, and how they are held and stored.

// Stores the outputs of layer `l` from its products with the inputs and its bias; the last layer has no activation.
fn store_outputs(l: u32, lane: u32, block: u32, values: vec4<f32>) {
    let outputs = layer_at(l).outputs;
    let width = blocks(outputs);
    let row = first + lane;
    let index = layer_at(l).place + row * width + block;
    var result = values;
    if l + 1u < layers() {
        let kind = layer_at(l).activation;
        if activation_keeps_z(kind) && is_live(lane) {
            store(index + deltas(), inside(result, block, outputs));
        }
        result = activation_value(kind, result);
        if DROPOUT {
            result = dropped(result, l, row, block, layer_at(l).threshold, layer_at(l).scale);
        }
    }
    result = inside(result, block, outputs);
    hold(lane, block, width, result);
    if is_live(lane) {
        store(index, result);
    }
}

// Returns the value that layer `l` kept for its deltas, of a live row. This thread has stored it itself.
fn kept_value(l: u32, lane: u32, block: u32) -> vec4<f32> {
    let index = layer_at(l).place + (first + lane) * blocks(layer_at(l).outputs) + block;
    let keeps_z = activation_keeps_z(layer_at(l).activation);
    var value = stored(index + select(0u, deltas(), keeps_z));
    if DROPOUT && !keeps_z {
        value /= layer_at(l).scale;
    }
    return value;
}

// Stores the deltas of layer `l` from the gradient with respect to its outputs.
fn store_deltas(l: u32, lane: u32, block: u32, gradient: vec4<f32>, kept: vec4<f32>) {
    let outputs = layer_at(l).outputs;
    let width = blocks(outputs);
    let row = first + lane;
    var result = gradient;
    if DROPOUT {
        result = dropped(result, l, row, block, layer_at(l).threshold, layer_at(l).scale);
    }
    result = inside(activation_gradient(layer_at(l).activation, result, kept), block, outputs);
    hold(lane, block, width, result);
    if is_live(lane) {
        store(layer_at(l).place + deltas() + row * width + block, result);
    }
}
