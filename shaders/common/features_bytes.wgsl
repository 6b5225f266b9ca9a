// A data set of bytes, four per word, scaled by 1/255 when read.
@group(0) @binding(1) var<storage, read> features: array<u32>;

fn feature(index: u32) -> vec4<f32> {
    return unpack4x8unorm(features[index]);
}
