// Targets are classes, one word per row; with WEIGHTED a second word holds the weight of the row as an f32.
const CLASSES = true;

// Class of a row. It comes from the data, so it may be invalid.
fn target_class(source: u32) -> u32 {
    return targets[source * select(1u, 2u, WEIGHTED)];
}

// Target probability of an output, with `class_of_row` the target's class.
fn target_of(source: u32, class_of_row: u32, column: u32) -> f32 {
    let probabilities = target_probabilities();
    return select(probabilities.y, probabilities.x, class_of_row == column);
}

// The target `t` without label smoothing: the reported loss is the loss of the label.
fn label_of(t: f32, class_of_row: u32, column: u32) -> f32 {
    return select(0.0, 1.0, class_of_row == column);
}

fn row_weight(source: u32) -> f32 {
    if WEIGHTED {
        return bitcast<f32>(targets[source * 2u + 1u]);
    }
    return 1.0;
}
