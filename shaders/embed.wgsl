// embed: X = E s for the rows of the batch, with E the inputs computed from the columns of a table
// T [rows, columns], X [rows, inputs], followed by E with SCALE, f32 in rows of vec4s; parameters: weights of the columns, s
// A thread owns the inputs of a column of a row, for the last column also the padding, which is written as 0.
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
    scale: u32,   // start of s, in vec4s
    kept: u32,    // distance from X to E
    last: u32,    // the number of the last column
    unused0: u32,
    unused1: u32,
    table: array<Column, 128>,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> t: array<f32>;
@group(0) @binding(2) var<storage, read> parameters: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> x: array<f32>;

override SCALE: bool = false;

// A vec4 of the parameters.
fn weight(index: u32) -> vec4<f32> {
    return parameters[member_start(2u) + index];
}

// Stores input `input` of the row that begins at `start`.
fn put(start: u32, input: u32, value: f32) {
    if SCALE {
        x[params.kept + start + input] = value;
        x[start + input] = value * parameters[member_start(2u) + params.scale + input / 4u][input % 4u];
    } else {
        x[start + input] = value;
    }
}

fn put_periodic(start: u32, column: Column, value: f32) {
    put(start, column.input, value);
    var sums = vec3<f32>();
    for (var k = 0u; k < FREQUENCY_BLOCKS; k += 1u) {
        let at = column.weights + k;
        let wave = cosine(value * weight(at) + weight(at + FREQUENCY_BLOCKS));
        sums += vec3<f32>(
            dot(wave, weight(at + 2u * FREQUENCY_BLOCKS)),
            dot(wave, weight(at + 3u * FREQUENCY_BLOCKS)),
            dot(wave, weight(at + 4u * FREQUENCY_BLOCKS)),
        );
    }
    let mixed = sums + weight(column.weights + 5u * FREQUENCY_BLOCKS).xyz;
    for (var k = 0u; k < MIXED; k += 1u) {
        put(start, column.input + 1u + k, mixed[k]);
    }
}

fn put_category(start: u32, column: Column, value: f32) {
    let found = category(value, column.categories);
    if column.weights == NO_WEIGHTS {
        for (var k = 0u; k < column.size; k += 1u) {
            put(start, column.input + k, select(0.0, 1.0, k == found));
        }
        return;
    }
    let width = blocks(column.size);
    for (var block = 0u; block < width; block += 1u) {
        var values = vec4<f32>();
        if found < column.categories {
            values = weight(column.weights + found * width + block);
        }
        for (var k = 4u * block; k < min(column.size, 4u * block + 4u); k += 1u) {
            put(start, column.input + k, values[k % 4u]);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn embed(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    begin_member(group);
    let i = element(group, groups, thread);
    if i < record.rows * params.count {
        let row = i / params.count;
        let column = params.table[i % params.count];
        let value = t[4u * row * blocks(params.columns) + column.number];
        let start = 4u * (member_start(3u) + row * blocks(params.inputs));
        if column.categories > 0u {
            put_category(start, column, value);
        } else if column.size > 1u {
            put_periodic(start, column, value);
        } else {
            put(start, column.input, value);
        }
        if column.number == params.last {
            for (var k = params.inputs; k < 4u * blocks(params.inputs); k += 1u) {
                x[start + k] = 0.0;
            }
        }
    }
}
