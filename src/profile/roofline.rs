//! How close a kernel comes to what the device can do.

use crate::kernels::Ceilings;

/// Seconds that a kernel takes at least: the time of its bytes at the copy's rate or of its arithmetic at that of the
/// multiply-adds, whichever is longer.
pub fn least_seconds(ceilings: &Ceilings, bytes: u64, flop: u64) -> f64 {
    let moved = bytes as f64 / ceilings.bytes_per_second;
    let computed = flop as f64 / ceilings.flop_per_second;
    moved.max(computed)
}

/// FLOP per byte from which on the arithmetic is what bounds.
pub fn ridge(ceilings: &Ceilings) -> f64 {
    ceilings.flop_per_second / ceilings.bytes_per_second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_both_bounds() {
        let ceilings = Ceilings { bytes_per_second: 100.0, flop_per_second: 400.0 };
        assert_eq!(least_seconds(&ceilings, 50, 100), 0.5);
        assert_eq!(least_seconds(&ceilings, 50, 800), 2.0);
        assert_eq!(ridge(&ceilings), 4.0);
    }
}
