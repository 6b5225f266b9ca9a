// AdamW: p - rate decay p first, then as Adam without weight decay.
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    let m = record.beta1 * result[state_place(index, 0u)] + (1.0 - record.beta1) * gradient;
    let v = record.beta2 * result[state_place(index, 1u)] + (1.0 - record.beta2) * gradient * gradient;
    result[state_place(index, 0u)] = m;
    result[state_place(index, 1u)] = v;
    let decayed = p - rate * decay * p;
    result[index] = decayed - rate * record.correction1 * m / (sqrt(v) * record.correction2 + record.epsilon);
}
