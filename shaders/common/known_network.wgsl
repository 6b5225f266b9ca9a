// Sizes of the network as override constants, if the code is specialised for one network: derived sizes become constants, loops
// of one turn disappear, and nothing waits for the uniform. With LAYERS = 0 the code is for any network, with sizes in the
// uniform.
override LAYERS: u32 = 0u; // at most 4
override INPUTS: u32 = 0u;
override UNITS_0: u32 = 0u;
override UNITS_1: u32 = 0u;
override UNITS_2: u32 = 0u;
override UNITS_3: u32 = 0u;
override PARTS: u32 = 0u;
override PARTIALS: u32 = 0u;
override CAPACITY: u32 = 0u;

fn layers() -> u32 {
    return select(LAYERS, params.layers, LAYERS == 0u);
}

fn parts_of_inputs() -> u32 {
    return select(PARTS, params.parts, LAYERS == 0u);
}

fn capacity() -> u32 {
    return select(CAPACITY, params.capacity, LAYERS == 0u);
}

// Blocks of the outputs of the first `l` layers together.
fn blocks_below(l: u32) -> u32 {
    return select(0u, blocks(UNITS_0), l > 0u) + select(0u, blocks(UNITS_1), l > 1u)
        + select(0u, blocks(UNITS_2), l > 2u) + select(0u, blocks(UNITS_3), l > 3u);
}

fn deltas() -> u32 {
    return select(CAPACITY * blocks_below(LAYERS), params.deltas, LAYERS == 0u);
}

fn units_of(l: u32) -> u32 {
    return select(select(UNITS_0, UNITS_1, l == 1u), select(UNITS_2, UNITS_3, l == 3u), l > 1u);
}

// vec4s of the weights and biases of the first `l` layers, at most all but the last.
fn parameters_below(l: u32) -> u32 {
    return select(0u, (INPUTS + 1u) * blocks(UNITS_0), l > 0u) + select(0u, (UNITS_0 + 1u) * blocks(UNITS_1), l > 1u)
        + select(0u, (UNITS_1 + 1u) * blocks(UNITS_2), l > 2u);
}

fn layer_at(l: u32) -> Layer {
    let it = params.network[l];
    let known = LAYERS > 0u;
    return Layer(
        select(it.inputs, select(INPUTS, units_of(max(l, 1u) - 1u), l > 0u), known),
        select(it.outputs, units_of(l), known),
        select(it.offset, parameters_below(l), known),
        select(it.place, CAPACITY * blocks_below(l), known),
        it.activation,
        it.threshold,
        it.scale,
        it.weight_rate,
        it.bias_rate,
        0u,
        0u,
        0u,
    );
}

// Start of row `row` of the partial sums of the first part of the inputs, in vec4s.
fn first_sums_of(row: u32) -> u32 {
    return select(PARTIALS, params.partials, LAYERS == 0u) + row * blocks(layer_at(0u).outputs);
}
