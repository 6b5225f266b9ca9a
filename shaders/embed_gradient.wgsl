// embed_gradient: gradient with respect to the weights of the columns of a table; stored, or applied at once by the optimizer
// T [rows, columns], dX [rows, inputs], f32 in rows of vec4s; parameters: weights of the columns, s with SCALE; result
// A thread owns a vec4 of a row of an embedding, or four frequencies of a column with their phases and mixing weights, or the
// biases of its inputs; it processes the batch in order. Threads beyond the last do nothing.
//#include blocks
//#include record
//#include elementwise
//#include wave
//#include input_columns
//#include member
struct Params {
    columns: u32, // numbers of a row
    inputs: u32,
    count: u32,   // columns in the table
    units: u32,   // threads with weights
    scale: u32,   // start of s, in vec4s
    state: u32,   // distance from a parameter to its optimizer state, in vec4s
    region: u32,  // distance from the first to the second number of state
    rate: f32,    // factor of the learning rate
    table: array<Column, 128>,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> t: array<f32>;
@group(0) @binding(2) var<storage, read> dx: array<f32>;
@group(0) @binding(RESULT) var<storage, read_write> result: array<vec4<f32>>;
//#include parameter
//#include weights

override SCALE: bool = false;

// Returns s of an input.
fn factor(input: u32) -> f32 {
    if SCALE {
        return weight_number(params.scale + input / 4u, input % 4u);
    }
    return 1.0;
}

fn table_value(row: u32, column: Column) -> f32 {
    return t[4u * row * blocks(params.columns) + column.number];
}

// Start of the gradients with respect to the inputs of a row.
fn gradient_start(row: u32) -> u32 {
    return 4u * (member_start(2u) + row * blocks(params.inputs));
}

// Gradients with respect to the three mixed inputs of a row.
fn mixed_gradient(row: u32, column: Column, factors: vec3<f32>) -> vec3<f32> {
    let at = gradient_start(row) + column.input + 1u;
    return factors * vec3<f32>(dx[at], dx[at + 1u], dx[at + 2u]);
}

fn load(index: u32) -> Parameter {
    return load_parameter(member_start(RESULT) + index);
}

fn store(index: u32, old: Parameter, gradient: vec4<f32>) {
    store_parameter(member_start(RESULT) + index, updated(old, gradient, record.rate * params.rate, record.decay));
}

fn of_frequencies(column: Column, k: u32, factors: vec3<f32>) {
    let at = column.weights + k;
    var old = array<Parameter, 5>();
    var known = array<vec4<f32>, 5>();
    for (var i = 0u; i < 5u; i += 1u) {
        old[i] = load(at + i * FREQUENCY_BLOCKS);
        known[i] = value_of(old[i], at + i * FREQUENCY_BLOCKS);
    }
    var sums = array<vec4<f32>, 5>();
    for (var row = 0u; row < record.rows; row += 1u) {
        let value = table_value(row, column);
        let de = mixed_gradient(row, column, factors);
        let turns = value * known[0] + known[1];
        let wave = cosine(turns);
        let slope = sine(turns) * (known[2] * de.x + known[3] * de.y + known[4] * de.z) * -6.283185;
        sums[0] += slope * value;
        sums[1] += slope;
        sums[2] += wave * de.x;
        sums[3] += wave * de.y;
        sums[4] += wave * de.z;
    }
    for (var i = 0u; i < 5u; i += 1u) {
        store(at + i * FREQUENCY_BLOCKS, old[i], sums[i]);
    }
}

fn of_biases(column: Column, factors: vec3<f32>) {
    let index = column.weights + 5u * FREQUENCY_BLOCKS;
    let old = load(index);
    var sum = vec3<f32>();
    for (var row = 0u; row < record.rows; row += 1u) {
        sum += mixed_gradient(row, column, factors);
    }
    store(index, old, vec4<f32>(sum, 0.0));
}

fn of_embedding(column: Column, found: u32, block: u32) {
    let index = column.weights + found * blocks(column.size) + block;
    let old = load(index);
    let live = min(column.size - 4u * block, 4u);
    var factors = vec4<f32>();
    for (var k = 0u; k < live; k += 1u) {
        factors[k] = factor(column.input + 4u * block + k);
    }
    var sum = vec4<f32>();
    for (var row = 0u; row < record.rows; row += 1u) {
        if category(table_value(row, column), column.categories) == found {
            let at = gradient_start(row) + column.input + 4u * block;
            for (var k = 0u; k < live; k += 1u) {
                sum[k] += factors[k] * dx[at + k];
            }
        }
    }
    store(index, old, sum);
}

@compute @workgroup_size(WORKGROUP)
fn embed_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    begin_member(group);
    let i = element(group, groups, thread);
    if i < params.units {
        var column = params.table[0];
        for (var c = 1u; c < params.count; c += 1u) {
            if i >= params.table[c].unit {
                column = params.table[c];
            }
        }
        let unit = i - column.unit;
        if column.categories > 0u {
            of_embedding(column, unit / blocks(column.size), unit % blocks(column.size));
            return;
        }
        let input = column.input + 1u;
        let factors = vec3<f32>(factor(input), factor(input + 1u), factor(input + 2u));
        if unit < FREQUENCY_BLOCKS {
            of_frequencies(column, unit, factors);
        } else {
            of_biases(column, factors);
        }
    }
}
