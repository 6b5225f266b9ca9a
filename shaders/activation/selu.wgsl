// scale z for z > 0, else scale alpha (exp(z) - 1).
//#include negative_exp
const SELU_SCALE = 1.0507009873554805;
const SELU_SCALE_ALPHA = 1.7580993408473766; // the product with alpha = 1.6732632423543772

fn selu_value(z: vec4<f32>) -> vec4<f32> {
    let below = SELU_SCALE_ALPHA * negative_exp_m1(min(z, vec4<f32>()));
    return keep_nan(select(below, SELU_SCALE * z, z > vec4<f32>()), z);
}

// scale alpha exp(z) = y + scale alpha.
fn selu_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return dy * select(y + SELU_SCALE_ALPHA, vec4<f32>(SELU_SCALE), y > vec4<f32>());
}
