// RMSprop with momentum: with g for g + decay p, the mean v of g^2 with beta2, b becomes beta1 b + g / (sqrt(v) + epsilon),
// and p becomes p - rate b.
const NUMBERS = 3u;

fn updated(old: Parameter, gradient: vec4<f32>, rate: f32, decay: f32) -> Parameter {
    let p = old.value;
    let g = gradient + decay * p;
    let v = record.beta2 * old.second + (1.0 - record.beta2) * g * g;
    let buffer = record.beta1 * old.first + g / (sqrt(v) + record.epsilon);
    return Parameter(p - rate * buffer, buffer, v);
}
