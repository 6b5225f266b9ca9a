//! Results of the loss kernels: pairs of (sum of losses, number correct), one per workgroup.

/// Factor of stored losses, the inverse of `LOSS_SCALE` in `shaders/common/loss_scale.wgsl`.
const LOSS_UNIT: f64 = (1u64 << 32) as f64;

/// Sums the losses and the numbers of correct rows over these pairs, as `cross_entropy`,
/// `softmax_cross_entropy` and `row` write them. The sum is finite if every row's loss is; a loss that f32
/// cannot represent is infinite.
pub fn sum_metrics(pairs: &[f32]) -> (f64, u64) {
    let (loss, correct) = pairs
        .chunks_exact(2)
        .fold((0.0, 0), |(loss, correct), pair| (loss + f64::from(pair[0]), correct + pair[1] as u64));
    (loss * LOSS_UNIT, correct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_that_of_the_shaders() {
        let piece = include_str!("../../../shaders/common/loss_scale.wgsl");
        assert!(piece.contains("const LOSS_SCALE = 0x1p-32f;"));
        assert_eq!(LOSS_UNIT, 2f64.powi(32));
    }

    #[test]
    fn sums_are_made_in_f64() {
        let greatest = f32::MAX;
        let want = 3.0 * f64::from(greatest) * LOSS_UNIT;
        assert_eq!(sum_metrics(&[greatest, 2.0, greatest, 0.0, greatest, 3.0]), (want, 5));
        assert_eq!(sum_metrics(&[0.0, 1.0, f32::INFINITY, 0.0]).0, f64::INFINITY);
        assert!(sum_metrics(&[f32::NAN, 0.0, 1.0, 1.0]).0.is_nan());
    }
}
