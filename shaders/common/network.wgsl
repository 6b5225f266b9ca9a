// The layers of a network and where each keeps what belongs to it, for the kernels that do many layers in one dispatch.
// They know matrices by places in two buffers:
//   parameters   all weights and biases, behind them the partial sums of the first layer, [parts, capacity, outputs], and
//                behind those the optimizer's state, in the form of the weights and biases
//   activations  the outputs of every layer, [capacity, outputs] each, and behind them their deltas likewise; from the
//                forward pass to the backward pass a layer whose activation is differentiated by its pre-activations keeps
//                them where its deltas go
struct Layer {
    inputs: u32,
    outputs: u32,
    offset: u32,      // of its weights in `parameters`, in vec4s
    place: u32,       // of its outputs in `activations`, in vec4s
    activation: u32,  // which of those that the network has
    threshold: u32,   // of dropout; 0 for none
    scale: f32,
    weight_rate: f32, // factor of the learning rate
    bias_rate: f32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
struct Params {
    layers: u32,
    capacity: u32,     // most rows of a batch
    partials: u32,     // where they begin in `parameters`, in vec4s
    deltas: u32,       // how far behind its outputs the deltas of a layer stand, in vec4s
    parts: u32,        // into which the inputs are split
    part: u32,         // blocks of inputs of a part
    down: u32,         // blocks of a tile of the matmul body
    across: u32,
    samples: u32,      // rows of the data set
    state: u32,        // how far behind a parameter its optimizer state stands, in vec4s
    region: u32,       // how far behind that the second number
    bias_decay: f32,   // factor of the weight decay
    own_target: f32,   // probability that a target gives its class
    other_target: f32, // and every other
    batch: u32,        // where the inputs of the batch stand behind the parameters, for a kernel that keeps them there
    unused1: u32,
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
