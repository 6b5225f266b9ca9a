//! How the threads of a step share its work and wait for one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use crate::threads::hand_over;

/// Looks before a thread goes to sleep: some tens of microseconds, about as long as waking it takes. It does not offer its core to others
/// instead: a thread that sleeps gets it back at once when it is woken, one that yields only when the others have had their turn.
const LOOKS: usize = 4000;

/// Looks at the others before a thread takes the part of one that has not begun: about ten microseconds.
pub const SPINS: usize = LOOKS / 4;

/// A barrier for a few threads that meet every few hundred microseconds. A region of work has as many parts as there
/// are threads, and each does its own; but the part of a thread that has not begun, since something else has its core,
/// is done by one that waits. So a run goes on as fast as the machine lets it, however busy that is. Who does a part
/// changes nothing in its result.
///
/// Waking a thread costs about as long as a step takes, so a waiting thread looks for a moment before it sleeps; it
/// never looks for long.
pub struct Barrier {
    /// Spins before a waiting thread takes a part that no thread has begun, once all have come.
    patience: usize,
    /// Threads that have come.
    present: AtomicUsize,
    /// For each part, the number of regions in which it was begun.
    begun: Vec<AtomicUsize>,
    /// Parts that are done, of all regions.
    done: AtomicUsize,
    broken: AtomicBool,
    /// Threads that sleep, or are about to.
    sleeping: AtomicUsize,
    sleepers: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    /// For `threads` threads. A waiting thread takes the part of one that has not begun after `patience` spins: at once
    /// where parts take longer than a thread may be late.
    pub fn new(threads: usize, patience: usize) -> Self {
        Self {
            patience,
            present: AtomicUsize::new(0),
            begun: (0..threads).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleeping: AtomicUsize::new(0),
            sleepers: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Takes part in region number `region` as thread `number`: `work(part)` does a part. Every thread calls it for
    /// every region, in order. Returns when all parts are done; what was written for them, all see afterwards.
    ///
    /// # Panics
    /// When another thread panicked: its part will never be done.
    pub fn region(&self, number: usize, region: usize, work: impl Fn(usize)) {
        hand_over();
        self.try_part(number, region, &work);
        let last = self.begun.len() * (region + 1);
        let is_over = || self.done.load(Ordering::SeqCst) >= last || self.broken.load(Ordering::Acquire);
        let all_came = self.present.load(Ordering::Relaxed) >= self.begun.len();
        let patience = if all_came { self.patience } else { 0 };
        for attempt in 0..LOOKS {
            if is_over() {
                break;
            }
            let others = 0..self.begun.len();
            if attempt >= patience && others.into_iter().any(|part| self.try_part(part, region, &work)) {
                continue;
            }
            std::hint::spin_loop();
        }
        if !is_over() {
            // All parts are begun, so there is nothing to do but wait. Who does the last one either sees that somebody sleeps,
            // or has counted it as done before this thread looks again.
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            let mut guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            while !is_over() {
                guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            self.sleeping.fetch_sub(1, Ordering::SeqCst);
        }
        assert!(!self.broken.load(Ordering::Acquire), "another thread of this step panicked");
    }

    /// Does a part, unless a thread has begun it.
    fn try_part(&self, part: usize, region: usize, work: &impl Fn(usize)) -> bool {
        // Only looks where there is nothing to do: others write beside it.
        let begun = self.begun[part].load(Ordering::Relaxed) == region
            && self.begun[part]
                .compare_exchange(region, region + 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if begun {
            work(part);
            hand_over();
            let is_last = self.done.fetch_add(1, Ordering::SeqCst) + 1 == self.begun.len() * (region + 1);
            // Waking is a call of the system, also where nobody sleeps.
            if is_last && self.sleeping.load(Ordering::SeqCst) > 0 {
                self.wake_all();
            }
        }
        begun
    }

    fn wake_all(&self) {
        // Under the lock, so that nobody goes to sleep between looking and being woken.
        let _guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }

    /// Hold it while taking part: if the thread panics, the others panic too instead of waiting for ever. Nobody is patient with a
    /// thread that has not come yet.
    pub fn panic_guard(&self) -> PanicGuard<'_> {
        self.present.fetch_add(1, Ordering::Relaxed);
        PanicGuard(self)
    }
}

/// See [`Barrier::panic_guard`].
pub struct PanicGuard<'a>(&'a Barrier);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_and_nobody_runs_ahead() {
        [0, SPINS].into_iter().for_each(nobody_runs_ahead);
    }

    fn nobody_runs_ahead(patience: usize) {
        let (barrier, sums) = (Barrier::new(3, patience), [const { AtomicUsize::new(0) }; 3]);
        thread::scope(|scope| {
            for number in 0..3 {
                let (barrier, sums) = (&barrier, &sums);
                scope.spawn(move || {
                    for region in 0..4000 {
                        barrier.region(number, region, |part| {
                            // All parts of the region before are done, this one is not.
                            assert!(sums.iter().all(|sum| sum.load(Ordering::Relaxed) >= region));
                            assert_eq!(sums[part].fetch_add(1, Ordering::Relaxed), region);
                        });
                    }
                });
            }
        });
        assert!(sums.iter().all(|sum| sum.load(Ordering::Relaxed) == 4000));
    }

    #[test]
    fn a_thread_that_is_away_holds_nobody_up() {
        let (barrier, done) = (Barrier::new(3, SPINS), AtomicUsize::new(0));
        let go = |number| {
            for region in 0..50 {
                barrier.region(number, region, |_| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        };
        go(1);
        assert_eq!(done.load(Ordering::Relaxed), 150);
        // It comes when all is done, and finds nothing to do.
        go(0);
        assert_eq!(done.load(Ordering::Relaxed), 150);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let barrier = Barrier::new(2, SPINS);
        let (begun, is_begun) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                barrier.region(0, 0, |_| {
                    begun.send(()).unwrap();
                    thread::sleep(std::time::Duration::from_millis(50));
                });
            });
            is_begun.recv().unwrap();
            barrier.region(1, 0, |_| ());
            assert_eq!(barrier.done.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn a_panic_reaches_all() {
        let barrier = Barrier::new(2, SPINS);
        thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _presence = barrier.panic_guard();
                barrier.region(0, 0, |part| assert!(part > 0, "on purpose"));
            });
            assert!(failing.join().is_err());
            let waiting = scope.spawn(|| {
                let _presence = barrier.panic_guard();
                barrier.region(1, 0, |_| ());
            });
            assert!(waiting.join().is_err());
        });
    }
}
