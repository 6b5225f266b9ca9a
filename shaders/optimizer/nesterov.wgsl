// Nesterov's momentum: with g for g + decay p, b becomes beta1 b + g, and p becomes p - rate (g + beta1 b).
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    let g = gradient + decay * p;
    let buffer = record.beta1 * result[state_place(index, 0u)] + g;
    result[state_place(index, 0u)] = buffer;
    result[index] = p - rate * (g + record.beta1 * buffer);
}
