// log_sum_exp: Y[r] = log sum exp Z[r] = max Z[r] + log sum exp(Z[r] - max Z[r])
// Z (logits) [rows, classes] f32 in rows of vec4s, Y [rows] f32
// LANES threads share a row, ROWS rows per workgroup; workgroups stride over the rows.
// Dead rows only keep the barriers and are not written.
//#include blocks
//#include record
//#include row_statistics
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(LANES, ROWS)
fn log_sum_exp(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    for (var first = group.x * ROWS; first < record.rows; first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        let statistics = row_statistics(row, live, thread);
        if live && thread.x == 0u {
            y[row] = statistics.maximum + log(statistics.sum);
        }
    }
}
