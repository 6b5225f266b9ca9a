//! Places where threads exchange data or wait for each other. Results must not depend on timing: in unit
//! tests each place can be delayed at random, and work can come in pieces of any size.

/// Marks such a place. Has no effect except in unit tests.
#[inline(always)]
pub fn hand_over() {
    #[cfg(all(test, feature = "gpu"))]
    chance::delay();
}

/// Returns the steps of the next piece of work, of which `most` fit its target time. Unit tests take fewer.
#[inline(always)]
pub fn steps_of_piece(most: usize) -> usize {
    #[cfg(all(test, feature = "gpu"))]
    if let Some(chance) = chance::draw() {
        return most.min(1 + chance as usize % 9);
    }
    most
}

#[cfg(all(test, feature = "gpu"))]
pub use chance::with_delays;

#[cfg(all(test, feature = "gpu"))]
mod chance {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::random::{Purpose, words};

    /// Number of callers that requested delays, the last seed, and the number of random numbers drawn.
    static CALLERS: AtomicUsize = AtomicUsize::new(0);
    static SEED: AtomicU64 = AtomicU64::new(0);
    static DRAWN: AtomicU64 = AtomicU64::new(0);

    /// Delays every exchange of the process at random while `work` is done.
    pub fn with_delays<T>(seed: u64, work: impl FnOnce() -> T) -> T {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                CALLERS.fetch_sub(1, Ordering::Relaxed);
            }
        }
        SEED.store(seed, Ordering::Relaxed);
        CALLERS.fetch_add(1, Ordering::Relaxed);
        let _off = Off;
        work()
    }

    /// Returns a random number while delays are on.
    pub fn draw() -> Option<u32> {
        if CALLERS.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let number = DRAWN.fetch_add(1, Ordering::Relaxed) as u32;
        Some(words(SEED.load(Ordering::Relaxed), Purpose::Order, [number, u32::MAX])[0])
    }

    /// Most exchanges continue at once or yield; some are delayed by the time of some steps, a few by much
    /// more.
    pub fn delay() {
        let Some(chance) = draw() else { return };
        match chance % 64 {
            0 => thread::sleep(Duration::from_micros(u64::from(chance >> 8) % 1000)),
            1..8 => {
                let (begun, most) = (Instant::now(), Duration::from_micros(u64::from(chance >> 8) % 50));
                while begun.elapsed() < most {
                    std::hint::spin_loop();
                }
            }
            8..24 => thread::yield_now(),
            _ => {}
        }
    }
}
