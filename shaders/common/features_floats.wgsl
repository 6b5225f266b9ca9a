// A data set of f32, unscaled.
@group(0) @binding(1) var<storage, read> features: array<vec4<f32>>;

fn feature(index: u32) -> vec4<f32> {
    return features[index];
}
