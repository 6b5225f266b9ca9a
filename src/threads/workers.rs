//! Threads of a browser: workers that share the module's memory. The page starts them, since Rust cannot;
//! each then does the work of [`beside`] until the page ends it.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

static POOL: OnceLock<ThreadPool> = OnceLock::new();

/// Threads of the pool without a worker.
static UNSTARTED: Mutex<Vec<ThreadBuilder>> = Mutex::new(Vec::new());

/// Creates the only pool, of `count` threads. All work waits until the same number of workers has called
/// [`become_thread`].
///
/// # Errors
/// [`Error::Config`] if a pool exists already, or for no threads.
pub fn make(count: usize) -> Result<()> {
    let refused = |why: &str| Err(Error::Config(format!("no pool of {count} threads: {why}")));
    if count == 0 || POOL.get().is_some() {
        return refused("there is one already, or it would be empty");
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).spawn_handler(|thread| {
        UNSTARTED.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    });
    let pool = pool.build().map_err(|error| Error::Config(format!("no pool of {count} threads: {error}")))?;
    POOL.set(pool).or_else(|_| refused("there is one already"))
}

/// Turns the calling worker into one of the pool's threads: does not return.
pub fn become_thread() {
    let thread = UNSTARTED.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(thread) = thread {
        thread.run();
    }
}

/// See `beside.rs`. Without a pool, only the calling thread works.
pub fn beside(others: usize, work: impl Fn(usize) + Sync) {
    let Some(pool) = POOL.get() else { return work(0) };
    pool.in_place_scope(|scope| {
        let work = &work;
        (1..=others).for_each(|number| scope.spawn(move |_| work(number)));
        work(0);
    });
}

/// Returns the number of threads that can work at the same time.
pub fn available() -> usize {
    1 + POOL.get().map_or(0, ThreadPool::current_num_threads)
}
