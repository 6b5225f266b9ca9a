// Stochastic gradient descent with momentum: b becomes beta1 b + g + decay p, and p becomes p - rate b.
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    let buffer = record.beta1 * result[state_place(index, 0u)] + (gradient + decay * p);
    result[state_place(index, 0u)] = buffer;
    result[index] = p - rate * buffer;
}
