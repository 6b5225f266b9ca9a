// cross_entropy_probabilities: loss[r] = sum over c of Q[r, c] (log sum exp Z[r] - Z[r, c])
// Z (logits), Q (target probabilities) [rows, classes] f32 in rows of vec4s, loss [rows] f32
// LANES threads share a row, ROWS rows per workgroup; workgroups stride over the rows.
// Dead rows only keep the barriers and are not written.
//#include blocks
//#include record
//#include row_statistics
@group(0) @binding(2) var<storage, read> targets: array<f32>;
@group(0) @binding(3) var<storage, read_write> loss: array<f32>;

@compute @workgroup_size(LANES, ROWS)
fn cross_entropy_probabilities(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let stride = 4u * blocks(params.classes);
    for (var first = group.x * ROWS; first < record.rows; first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        let statistics = row_statistics(row, live, thread);
        let log_sum_exp = statistics.maximum + log(statistics.sum);
        var partial = 0.0;
        if live {
            for (var c = thread.x; c < params.classes; c += LANES) {
                partial += targets[row * stride + c] * (log_sum_exp - logits[row * stride + c]);
            }
        }
        let total = reduce_row(SUM, thread, partial);
        if live && thread.x == 0u {
            loss[row] = total;
        }
    }
}
