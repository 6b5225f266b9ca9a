// Adam, with weight decay in the gradient: the means m of g and v of g^2, and p - rate m' / (sqrt(v') + epsilon), with m' and
// v' corrected for their start at 0.
const NUMBERS = 3u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    let g = gradient + decay * p;
    let m = record.beta1 * old.first + (1.0 - record.beta1) * g;
    let v = record.beta2 * old.second + (1.0 - record.beta2) * g * g;
    return Parameter(p - rate * record.correction1 * m / (sqrt(v) * record.correction2 + record.epsilon), m, v);
}
