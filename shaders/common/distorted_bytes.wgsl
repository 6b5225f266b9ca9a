// Distorted images of bytes, four per word.
@group(0) @binding(2) var<storage, read_write> distorted: array<u32>;

fn store_distorted(index: u32, values: vec4<f32>) {
    distorted[index] = pack4x8unorm(values);
}
