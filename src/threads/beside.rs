//! Work that several threads do at the same time.

/// Does `work(0)` here and `work(1)` to `work(others)` beside it, each on a thread of its own. A number whose thread the system does not
/// start is left out: what it would do is for the others to do. Returns when all have ended.
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

/// How many threads can work at the same time.
#[cfg(not(all(target_arch = "wasm32", target_feature = "atomics")))]
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use super::workers::{available, beside};

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

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
