//! Barrier at which the threads of a step share its work and wait for one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use crate::threads::hand_over;

/// Spins before a thread sleeps: some tens of microseconds, about the time of a wake-up. A waiting thread
/// does not yield: a sleeping thread is rescheduled immediately when woken, a yielding one only after the
/// others have had their turn.
const LOOKS: usize = 4000;

/// Spins before a thread takes over a part that has not begun: about ten microseconds.
pub const SPINS: usize = LOOKS / 4;

/// Barrier for a few threads that meet every few hundred microseconds. A region of work has one part per
/// thread. A thread does its own part first; if another thread has not begun because it has no core, a
/// waiting thread does its part. So a run is as fast as the machine allows, however busy it is. The result
/// does not depend on which thread does a part.
///
/// Waking a thread takes about as long as a step, so a waiting thread spins briefly before it sleeps.
pub struct Barrier {
    /// Spins before a waiting thread takes over a part that has not begun, once all threads are present.
    patience: usize,
    /// Number of present threads.
    present: AtomicUsize,
    /// For each part, the number of regions in which it has begun.
    begun: Vec<AtomicUsize>,
    /// Number of finished parts, over all regions.
    done: AtomicUsize,
    broken: AtomicBool,
    /// Number of threads that sleep or are about to.
    sleeping: AtomicUsize,
    sleepers: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    /// Returns a barrier for `threads` threads. A waiting thread takes over a part that has not begun after
    /// `patience` spins; use 0 if parts take longer than a thread may be late.
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

    /// Takes part in region number `region` as thread `number`; `work(part)` does a part. Every thread calls
    /// this for every region, in order. Returns when all parts are done; all threads then see their results.
    ///
    /// # Panics
    /// When another thread has panicked, since its part will never be done.
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
            // All parts have begun, so this thread only waits. The thread of the last part either sees that a
            // thread sleeps, or has counted the part as done before this thread checks again.
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            let mut guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            while !is_over() {
                guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            self.sleeping.fetch_sub(1, Ordering::SeqCst);
        }
        assert!(!self.broken.load(Ordering::Acquire), "another thread of this step panicked");
    }

    /// Does a part, unless it has begun.
    fn try_part(&self, part: usize, region: usize, work: &impl Fn(usize)) -> bool {
        // Only load if there is nothing to do: other threads write to the same cache line.
        let begun = self.begun[part].load(Ordering::Relaxed) == region
            && self.begun[part]
                .compare_exchange(region, region + 1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if begun {
            work(part);
            hand_over();
            let is_last = self.done.fetch_add(1, Ordering::SeqCst) + 1 == self.begun.len() * (region + 1);
            // Waking is a system call even if no thread sleeps.
            if is_last && self.sleeping.load(Ordering::SeqCst) > 0 {
                self.wake_all();
            }
        }
        begun
    }

    fn wake_all(&self) {
        // The lock keeps a thread from falling asleep between its check and the notification.
        let _guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.wake.notify_all();
    }

    /// Registers a thread, which holds the guard while it takes part. If the thread panics, the others panic
    /// too instead of waiting forever. Until all threads have registered, waiting threads take over parts at
    /// once.
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
