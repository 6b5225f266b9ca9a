// 1 / (1 + exp(-z)), the logistic function.
//#include negative_exp
fn sigmoid_value(z: vec4<f32>) -> vec4<f32> {
    return keep_nan(logistic(z), z);
}

fn sigmoid_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return dy * y * (1.0 - y);
}
