//! Clocks: spans of time, for which browsers have separate clocks, and for the program the time of day.

#[cfg(not(target_arch = "wasm32"))]
pub use std::time::Instant;
#[cfg(feature = "cli")]
use std::time::SystemTime;
#[cfg(target_arch = "wasm32")]
pub use web_time::Instant;

#[cfg(feature = "cli")]
use jiff::Timestamp;

/// Returns the time of day, limited to years that a time stamp can represent.
#[cfg(feature = "cli")]
pub fn now() -> Timestamp {
    stampable(SystemTime::now())
}

#[cfg(feature = "cli")]
fn stampable(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::MAX).max(Timestamp::UNIX_EPOCH)
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn any_clock_gives_a_time_stamp() {
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        let stamp = |time| format!("{:.0}", stampable(time));
        assert_eq!(stamp(SystemTime::UNIX_EPOCH - 20 * year), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(SystemTime::UNIX_EPOCH + 9000 * year), "9999-12-30T22:00:00Z");
        assert_eq!(stamp(SystemTime::UNIX_EPOCH + year), "1971-01-01T00:00:00Z");
    }
}
