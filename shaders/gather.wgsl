// gather: X[r] = features[order[first + r]], targets[r] = labels[order[first + r]] for the rows r of the batch
// features [samples, inputs] bytes or f32 in rows of four, labels and order [samples] u32, X [rows, inputs] f32, rows of vec4s
// A thread owns one vec4 of X, the first of a row also its target; threads beyond the batch do nothing.
//#include blocks
//#include record
//#include elementwise
//#include features
//#include samples_order
struct Params {
    inputs: u32,
    unused0: u32,
    unused1: u32,
    unused2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(RESULT) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(RESULT + 1) var<storage, read_write> targets: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn gather(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    let width = blocks(params.inputs);
    if i < record.rows * width {
        let row = i / width;
        let block = i % width;
        let source = sample(row);
        x[i] = feature(source * width + block);
        if block == 0u {
            targets[row] = labels[source];
        }
    }
}
