// Weights that are updated in place.
const RESULT = 3u;

fn weight_number(index: u32, number: u32) -> f32 {
    return result[member_start(RESULT) + index][number];
}

fn value_of(loaded: Parameter, index: u32) -> vec4<f32> {
    return loaded.value;
}
