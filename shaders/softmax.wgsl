// softmax: P = exp(Z - max Z) / sum exp(Z - max Z) by rows; with LOG, P = Z - max Z - log sum exp(Z - max Z)
// Z (logits), P (probabilities, or their logarithms) [rows, classes]; f32, rows of vec4s
// LANES threads share a row, ROWS rows per workgroup; workgroups stride over the rows.
// Dead rows only take part in barriers; the padding of P is written as 0.
//#include blocks
//#include record
//#include row_statistics
@group(0) @binding(2) var<storage, read_write> probabilities: array<f32>;

override LOG: bool = false;

@compute @workgroup_size(LANES, ROWS)
fn softmax(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let stride = 4u * blocks(params.classes);
    for (var first = group.x * ROWS; first < record.rows; first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        let statistics = row_statistics(row, live, thread);
        if live {
            for (var c = thread.x; c < stride; c += LANES) {
                var p = 0.0;
                if c < params.classes {
                    let shifted = logits[row * stride + c] - statistics.maximum;
                    if LOG {
                        p = shifted - log(statistics.sum);
                    } else {
                        p = exp(shifted) / statistics.sum;
                    }
                }
                probabilities[row * stride + c] = p;
            }
        }
    }
}
