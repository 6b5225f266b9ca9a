//! Detection of processes forked from one that has opened a device: drivers do not work in them, and some
//! hang.

use std::sync::atomic::{AtomicU32, Ordering};

/// Process that has opened a device, or 0.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// Returns this process; 0 on systems without fork.
fn this_process() -> u32 {
    if cfg!(unix) { std::process::id() } else { 0 }
}

/// Records that this process opens a device.
pub(super) fn opens_device() {
    OPENED_BY.store(this_process(), Ordering::Relaxed);
}

/// Returns whether another process had opened a device before it was forked into this one.
pub(crate) fn is_forked() -> bool {
    ![0, this_process()].contains(&OPENED_BY.load(Ordering::Relaxed))
}
