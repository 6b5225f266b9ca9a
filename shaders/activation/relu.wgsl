// max(0, z), except that NaN stays NaN, to be visible in the loss. Drivers turn comparisons with 0 into max, which drops NaN;
// they do not change integer tests of the bits (WGSL guarantees nothing about NaN).
fn relu_value(z: vec4<f32>) -> vec4<f32> {
    let magnitude = bitcast<vec4<u32>>(z) & vec4<u32>(0x7fffffffu);
    return select(max(z, vec4<f32>()), z, magnitude > vec4<u32>(0x7f800000u));
}

// dy if y > 0, else 0: y is positive exactly if z is.
fn relu_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(vec4<f32>(), dy, y > vec4<f32>());
}
