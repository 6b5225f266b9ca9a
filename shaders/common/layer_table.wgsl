// What a kernel that does many layers in one dispatch knows of a layer. It knows matrices by places in two buffers:
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
