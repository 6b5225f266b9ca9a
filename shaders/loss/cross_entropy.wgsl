// Softmax cross-entropy: the sum over the classes of t (log sum exp z - z), with t the target's probability. The arguments of
// exp are z - maximum <= 0 and the sum is at least 1, so nothing overflows.
const NEEDS_SOFTMAX = true;
const PER_OUTPUT = false;

fn loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    if t > 0.0 {
        return t * (maximum + log(sum) - z);
    }
    return 0.0;
}

fn loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32 {
    return exp(z - maximum) / sum - t;
}
