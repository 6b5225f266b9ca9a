//! A place where the threads of a step wait for one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Looks at the clock of the others before a thread gives up its core: about ten microseconds.
const SPINS: usize = 1000;

/// Times that a thread offers its core to others before it goes to sleep: on a busy machine, whoever has work runs.
const YIELDS: usize = 50;

/// A barrier for a few threads that meet every few hundred microseconds. Waking a thread costs about as long as a step
/// takes, so a waiting thread looks for a moment before it sleeps; it never looks for long.
pub struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    sleepers: Mutex<()>,
    wake: Condvar,
}

impl Meeting {
    /// A meeting of so many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Returns when all threads have called it. What they wrote before, all see afterwards.
    ///
    /// # Panics
    /// When another thread panicked: it will never come.
    pub fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.next_round();
        }
        let is_over = || self.round.load(Ordering::Acquire) != round;
        for attempt in 0..SPINS + YIELDS {
            if is_over() {
                break;
            }
            if attempt < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
        if !is_over() {
            let mut guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            while !is_over() {
                guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
        }
        assert!(!self.broken.load(Ordering::Acquire), "another thread of this step panicked");
    }

    fn next_round(&self) {
        // Under the lock, so that nobody goes to sleep between looking and being woken.
        let _guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.round.fetch_add(1, Ordering::AcqRel);
        self.wake.notify_all();
    }

    /// Keep it while taking part: if the thread panics, the others are told.
    pub fn presence(&self) -> Presence<'_> {
        Presence(self)
    }
}

/// See [`Meeting::presence`].
pub struct Presence<'a>(&'a Meeting);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.next_round();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_runs_ahead() {
        let (meeting, sum) = (Meeting::new(3), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=2000 {
                        sum.fetch_add(1, Ordering::Relaxed);
                        meeting.wait();
                        assert_eq!(sum.load(Ordering::Relaxed), 3 * round);
                        meeting.wait();
                    }
                });
            }
        });
    }

    #[test]
    fn a_sleeper_is_woken() {
        let meeting = Meeting::new(2);
        thread::scope(|scope| {
            scope.spawn(|| meeting.wait());
            thread::sleep(std::time::Duration::from_millis(30));
            meeting.wait();
        });
    }

    #[test]
    fn a_panic_reaches_all() {
        let meeting = Meeting::new(2);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _presence = meeting.presence();
                meeting.wait();
            });
            let failing = scope.spawn(|| {
                let _presence = meeting.presence();
                panic!("on purpose");
            });
            assert!(failing.join().is_err());
            assert!(waiting.join().is_err());
        });
    }
}
