//! Work of several threads at the same time.

use std::sync::{Mutex, PoisonError};

/// Does `work(0)` on this thread and `work(1)` to `work(others)` at the same time, each on a separate thread.
/// Numbers whose thread the system does not start are left out: the others have to do their work. Returns
/// when all have ended.
#[cfg(not(all(target_arch = "wasm32", target_feature = "atomics")))]
pub fn beside(others: usize, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        let work = &work;
        let started = (1..=others).filter_map(|number| super::spawn_scoped(scope, move || work(number)));
        let started: Vec<_> = started.collect();
        work(0);
        for thread in started {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// Does `work` with each item, on at most `threads` threads: a free thread takes the next item.
pub fn each<T>(threads: usize, items: impl ExactSizeIterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let others = threads.min(items.len()).saturating_sub(1);
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    beside(others, |_| {
        while let Some(item) = next() {
            work(item);
        }
    });
}

/// Returns the number of threads that can work at the same time.
#[cfg(not(all(target_arch = "wasm32", target_feature = "atomics")))]
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use super::workers::{available, beside};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once() {
        for threads in [0, 1, 3, 9] {
            let mut items = [0; 5];
            each(threads, items.iter_mut(), |item| *item += 1);
            assert_eq!(items, [1; 5]);
            each(threads, [0_u8; 0].iter(), |_| unreachable!("there is none"));
        }
    }

    #[test]
    fn each_number_is_worked_on_once() {
        for others in [0, 1, 5] {
            let done = Mutex::new(Vec::new());
            beside(others, |number| done.lock().unwrap().push(number));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..=others).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "the second")]
    fn a_panic_is_passed_on() {
        beside(2, |number| assert_ne!(number, 2, "the second"));
    }
}
