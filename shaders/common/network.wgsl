// One network: its layers, and the places of their data.
//#include layer_table
struct Params {
//#include network_fields
    network: array<Layer, 64>,
}
@group(0) @binding(0) var<uniform> params: Params;

// Start of row `row` of the partial sums of a part of the inputs, in vec4s.
fn partial_row(part: u32, row: u32) -> u32 {
    return params.partials + (part * params.capacity + row) * blocks(params.network[0].outputs);
}

// Number of pieces of `size` that cover n.
fn pieces(n: u32, size: u32) -> u32 {
    return (n + size - 1u) / size;
}
