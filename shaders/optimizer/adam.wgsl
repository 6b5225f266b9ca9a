// Adam, with weight decay in the gradient: the means m of g and v of g^2, and p - rate m' / (sqrt(v') + epsilon), where m'
// and v' are corrected for their start at 0.
fn apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32) {
    let p = result[index];
    let g = gradient + decay * p;
    let m = record.beta1 * result[state_place(index, 0u)] + (1.0 - record.beta1) * g;
    let v = record.beta2 * result[state_place(index, 1u)] + (1.0 - record.beta2) * g * g;
    result[state_place(index, 0u)] = m;
    result[state_place(index, 1u)] = v;
    result[index] = p - rate * record.correction1 * m / (sqrt(v) * record.correction2 + record.epsilon);
}
