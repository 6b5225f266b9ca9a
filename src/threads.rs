//! Threads that the system may refuse, and how one waits.

mod beside;
mod block;
mod hand_over;
mod in_order;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub mod workers;

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::error::{Error, Result};
use crate::memory::has_room_for_thread;
pub use beside::{available, beside, each};
pub use block::block;
#[cfg(all(test, feature = "gpu"))]
pub use hand_over::with_delays;
pub use hand_over::{hand_over, steps_of_piece};
pub use in_order::in_order;

/// Whether there are threads that can be started at any time. In browsers there are none: what one would do is done where it is asked for.
pub const EXIST: bool = cfg!(not(target_arch = "wasm32"));

/// Starts a thread of this name, which does what `purpose` says.
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

/// Starts a thread for work that others do where there is none: nothing where the system has no room for it.
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
