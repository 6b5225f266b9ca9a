// Columns of a table, with their inputs and weights (src/model/input_layer.rs).
const FREQUENCY_BLOCKS = 4u; // vec4s of the 16 frequencies of a periodic column
const MIXED = 3u;            // inputs computed from them
const NO_WEIGHTS = 0xffffffffu;

struct Column {
    number: u32,     // index in a row
    input: u32,      // its first input
    size: u32,       // its inputs
    categories: u32, // 0 for a column of numbers
    weights: u32,    // start of its weights, in vec4s
    unit: u32,       // the first of its threads, which own parts of its weights
    unused0: u32,
    unused1: u32,
}

// Converts a number to a category; `categories` for an unknown category.
fn category(value: f32, categories: u32) -> u32 {
    let count = f32(categories);
    return select(categories, u32(clamp(value, 0.0, count)), value >= 0.0 && value < count);
}
