// max(0, z), but NaN stays NaN, so that the loss shows it. Drivers turn comparisons with 0 into max, which drops
// NaN; they leave tests of the bits alone (WGSL itself promises nothing about NaN).
fn rectified(z: vec4<f32>) -> vec4<f32> {
    let magnitude = bitcast<vec4<u32>>(z) & vec4<u32>(0x7fffffffu);
    return select(max(z, vec4<f32>()), z, magnitude > vec4<u32>(0x7f800000u));
}
