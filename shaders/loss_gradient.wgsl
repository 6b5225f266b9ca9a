// loss_gradient: D = the gradient with respect to the outputs Z of the batch's loss, the mean over its rows of weight * loss;
// and
//   the loss (of the labels, even if D is of smoothed ones)
// Z, D [rows, outputs] f32 in rows of vec4s; targets (of the data set, by `order` [samples] u32, or of the batch)
// metrics [slots, z, workgroups] of (scaled sum of weight * loss, number correct) over the rows of that workgroup
// LANES threads share a row, ROWS rows per workgroup; workgroups stride over the rows.
// Dead rows only take part in barriers and count 0; the padding of D is written as 0.
//#include blocks
//#include record
//#include row_metrics
//#include samples
//#include loss
//#include targets
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(RESULT) var<storage, read_write> delta: array<f32>;
@group(0) @binding(RESULT + 1) var<storage, read_write> metrics: array<vec2<f32>>;

override WEIGHTED: bool = false;

fn outputs_of_network() -> u32 {
    return params.classes;
}

@compute @workgroup_size(LANES, ROWS)
fn loss_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    begin_member(group);
    let stride = 4u * blocks(params.classes);
    let terms = select(1.0, f32(params.classes), PER_OUTPUT);
    let divisor = f32(record.rows) * terms;
    var loss = 0.0;
    var correct = 0.0;
    for (var first = group.x * ROWS; first < batch_rows(group.z); first += groups.x * ROWS) {
        let row = first + thread.y;
        let live = row < record.rows;
        var statistics = RowStatistics();
        var prediction = 0u;
        if NEEDS_SOFTMAX {
            statistics = row_statistics(row, live, thread);
            prediction = row_prediction(row, live, statistics.maximum, thread);
        }
        if live {
            let source = sample(row);
            let class_of_row = target_class(source);
            let weight = row_weight(source);
            var sum = 0.0;
            for (var c = thread.x; c < stride; c += LANES) {
                var d = 0.0;
                if c < params.classes {
                    let z = logits[logits_start(1u, row) + c];
                    let t = target_of(source, class_of_row, c);
                    let label = label_of(t, class_of_row, c);
                    sum += loss_term(z, label, statistics.maximum, statistics.sum, c);
                    d = weight * loss_slope(z, t, statistics.maximum, statistics.sum, c) / divisor;
                }
                delta[logits_start(u32(RESULT), row) + c] = d;
            }
            if CLASSES && thread.x == 0u {
                // A target that is not a class has probability 0.
                sum = select(sum, -lowest(), class_of_row >= params.classes);
                correct += f32(prediction == class_of_row);
            }
            loss += sum * (weight * LOSS_SCALE / terms);
        }
    }
    write_metrics(group, groups, thread, loss, correct);
}
