// z (1 + tanh u) / 2 with u = sqrt(2 / pi) (z + 0.044715 z^3): the tanh approximation, as z / (1 + exp(-2 u)).
//#include negative_exp
const GELU_TANH_TWICE_ROOT = 1.5957691216057308; // 2 sqrt(2 / pi)
const GELU_TANH_CUBE = 0.044715;

fn gelu_tanh_twice_u(z: vec4<f32>) -> vec4<f32> {
    return GELU_TANH_TWICE_ROOT * z * (1.0 + GELU_TANH_CUBE * z * z);
}

fn gelu_tanh_value(z: vec4<f32>) -> vec4<f32> {
    return keep_nan(max(z, vec4<f32>(-100.0)) * logistic(gelu_tanh_twice_u(clamped(z))), z);
}

// s + z s (1 - s) 2 u', with s the logistic function of 2 u, and s (1 - s) = e / (1 + e)^2.
fn gelu_tanh_gradient(dy: vec4<f32>, kept: vec4<f32>) -> vec4<f32> {
    let z = clamped(kept);
    let u = gelu_tanh_twice_u(z);
    let e = negative_exp(-abs(u));
    let s = select(vec4<f32>(1.0), e, u < vec4<f32>()) / (1.0 + e);
    let du = GELU_TANH_TWICE_ROOT + 3.0 * GELU_TANH_TWICE_ROOT * GELU_TANH_CUBE * z * z;
    return dy * (s + z * du * (e / ((1.0 + e) * (1.0 + e))));
}
