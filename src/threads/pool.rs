//! Threads that stay between calls: starting one takes as long as some steps of a small network.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{EXIST, beside, hand_over, spawn};

/// Looks before a thread goes to sleep: some tens of microseconds, about as long as waking it takes. It does not offer its core to others
/// instead: a thread that sleeps gets it back at once when it is woken, one that yields only when the others have had their turn.
pub const LOOKS: usize = 4000;

/// What the threads do; each gives it its number.
type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Threads that wait for work. Whoever has some does it, too, and waits for no thread that has not begun: so all must get done whoever
/// comes. They end when the pool is dropped.
#[derive(Default)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: usize,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// How often work was handed out, and that the pool ends. Changes under the lock.
    handed_out: AtomicUsize,
    /// Threads that do the work.
    active: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// What is to be done.
    work: Option<Work<'static>>,
    ended: bool,
    /// Threads that sleep, or are about to.
    sleeping: usize,
}

impl Pool {
    /// Does `work(0)` here, and on other threads `work(1)` and so on below `threads`, as far as they come before it has ended here.
    /// Threads that the system does not start are missing.
    ///
    /// # Panics
    /// When the work here does. A panic of another thread ends that thread alone.
    pub fn run(&mut self, threads: usize, work: Work<'_>) {
        if !EXIST {
            // The page's threads stay anyway.
            return beside(threads.saturating_sub(1), work);
        }
        while self.threads + 1 < threads {
            self.threads += 1;
            let (number, shared) = (self.threads, Arc::clone(&self.shared));
            let _ = spawn("trainer", "takes part in training steps", move || shared.serve(number));
        }
        if threads < 2 {
            return work(0);
        }
        // SAFETY: when this returns or unwinds, `TakenBack` has taken the reference out of the state and waited for those who took it
        // from there.
        #[expect(unsafe_code, reason = "threads that stay do work that borrows")]
        let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        self.shared.hand_out(Some(work));
        let _taken_back = TakenBack(&self.shared);
        work(0);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Nobody waits for them: after a fork they are not there.
        self.shared.hand_out(None);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is so, which somebody tells who then calls [`Shared::wake`]; gives the lock.
    fn wait_until(&self, is_so: impl Fn() -> bool) -> MutexGuard<'_, State> {
        (0..LOOKS).take_while(|_| !is_so()).for_each(|_| std::hint::spin_loop());
        let mut state = self.lock();
        while !is_so() {
            state.sleeping += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
        state
    }

    /// Wakes those that sleep: a call of the system, also where nobody does.
    fn wake(&self, state: &State) {
        if state.sleeping > 0 {
            self.changed.notify_all();
        }
    }

    /// Work for all threads; without any they end.
    fn hand_out(&self, work: Option<Work<'static>>) {
        let mut state = self.lock();
        state.ended = work.is_none();
        state.work = work;
        self.handed_out.fetch_add(1, Ordering::Release);
        self.wake(&state);
    }

    /// What thread `number` does all its life.
    fn serve(&self, number: usize) {
        let mut seen = 0;
        loop {
            hand_over();
            let state = self.wait_until(|| self.handed_out.load(Ordering::Acquire) != seen);
            if state.ended {
                return;
            }
            seen = self.handed_out.load(Ordering::Acquire);
            if let Some(work) = state.work {
                // Under the lock: who takes the work back sees it.
                self.active.fetch_add(1, Ordering::SeqCst);
                drop(state);
                let _active = Active(self);
                work(number);
            }
        }
    }
}

/// A thread that does the work.
struct Active<'a>(&'a Shared);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        hand_over();
        if self.0.active.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.wake(&self.0.lock());
        }
    }
}

/// Takes the work back, and waits for the threads that do it.
struct TakenBack<'a>(&'a Shared);

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        self.0.lock().work = None;
        drop(self.0.wait_until(|| self.0.active.load(Ordering::SeqCst) == 0));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_that_come_do_the_work_and_none_keeps_it() {
        let mut pool = Pool::default();
        let mut met = 0;
        for round in 0..2000 {
            // Borrowed, and gone after each round.
            let counts: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
            pool.run(3, &|number| {
                counts[number].fetch_add(1, Ordering::SeqCst);
                if round % 100 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let counts: Vec<usize> = counts.into_iter().map(AtomicUsize::into_inner).collect();
            assert!(counts[0] == 1 && counts.iter().all(|count| *count <= 1), "{counts:?}");
            met += counts[1] + counts[2];
        }
        assert!(met > 0, "no other thread ever came");
    }

    #[test]
    fn work_that_has_begun_is_waited_for() {
        let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));
        Pool::default().run(2, &|number| match number {
            0 => {
                while !begun.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            }
            _ => {
                begun.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                done.store(true, Ordering::SeqCst);
            }
        });
        assert!(done.into_inner());
    }

    #[test]
    fn a_thread_that_panics_is_missed_by_nobody() {
        let mut pool = Pool::default();
        let begun = AtomicBool::new(false);
        pool.run(2, &|number| match number {
            0 => {
                while !begun.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            }
            _ => {
                begun.store(true, Ordering::SeqCst);
                panic!("on purpose");
            }
        });
        let done = AtomicUsize::new(0);
        pool.run(2, &|_| {
            done.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(done.into_inner(), 1);
    }
}
