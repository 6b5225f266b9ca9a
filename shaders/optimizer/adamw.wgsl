// AdamW: p - rate decay p first, then like Adam without weight decay.
const NUMBERS = 3u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    let m = record.beta1 * old.first + (1.0 - record.beta1) * gradient;
    let v = record.beta2 * old.second + (1.0 - record.beta2) * gradient * gradient;
    let decayed = p - rate * decay * p;
    return Parameter(decayed - rate * record.correction1 * m / (sqrt(v) * record.correction2 + record.epsilon), m, v);
}
