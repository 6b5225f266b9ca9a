//! Queue of a sweep: members to train, and threads that wait for more of them.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::member::Member;
use crate::threads::hand_over;
use crate::train::{Config, Run, SharedData};

/// A member to train for some epochs.
pub(super) struct Job {
    /// Index of the member.
    pub index: usize,
    pub fold: usize,
    pub member: Member,
    /// Epoch after which it waits for the others.
    pub until: usize,
    /// Its run, if it has begun, and the run's training time.
    pub run: Option<(Box<Run>, Duration)>,
    /// Cost of its training, in any unit.
    pub cost: f64,
}

impl Job {
    /// Returns the number of trained epochs.
    pub fn epochs(&self) -> usize {
        self.run.as_ref().map_or(0, |(run, _)| run.epochs().len())
    }

    /// Returns its training rows, with the held-out rows.
    pub fn data(&self) -> &Arc<SharedData> {
        &self.member.data[self.fold]
    }

    /// Returns a key of its next batches: they are the same for members with equal keys.
    pub fn batches(&self) -> impl Eq + Hash + use<> {
        let Config { batch_size, seed, .. } = self.member.config;
        let data = Arc::as_ptr(self.data()).addr();
        (data, self.fold, batch_size, seed, self.epochs())
    }
}

/// Remaining work for all threads.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when there may be more work, or never more.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Groups of members that a thread takes together.
    jobs: VecDeque<Vec<Job>>,
    /// Number of training threads.
    working: usize,
    /// Number of threads that wait for training threads to return work.
    idle: usize,
}

/// Guard to hold while training jobs from the queue.
pub(super) struct WorkGuard<'a>(&'a Queue);

impl Drop for WorkGuard<'_> {
    fn drop(&mut self) {
        self.0.state().working -= 1;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds work to the end of the queue.
    pub fn push(&self, jobs: impl IntoIterator<Item = Vec<Job>>) {
        self.state().jobs.extend(jobs);
        self.changed.notify_all();
    }

    /// Returns all work that was not taken yet.
    #[cfg(feature = "gpu")]
    pub fn take_all(&self) -> Vec<Job> {
        self.state().jobs.drain(..).flatten().collect()
    }

    /// Returns the next work. If there is none, waits for work returned by other threads; returns `None` when
    /// none of them trains.
    pub fn take(&self) -> Option<(Vec<Job>, WorkGuard<'_>)> {
        let mut state = self.state();
        loop {
            if let Some(jobs) = state.jobs.pop_front() {
                state.working += 1;
                return Some((jobs, WorkGuard(self)));
            }
            if state.working == 0 {
                return None;
            }
            state.idle += 1;
            hand_over();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Returns whether a thread is idle.
    pub fn has_idle_thread(&self) -> bool {
        let state = self.state();
        state.idle > 0 && state.jobs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread without work waits while others train, since they may return work, and ends with the last of
    /// them.
    #[test]
    fn threads_without_work_wait_for_what_others_give_back() {
        let queue = Queue::default();
        assert!(queue.take().is_none());
        queue.push([Vec::new()]);
        let (_, working) = queue.take().unwrap();
        assert!(!queue.has_idle_thread());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| std::iter::from_fn(|| queue.take()).count());
            while !queue.has_idle_thread() {
                std::thread::yield_now();
            }
            queue.push([Vec::new(), Vec::new()]);
            drop(working);
            assert_eq!(other.join().unwrap(), 2);
        });
        assert!(queue.take().is_none());
    }
}
