// Nesterov's momentum: with g for g + decay p, b becomes beta1 b + g, and p becomes p - rate (g + beta1 b).
const NUMBERS = 2u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    let g = gradient + decay * p;
    let buffer = record.beta1 * old.first + g;
    return Parameter(p - rate * (g + record.beta1 * buffer), buffer, old.second);
}
