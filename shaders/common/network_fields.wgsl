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
    unused0: u32,
    unused1: u32,
