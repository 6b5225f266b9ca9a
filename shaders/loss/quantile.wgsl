// Quantile or pinball loss: the mean over the outputs of max(q (t - z), (q - 1) (t - z)), with the level q of the output from
// the generated function level_of. The derivative at 0 is 0.
const NEEDS_SOFTMAX = false;
const PER_OUTPUT = true;

fn loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    let d = z - t;
    // NaN stays NaN either way.
    return d * select(-level_of(output), 1.0 - level_of(output), d > 0.0);
}

fn loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    let d = z - t;
    return select(select(0.0, -level_of(output), d < 0.0), 1.0 - level_of(output), d > 0.0);
}
