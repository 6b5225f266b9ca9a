// Stochastic gradient descent: p decreases by rate (g + decay p).
const NUMBERS = 1u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    return Parameter(p - rate * (gradient + decay * p), old.first, old.second);
}
