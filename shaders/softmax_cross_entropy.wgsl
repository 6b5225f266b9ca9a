// softmax_cross_entropy: D = (softmax(Z) - onehot(target)) / rows, the gradient of the batch's mean loss; and its loss
// Z (logits), D (delta) [rows, classes] f32 in rows of vec4s, labels and order [samples] u32, target = labels[order[..]]
// metrics [slots, workgroups] of (scaled sum of loss, number correct) over the rows of that workgroup
// LANES threads share a row, ROWS rows a workgroup; workgroups stride over the rows.
// Dead rows only keep the barriers and count 0; the padding of D is written as 0.
//#include blocks
//#include record
//#include loss
//#include samples_order
@group(0) @binding(2) var<storage, read> labels: array<u32>;
@group(0) @binding(RESULT) var<storage, read_write> delta: array<f32>;
@group(0) @binding(RESULT + 1) var<storage, read_write> metrics: array<vec2<f32>>;

@compute @workgroup_size(LANES, ROWS)
fn softmax_cross_entropy(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let stride = 4u * blocks(params.classes);
    var loss = 0.0;
    var correct = 0.0;
    for (var first = group.x * ROWS; first < record.rows; first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        let statistics = row_statistics(row, live, thread);
        let prediction = row_prediction(row, live, statistics.maximum, thread);
        if live {
            let label = labels[sample(row)];
            for (var c = thread.x; c < stride; c += LANES) {
                var d = 0.0;
                if c < params.classes {
                    let p = exp(logits[row * stride + c] - statistics.maximum) / statistics.sum;
                    d = (p - f32(c == label)) / f32(record.rows);
                }
                delta[row * stride + c] = d;
            }
            if thread.x == 0u {
                loss += row_loss(row, label, statistics);
                correct += f32(prediction == label);
            }
        }
    }
    write_metrics(group, groups, thread, loss, correct);
}
