// z Phi(z) with the normal distribution Phi. Phi(-q) exp(q^2 / 2) for q >= 0 is t times a polynomial in t = 1 / (1 + 0.4 q), within a
// relative error of 1.5e-8: a minimax fit for q up to 13.5.
//#include negative_exp
const GELU_DENSITY = 0.3989422804014327; // 1 / sqrt(2 pi)

fn gelu_density(z: vec4<f32>) -> vec4<f32> {
    return negative_exp(-0.5 * z * z);
}

// Phi(z), with e = exp(-z^2 / 2).
fn gelu_phi(z: vec4<f32>, e: vec4<f32>) -> vec4<f32> {
    let t = 1.0 / (1.0 + 0.4 * abs(z));
    let high = 0.115963988 + t * (-0.369789571 + t * (0.379125148 + t * (-0.175461829 + t * 0.0319654532)));
    let low = 0.133274511 + t * (0.0906916186 + t * (-0.0249578077 + t * high));
    let tail = t * (0.159576654 + t * (0.159611866 + t * low)) * e;
    return select(1.0 - tail, tail, z < vec4<f32>());
}

fn gelu_value(z: vec4<f32>) -> vec4<f32> {
    let near = clamped(z);
    return keep_nan(max(z, vec4<f32>(-100.0)) * gelu_phi(near, gelu_density(near)), z);
}

fn gelu_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32> {
    let z = clamped(kept);
    let e = gelu_density(z);
    return dy * (gelu_phi(z, e) + z * GELU_DENSITY * e);
}
