// The update of the parameters of a network's layers.
//#include parameter

// Updates a parameter in row `row` of a layer's weights, which are followed by its bias.
fn changed_parameter(layer: Layer, row: u32, old: Parameter, gradient: vec4<f32>) -> Parameter {
    let is_bias = row == layer.inputs;
    let rate = record.rate * select(layer.weight_rate, layer.bias_rate, is_bias);
    let decay = record.decay * select(1.0, params.bias_decay, is_bias);
    return updated(old, gradient, rate, decay);
}
