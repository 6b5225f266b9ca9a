//! Whether this process was forked from one that has opened a device: drivers do not work there, and some hang.

use std::sync::atomic::{AtomicU32, Ordering};

/// The process that has opened a device, or 0.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// This process; 0 where none can be forked.
fn this_process() -> u32 {
    if cfg!(unix) { std::process::id() } else { 0 }
}

/// Remembers that this process opens a device.
pub(super) fn opens_device() {
    OPENED_BY.store(this_process(), Ordering::Relaxed);
}

/// Whether another process has opened a device before it became this one, too.
pub(crate) fn is_forked() -> bool {
    ![0, this_process()].contains(&OPENED_BY.load(Ordering::Relaxed))
}
