//! Counts the allocated memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static COUNTED: Counted = Counted;

/// Allocated bytes, and their maximum since [`begin`].
static NOW: AtomicIsize = AtomicIsize::new(0);
static MOST: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now, Relaxed);
}

// SAFETY: all calls are passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller guarantees the same conditions that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: see `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may exist while one is copied into the other.
        count(size as isize);
        count(-(layout.size() as isize));
        // SAFETY: see `alloc`.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: see `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Starts counting.
pub fn begin() -> isize {
    let now = NOW.load(Relaxed);
    MOST.store(now, Relaxed);
    now
}

/// Returns the maximum of bytes since `begun`, less the bytes at that time.
pub fn most(begun: isize) -> usize {
    usize::try_from(MOST.load(Relaxed) - begun).unwrap_or(0)
}
