//! The end of a run for which the system has no memory left: one line and exit code 1, where the standard library aborts.
//!
//! What is large is checked before it is allocated; this is for all that is not, and for what others take meanwhile.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The system's allocator.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: all calls go to the system's allocator as they come, and what it gives is given back.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What the system gave, or the end of the process if that is nothing.
fn or_end(memory: *mut u8, size: usize) -> *mut u8 {
    static ENDING: AtomicBool = AtomicBool::new(false);
    thread_local! {
        /// Whether this thread ends the process: what it asks for meanwhile may be refused.
        static ENDS: Cell<bool> = const { Cell::new(false) };
    }
    if !memory.is_null() || ENDS.get() {
        return memory;
    }
    if ENDING.swap(true, Ordering::Relaxed) {
        // Another thread is about to end the process.
        thread::sleep(Duration::from_secs(1));
        return memory;
    }
    ENDS.set(true);
    tinytrain::output::remove_all();
    // Where nobody can be told, the exit code stays.
    let _ = writeln!(io::stderr(), "error: the system has no memory left for {size} bytes more");
    process::exit(1)
}
