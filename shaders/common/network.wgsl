// One network: its layers, and where each keeps what belongs to it.
//#include layer_table
struct Params {
//#include network_fields
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
