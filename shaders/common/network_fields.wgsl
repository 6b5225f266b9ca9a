    layers: u32,
    capacity: u32,     // most rows of a batch
    partials: u32,     // start of the partial sums in `parameters`, in vec4s
    deltas: u32,       // distance from a layer's outputs to its deltas, in vec4s
    parts: u32,        // number of parts of the inputs
    part: u32,         // blocks of inputs of a part
    down: u32,         // blocks of a tile of the matmul body
    across: u32,
    samples: u32,      // rows of the data set
    state: u32,        // distance from a parameter to its optimizer state, in vec4s
    region: u32,       // distance from the first to the second number of state
    bias_decay: f32,   // factor of the weight decay
    own_target: f32,   // target probability of the target's class
    other_target: f32, // and of every other
    unused0: u32,
    unused1: u32,
