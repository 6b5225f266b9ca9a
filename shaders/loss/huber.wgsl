// Huber loss with delta 1: the mean over the outputs of d^2 / 2 if |d| = |z - t| <= 1, else |d| - 1 / 2.
const NEEDS_SOFTMAX = false;
const PER_OUTPUT = true;

fn loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    let d = abs(z - t);
    // NaN stays NaN either way.
    return select(d - 0.5, 0.5 * d * d, d <= 1.0);
}

fn loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    return clamp(z - t, -1.0, 1.0);
}
