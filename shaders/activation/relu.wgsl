// max(0, z), but NaN stays NaN, so that the loss shows it. Drivers turn comparisons with 0 into max, which drops
// NaN; they leave tests of the bits alone (WGSL itself promises nothing about NaN).
fn relu_value(z: vec4<f32>) -> vec4<f32> {
    let magnitude = bitcast<vec4<u32>>(z) & vec4<u32>(0x7fffffffu);
    return select(max(z, vec4<f32>()), z, magnitude > vec4<u32>(0x7f800000u));
}

// dy where y > 0, else 0: y is positive exactly where z is.
fn relu_gradient(dy: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(vec4<f32>(), dy, y > vec4<f32>());
}
