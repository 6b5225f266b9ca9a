// Dropout, as in src/step/dropout.rs: the dropped units of a row depend on seed, step, layer, row and unit.
//#include philox
const DROPOUT_PURPOSE = 4u; // `Purpose::Dropout` in src/random.rs

// Drops outputs 4*block.. of a row of the batch, or their gradients: 0 if a word is below the threshold, else scaled.
fn dropped(values: vec4<f32>, layer: u32, row: u32, block: u32, threshold: u32, scale: f32) -> vec4<f32> {
    let words = philox(vec4<u32>(row, block, record.step, DROPOUT_PURPOSE + 256u * layer), record.seed);
    return select(values * scale, vec4<f32>(), words < vec4<u32>(threshold));
}
