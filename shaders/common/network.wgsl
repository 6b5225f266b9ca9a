// The layers of a network and where each keeps what belongs to it, for the kernels that do many layers in one dispatch.
// They know matrices by places in two buffers:
//   parameters   all weights and biases, and behind them the partial sums of the first layer, [parts, capacity, outputs]
//   activations  the outputs of every layer, [capacity, outputs] each, and behind them their deltas likewise
struct Layer {
    inputs: u32,
    outputs: u32,
    offset: u32, // of its weights in `parameters`, in vec4s
    place: u32,  // of its outputs in `activations`, in vec4s
}
struct Params {
    layers: u32,
    capacity: u32, // most rows of a batch
    partials: u32, // where they begin in `parameters`, in vec4s
    deltas: u32,   // how far behind its outputs the deltas of a layer stand, in vec4s
    parts: u32,    // into which the inputs are split
    part: u32,     // blocks of inputs of a part
    down: u32,     // blocks of a tile of the matmul body
    across: u32,
    rate: f32,     // learning rate
    unused0: u32,
    unused1: u32,
    unused2: u32,
    network: array<Layer, 64>,
}
@group(0) @binding(0) var<uniform> params: Params;

// Row `row` of the partial sums of a part of the inputs, in vec4s.
fn partial_row(part: u32, row: u32) -> u32 {
    return params.partials + (part * params.capacity + row) * blocks(params.network[0].outputs);
}

// So many of `size` cover n.
fn pieces(n: u32, size: u32) -> u32 {
    return (n + size - 1u) / size;
}
