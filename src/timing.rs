//! Measured quantities: time spans, and ceilings of a device.

use serde::Serialize;

/// A span of time, in nanoseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start of the span.
    pub begin: u64,
    /// End of the span.
    pub end: u64,
}

impl Span {
    /// Returns the length in nanoseconds.
    pub fn length(self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// Measured ceilings of a device: the two lines of its roofline (Williams, Waterman, Patterson 2009).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ceilings {
    /// Bytes per second of a copy, read and written.
    pub bytes_per_second: f64,
    /// FLOP per second of pure multiply-adds, two FLOP each.
    pub flop_per_second: f64,
}

impl Ceilings {
    /// Returns the least time of a kernel in seconds: the time of its bytes at the copy's rate or of its
    /// arithmetic at the rate of the multiply-adds, whichever is longer.
    pub fn least_seconds(&self, bytes: u64, flop: u64) -> f64 {
        let moved = bytes as f64 / self.bytes_per_second;
        let computed = flop as f64 / self.flop_per_second;
        moved.max(computed)
    }

    /// Returns the FLOP per byte above which arithmetic is the limit.
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
