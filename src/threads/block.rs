//! The edge of all that waits: a future is run to its end by the thread that calls.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use super::EXIST;

/// How often a future is polled to see whether it has timed out.
const LOOK: Duration = Duration::from_secs(1);

/// Runs a future to its end. A future that waits for a callback is polled again now and then, so that it can time out, which no crate for this does.
///
/// # Panics
/// In browsers, where the callbacks run on the thread that would wait for them, when the future is not ready at once.
pub fn block<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let mut poll = |waker: &Waker| future.as_mut().poll(&mut Context::from_waker(waker));
    // What a processor does is ready at once: nobody is woken.
    if let Poll::Ready(value) = poll(Waker::noop()) {
        return value;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(value) = poll(&waker) {
            return value;
        }
        if !EXIST {
            panic!("a browser's thread cannot wait for what it has to do itself");
        }
        thread::park_timeout(LOOK);
    }
}
