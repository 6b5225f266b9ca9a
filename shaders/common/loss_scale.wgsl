// Metrics count losses times 2^-32, and the host multiplies its f64 sum by 2^32, so that the f32 sum of up to 2^32 finite
// losses is finite. A power of two changes no digit of a loss, which is 0 or far above the smallest number.
const LOSS_SCALE = 0x1p-32f;
