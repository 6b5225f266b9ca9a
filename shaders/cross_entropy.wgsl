// cross_entropy: loss[r] = max Z + log sum exp(Z - max Z) - Z[target], prediction[r] = first class of the largest logit
// Z (logits) [rows, classes] f32 in rows of vec4s, targets [rows] u32, predictions [samples] u32,
// metrics [slots, z, workgroups] of (scaled sum of loss, number correct) over the rows of that workgroup
// LANES threads share a row, ROWS rows per workgroup; workgroups stride over the rows. Dead rows count 0.
//#include blocks
//#include record
//#include row_metrics
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> predictions: array<u32>;
@group(0) @binding(4) var<storage, read_write> metrics: array<vec2<f32>>;

@compute @workgroup_size(LANES, ROWS)
fn cross_entropy(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    begin_member(group);
    var loss = 0.0;
    var correct = 0.0;
    for (var first = group.x * ROWS; first < batch_rows(group.z); first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        let statistics = row_statistics(row, live, thread);
        let prediction = row_prediction(row, live, statistics.maximum, thread);
        if live && thread.x == 0u {
            let label = targets[row];
            loss += row_loss(row, label, statistics);
            correct += f32(prediction == label);
            predictions[4u * member_start(3u) + record.output + row] = prediction;
        }
    }
    write_metrics(group, groups, thread, loss, correct);
}
