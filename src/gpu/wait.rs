//! Waiting of the host for a device. All waiting functions are `async`; [`block`](crate::threads::block) is
//! for threads that may block, which a browser's threads may not.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::clock::Instant;

/// Longest single wait for the device before it counts as hung.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// A value delivered by a callback: [`Sender::send`] there, [`Arrival::taken`] here. It can be reused once
/// the value was taken.
pub(super) struct Arrival<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    value: Option<T>,
    /// Callbacks that may still deliver a value.
    senders: usize,
    waker: Option<Waker>,
}

impl<T> Arrival<T> {
    /// Creates an arrival without a value.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Slot { value: None, senders: 0, waker: None })))
    }

    /// Returns a sender for a callback.
    pub fn sender(&self) -> Sender<T> {
        slot(&self.0).senders += 1;
        Sender(Arc::clone(&self.0))
    }

    /// Returns the value if it has arrived; never waits.
    pub fn take(&self) -> Option<T> {
        slot(&self.0).value.take()
    }

    /// Waits for the value; returns `None` if the callback is dropped without one, or does not come within
    /// [`PATIENCE`].
    pub async fn taken(&self) -> Option<T> {
        let begun = Instant::now();
        poll_fn(|context| {
            let mut slot = slot(&self.0);
            match slot.value.take() {
                None if slot.senders > 0 && begun.elapsed() < PATIENCE => {
                    slot.waker = Some(context.waker().clone());
                    Poll::Pending
                }
                value => Poll::Ready(value),
            }
        })
        .await
    }
}

/// The callback's end of an [`Arrival`].
pub(super) struct Sender<T>(Arc<Mutex<Slot<T>>>);

impl<T> Sender<T> {
    /// Delivers the value, and wakes the waiting task.
    pub fn send(self, value: T) {
        slot(&self.0).value = Some(value);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = {
            let mut slot = slot(&self.0);
            slot.senders -= 1;
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn slot<T>(slot: &Mutex<Slot<T>>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::threads::block;

    #[test]
    fn a_value_arrives_from_another_thread_again_and_again() {
        let arrival = Arrival::new();
        for value in 0..100 {
            let sender = arrival.sender();
            let thread = thread::spawn(move || sender.send(value));
            assert_eq!(block(arrival.taken()), Some(value));
            thread.join().unwrap();
            assert_eq!(arrival.take(), None);
        }
    }

    #[test]
    fn nobody_waits_for_a_callback_that_is_gone() {
        let arrival = Arrival::<u32>::new();
        for _ in 0..100 {
            let sender = arrival.sender();
            let thread = thread::spawn(move || drop(sender));
            assert_eq!(block(arrival.taken()), None);
            thread.join().unwrap();
        }
    }
}
