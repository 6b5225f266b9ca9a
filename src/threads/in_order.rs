//! Work on several threads, with results in the order of the items.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::scope;

use super::{hand_over, spawn_scoped};

/// Maps each item from `feed` on `threads` threads, and passes the results to `take` on another thread, in
/// the order of the items. `feed` runs on this thread at the same time; the function that it calls returns
/// whether more items are wanted. If the system has no room for threads, this thread does everything.
///
/// # Errors
/// First error of `make` or `take`, after which no result is taken; else the error of `feed`, after all
/// earlier items were taken.
pub fn in_order<T: Send, U: Send, E: Send>(
    threads: usize,
    make: impl Fn(T) -> Result<U, E> + Sync,
    take: impl FnMut(U) -> Result<(), E> + Send,
    feed: impl FnOnce(&mut dyn FnMut(T) -> bool) -> Result<(), E>,
) -> Result<(), E> {
    let (make, take) = (&make, Mutex::new(take));
    let finish = &|item: Result<U, E>| (take.lock().unwrap_or_else(PoisonError::into_inner))(item?);
    scope(|scope| {
        // A few items may wait, so that no thread is idle when one of them takes longer.
        let (tasks, queue) = sync_channel::<(T, SyncSender<Result<U, E>>)>(threads);
        let (ordered, slots) = sync_channel::<Receiver<Result<U, E>>>(2 * threads);
        let queue = Arc::new(Mutex::new(queue));
        let makers = (0..threads).map_while(|_| {
            let queue = Arc::clone(&queue);
            spawn_scoped(scope, move || {
                // The lock is held only until an item arrives.
                while let Ok((item, slot)) = { queue.lock().unwrap_or_else(PoisonError::into_inner).recv() } {
                    hand_over();
                    // The result is dropped if taking has ended.
                    let _ = slot.send(make(item));
                }
            })
        });
        let has_makers = makers.count() > 0;
        // Once all makers have ended, sending fails.
        drop(queue);
        let taker = spawn_scoped(scope, move || {
            slots.into_iter().map_while(|slot| slot.recv().ok()).try_for_each(finish)
        });
        let mut own = Ok(());
        let fed = match taker.is_some() && has_makers {
            true => feed(&mut |item| {
                let (slot, made) = sync_channel(1);
                ordered.send(made).is_ok() && tasks.send((item, slot)).is_ok()
            }),
            false => feed(&mut |item| {
                own = finish(make(item));
                own.is_ok()
            }),
        };
        drop((ordered, tasks));
        let taken = taker
            .map_or(Ok(()), |taker| taker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        own.and(taken).and(fed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns squares of the first numbers, with an error for one of them, if any.
    fn squares(threads: usize, items: u32, refused: Option<u32>) -> (Vec<u32>, Result<(), String>) {
        let mut taken = Vec::new();
        let result = in_order(
            threads,
            |number: u32| {
                // Later items finish sooner.
                std::thread::yield_now();
                if refused == Some(number) { Err(format!("{number}")) } else { Ok(number * number) }
            },
            |square| {
                taken.push(square);
                Ok(())
            },
            |push| {
                (0..items).all(push);
                if refused.is_none() && items % 2 == 1 { Err("odd".to_owned()) } else { Ok(()) }
            },
        );
        (taken, result)
    }

    #[test]
    fn results_are_taken_in_their_order_up_to_the_first_error() {
        for threads in [0, 1, 3] {
            for items in [0, 1, 17, 64, 257] {
                let expected: Vec<u32> = (0..items).map(|number| number * number).collect();
                let end = if items % 2 == 1 { Err("odd".to_owned()) } else { Ok(()) };
                assert_eq!(squares(threads, items, None), (expected.clone(), end));
                if items > 5 {
                    let end = Err("5".to_owned());
                    assert_eq!(squares(threads, items, Some(5)), (expected[..5].to_vec(), end));
                }
            }
        }
    }
}
