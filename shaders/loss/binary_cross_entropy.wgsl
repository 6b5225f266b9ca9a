// Binary cross-entropy: the mean over the outputs of -t log p - (1 - t) log(1 - p) with p = 1 / (1 + exp(-z)), computed as
// max(z, 0) - z t + log(1 + exp(-|z|)), in which nothing overflows.
const NEEDS_SOFTMAX = false;
const PER_OUTPUT = true;

fn loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    return max(z, 0.0) - z * t + log(1.0 + exp(-abs(z)));
}

fn loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    let e = exp(-abs(z));
    return select(1.0, e, z < 0.0) / (1.0 + e) - t;
}
