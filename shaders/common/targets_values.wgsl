// Targets are values, one word per output; with WEIGHTED they are followed by a word with the weight of the row.
const CLASSES = false;

fn target_words() -> u32 {
    return outputs_of_network() + select(0u, 1u, WEIGHTED);
}

// There is no class.
fn target_class(source: u32) -> u32 {
    return 0u;
}

// Target value of an output.
fn target_of(source: u32, class_of_row: u32, column: u32) -> f32 {
    return bitcast<f32>(targets[source * target_words() + column]);
}

fn label_of(t: f32, class_of_row: u32, column: u32) -> f32 {
    return t;
}

fn row_weight(source: u32) -> f32 {
    if WEIGHTED {
        return bitcast<f32>(targets[source * target_words() + outputs_of_network()]);
    }
    return 1.0;
}
