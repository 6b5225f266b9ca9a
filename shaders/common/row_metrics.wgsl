// Cross-entropy of one row from its logits, the predicted class, and the sums over rows.
//#include row_statistics
//#include loss_scale

// -log softmax(z)[target] = max + log(sum exp(z - max)) - z[target]. Targets come from the data: a value that is not a class
// reads the last logit, and has probability 0, which gives an infinite loss. Scaled for metrics.
fn row_loss(row: u32, target_class: u32, statistics: RowStatistics) -> f32 {
    let last = params.classes - 1u;
    let logit = logits[logits_start(1u, row) + min(target_class, last)];
    let target_logit = select(lowest(), logit, target_class <= last);
    return (statistics.maximum + log(statistics.sum) - target_logit) * LOSS_SCALE;
}

// Returns the first class whose logit is the row's maximum, which is NaN if a logit is NaN. Classes are below 2^24, where f32
// is exact.
fn row_prediction(row: u32, live: bool, row_maximum: f32, thread: vec3<u32>) -> u32 {
    let start = logits_start(1u, row);
    var first = params.classes - 1u;
    if live {
        for (var c = thread.x; c < params.classes; c += LANES) {
            if same(logits[start + c], row_maximum) {
                first = min(first, c);
            }
        }
    }
    return u32(-reduce_row(MAXIMUM, thread, -f32(first)));
}

// One slot per step, network and workgroup. `loss` and `correct` are nonzero only in the first lane of each row.
fn write_metrics(group: vec3<u32>, groups: vec3<u32>, thread: vec3<u32>, loss: f32, correct: f32) {
    let total_loss = reduce_all(SUM, thread, loss);
    let total_correct = reduce_all(SUM, thread, correct);
    if thread.x == 0u && thread.y == 0u {
        metrics[(record.slot * groups.z + group.z) * groups.x + group.x] = vec2<f32>(total_loss, total_correct);
    }
}
