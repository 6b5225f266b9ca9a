// A layer whose weights are the operand B of a product: W [inputs, outputs] in `parameters`, followed by its bias; and the
// activation and dropout of the units that are computed or differentiated.
//#include member
struct Params {
    inputs: u32,
    outputs: u32,
    offset: u32,    // of W in `parameters`, in vec4s
    samples: u32,   // rows of the data set, if inputs are read from it
    kept: u32,      // distance from activations to their pre-activations, in vec4s
    layer: u32,     // of dropout
    threshold: u32, // see dropout_numbers
    scale: f32,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> parameters: array<vec4<f32>>;

// Threshold of dropout, and the bits of its scale.
fn dropout_numbers() -> vec2<u32> {
    return member_numbers(vec2<u32>(params.threshold, bitcast<u32>(params.scale)));
}

fn b_row(row: u32, block: u32) -> vec4<f32> {
    let live = (row < params.inputs) & (block < blocks(params.outputs));
    let index = member_start(2u) + params.offset + row * blocks(params.outputs) + block;
    return select(vec4<f32>(), parameters[select(0u, index, live)], live);
}
