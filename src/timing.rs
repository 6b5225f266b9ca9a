//! What is measured: stretches of time, and what a device can do at most.

use serde::Serialize;

/// A stretch of time, in nanoseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// When it begins.
    pub begin: u64,
    /// When it ends.
    pub end: u64,
}

impl Span {
    /// How long it is, in nanoseconds.
    pub fn length(self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// The measured ceilings of a device: the two lines of its roofline (Williams, Waterman, Patterson 2009).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ceilings {
    /// Bytes a second of a copy: read and written ones together.
    pub bytes_per_second: f64,
    /// FLOP a second of nothing but multiply-adds, two FLOP each.
    pub flop_per_second: f64,
}

impl Ceilings {
    /// Seconds that a kernel takes at least: the time of its bytes at the copy's rate or of its arithmetic at that of the
    /// multiply-adds, whichever is longer.
    pub fn least_seconds(&self, bytes: u64, flop: u64) -> f64 {
        let moved = bytes as f64 / self.bytes_per_second;
        let computed = flop as f64 / self.flop_per_second;
        moved.max(computed)
    }

    /// FLOP per byte from which on the arithmetic is what bounds.
    pub fn ridge(&self) -> f64 {
        self.flop_per_second / self.bytes_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_both_bounds() {
        let ceilings = Ceilings { bytes_per_second: 100.0, flop_per_second: 400.0 };
        assert_eq!(ceilings.least_seconds(50, 100), 0.5);
        assert_eq!(ceilings.least_seconds(50, 800), 2.0);
        assert_eq!(ceilings.ridge(), 4.0);
    }
}
