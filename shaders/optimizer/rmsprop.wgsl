// RMSprop with momentum: with g for g + decay p, the mean v of g^2 with beta2, b becomes beta1 b + g / (sqrt(v) + epsilon),
// and p becomes p - rate b.
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    let g = gradient + decay * p;
    let v = record.beta2 * result[state_place(index, 1u)] + (1.0 - record.beta2) * g * g;
    let buffer = record.beta1 * result[state_place(index, 0u)] + g / (sqrt(v) + record.epsilon);
    result[state_place(index, 0u)] = buffer;
    result[state_place(index, 1u)] = v;
    result[index] = p - rate * buffer;
}
