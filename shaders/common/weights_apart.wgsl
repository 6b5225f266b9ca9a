// Weights whose gradients are stored elsewhere.
const RESULT = 4u;

@group(0) @binding(3) var<storage, read> parameters: array<vec4<f32>>;

fn weight_number(index: u32, number: u32) -> f32 {
    return parameters[member_start(3u) + index][number];
}

fn value_of(loaded: Parameter, index: u32) -> vec4<f32> {
    return parameters[member_start(3u) + index];
}
