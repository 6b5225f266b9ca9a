// gather: X[r] = features[order[first + r]], Y[r] = targets[order[first + r]] for the rows r of the batch
// features [samples, inputs] bytes or f32 in rows of four, targets [samples, words] and order [samples] u32,
// X [rows, inputs] f32 in rows of vec4s, Y [rows, words] u32
// A thread owns one vec4 of X, and the first of a row also its targets; threads beyond the batch do nothing.
//#include blocks
//#include record
//#include elementwise
//#include features
//#include samples_order
//#include member
struct Params {
    inputs: u32,
    samples: u32, // rows of the data set
    words: u32,   // of a row's targets
    unused: u32,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(RESULT) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(RESULT + 1) var<storage, read_write> batch_targets: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn gather(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    begin_member(group);
    let i = element(group, groups, thread);
    let width = blocks(params.inputs);
    if i < record.rows * width {
        let row = i / width;
        let block = i % width;
        let source = sample(row);
        x[i] = feature(source * width + block);
        if block == 0u {
            for (var word = 0u; word < params.words; word += 1u) {
                batch_targets[row * params.words + word] = targets[source * params.words + word];
            }
        }
    }
}
