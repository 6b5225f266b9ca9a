// Stochastic gradient descent: p becomes p - rate (g + decay p).
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    result[index] = p - rate * (gradient + decay * p);
}
