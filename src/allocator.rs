//! Out-of-memory handling: one line and exit code 1, where the standard library would abort.
//!
//! Large allocations are checked in advance; this is for small ones, and for memory taken by other processes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The system's allocator, with an exit on failure.
struct OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: all calls are passed unchanged to the system's allocator, and its results are returned unchanged.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees the same conditions that the system's allocator requires.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see `alloc`.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see `alloc`.
        or_end(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: see `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns the memory, or ends the process if it is null.
fn or_end(memory: *mut u8, size: usize) -> *mut u8 {
    static ENDING: AtomicBool = AtomicBool::new(false);
    thread_local! {
        /// Whether this thread ends the process: its own allocations may then fail.
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
    // Failures are ignored; the exit code stays.
    let _ = writeln!(io::stderr(), "error: the system has no memory left for {size} bytes more");
    process::exit(1)
}
