// Distorted images of f32.
@group(0) @binding(2) var<storage, read_write> distorted: array<vec4<f32>>;

fn store_distorted(index: u32, values: vec4<f32>) {
    distorted[index] = values;
}
