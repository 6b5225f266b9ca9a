// Description of a layer for kernels that process many layers in one dispatch. Matrices are places in two buffers:
//   parameters   all weights and biases, followed by the partial sums of the first layer, [parts, capacity, outputs], and
//                by the optimizer's state, in the form of the weights and biases
//   activations  the outputs of every layer, [capacity, outputs] each, followed by their deltas in the same form; between
//                the forward and the backward pass, the deltas of a layer whose activation is differentiated by its
//                pre-activations hold these instead
struct Layer {
    inputs: u32,
    outputs: u32,
    offset: u32,      // of its weights in `parameters`, in vec4s
    place: u32,       // of its outputs in `activations`, in vec4s
    activation: u32,  // index in the network's activations
    threshold: u32,   // of dropout; 0 for none
    scale: f32,
    weight_rate: f32, // factor of the learning rate
    bias_rate: f32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
