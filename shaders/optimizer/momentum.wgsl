// Stochastic gradient descent with momentum: b becomes beta1 b + g + decay p, and p decreases by rate b.
const NUMBERS = 2u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    let buffer = record.beta1 * old.first + (gradient + decay * p);
    return Parameter(p - rate * buffer, buffer, old.second);
}
