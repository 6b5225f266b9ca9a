// Mean squared error: the mean over the outputs of (z - t)^2.
const NEEDS_SOFTMAX = false;
const PER_OUTPUT = true;

fn loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    return (z - t) * (z - t);
}

fn loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    return 2.0 * (z - t);
}
