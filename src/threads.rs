//! Starting threads, which the system may refuse, and waiting.

mod beside;
mod hand_over;
mod in_order;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub mod workers;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle, Thread};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::memory::has_room_for_thread;
pub use beside::{available, beside, each};
#[cfg(all(test, feature = "gpu"))]
pub use hand_over::with_delays;
pub use hand_over::{hand_over, steps_of_piece};
pub use in_order::in_order;

/// Whether threads can be started. Browsers have none: the caller then does the work.
pub const EXIST: bool = cfg!(not(target_arch = "wasm32"));

/// Starts a thread of this name; `purpose` describes its work in errors.
///
/// # Errors
/// [`Error::Thread`] when the system has no room for it.
pub fn spawn(
    name: &str,
    purpose: &'static str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>> {
    let room = if has_room_for_thread() { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) };
    let work = || {
        hand_over();
        work();
    };
    room.and_then(|()| Builder::new().name(name.to_owned()).spawn(work))
        .map_err(|source| Error::Thread { purpose, source })
}

/// Starts a thread for work that other threads can do instead; returns `None` if the system has no room for
/// it.
fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let work = || {
        hand_over();
        work()
    };
    has_room_for_thread().then(|| Builder::new().spawn_scoped(scope, work).ok())?
}

/// Interval at which a future is polled for time-outs.
const LOOK: Duration = Duration::from_secs(1);

/// Runs a future to completion. A future that waits for a callback is polled repeatedly, so that it can time
/// out, which no crate for this does.
///
/// # Panics
/// In browsers, where the callbacks run on the waiting thread itself, when the future is not ready at once.
pub fn block<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let mut poll = |waker: &Waker| future.as_mut().poll(&mut Context::from_waker(waker));
    // Futures of the CPU engine are ready at once and need no waker.
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
