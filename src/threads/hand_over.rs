//! Places where one thread hands something to another or waits for it. Results must not depend on how long any of that takes: in unit
//! tests each place can be delayed by chance, and work can come in pieces of any size.

/// Marks such a place. It does nothing but in unit tests.
#[inline(always)]
pub fn hand_over() {
    #[cfg(all(test, feature = "gpu"))]
    chance::delay();
}

/// Steps of the next piece of work, of which `most` fit the time that a piece should take. Unit tests take fewer.
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
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, PoisonError};
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::random::{Purpose, words};

    /// The seed of the delays, and how many have been drawn; 0 while nothing is delayed.
    static SEED: AtomicU64 = AtomicU64::new(0);
    static DRAWN: AtomicU64 = AtomicU64::new(0);

    /// Delays every hand-over of the process by chance while `work` is done. One caller at a time.
    pub fn with_delays<T>(seed: u64, work: impl FnOnce() -> T) -> T {
        static ALONE: Mutex<()> = Mutex::new(());
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                SEED.store(0, Ordering::Relaxed);
            }
        }
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let _off = Off;
        DRAWN.store(0, Ordering::Relaxed);
        SEED.store(seed.max(1), Ordering::Relaxed);
        work()
    }

    /// A random number while hand-overs are delayed.
    pub fn draw() -> Option<u32> {
        let seed = Some(SEED.load(Ordering::Relaxed)).filter(|seed| *seed > 0)?;
        let number = DRAWN.fetch_add(1, Ordering::Relaxed) as u32;
        Some(words(seed, Purpose::Order, [number, u32::MAX])[0])
    }

    /// Most hand-overs go on at once or let others run first; some are late by as long as some steps take, a few by much more.
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
