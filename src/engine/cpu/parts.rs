//! Data that the threads of a step share, divided into parts.
//!
//! A step is a sequence of regions (`barrier.rs`). In each region one thread does every part of the work
//! exactly once, and a region begins when all parts of the region before are done. Within a region no part
//! reads or writes an element that another part writes. A lock on each element enforces this rule: no thread
//! ever waits for a lock, and a phase that breaks the rule panics.
//!
//! `p` is a part's own element, `*` is all elements, and `o` are the pieces of a layer that the part owns; in
//! the first two layers, pieces with the same number belong to the same part. With the first two layers
//! paired:
//!
//! | phase | writes | reads |
//! |---|---|---|
//! | first layer | `hidden[o]` | `parameters[0][o]`, `inputs[*]` of the step |
//! | forward | `sums[o]` | `hidden[o]`, `parameters[1][o]` |
//! | rows | `outputs[1][p]` to `outputs[last][p]`, `losses[p]` | `sums[*]`, `parameters[1..][*]`, `inputs[p]` |
//! | gather | `inputs[p]` of the next step | |
//! | backward | `deltas[p]`, `hidden[o]` | `outputs[1][*]`, `parameters[1][o]` |
//! | gradient | `parameters[*][o]`, `squares[*][o]` | `hidden[o]`, `deltas[p]`, `outputs[*][*]`, `inputs[*]` of the step |
//! | update | as gradient without `squares`; the metrics, if p is 0 | as gradient, `losses[*]`, `squares[*][*]` |
//!
//! With a single layer, rows also reads `hidden[*]`, and gradient writes `hidden[o]` and reads `losses[*]`.
//!
//! With columns of each layer divided:
//!
//! | phase | writes | reads |
//! |---|---|---|
//! | first layer | `hidden[o]`, `outputs[0][p]` | `parameters[0][o]`, `inputs[*]` of the step |
//! | forward of layer l | `outputs[l][p]` | `outputs[l - 1][*]`, `parameters[l][*]` |
//! | loss | `losses[p]` | `outputs[last][*]`, `inputs[p]` |
//! | gather | `inputs[p]` of the next step | |
//! | backward of layer l | `outputs[l - 1][p]` | `outputs[l][*]`, `parameters[l][o]` |
//! | gradient | `parameters[*][o]`, `squares[*][o]` | `outputs[0][p]`, `outputs[l][*]` of the others, `inputs[*]` of the step |
//! | update | `parameters[*][o]`, the metrics, if p is 0 | as gradient, `losses[*]`, `squares[*][*]` |
//!
//! For the last layer, backward also writes `outputs[last][p]`, and reads it and `losses[*]` instead of
//! `outputs[last][*]`.
//!
//! The last region of a step is also the first region of the next: the inputs of the two steps are different
//! [`Parts`].

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Data divided into parts.
pub struct Parts<T>(Box<[Slot<T>]>);

/// An element. Two elements never share a cache line, nor a pair of lines that the processor fetches
/// together.
#[repr(align(128))]
struct Slot<T>(RwLock<T>);

impl<T> FromIterator<T> for Parts<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().map(|value| Slot(RwLock::new(value))).collect())
    }
}

impl<T> Parts<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Locks an element that no other part of this region writes.
    ///
    /// # Panics
    /// When another part is writing the element, or has panicked while writing it.
    pub fn read(&self, number: usize) -> RwLockReadGuard<'_, T> {
        self.0[number].0.try_read().expect("no other part writes the element")
    }

    /// Locks all elements, none of which another part of this region writes.
    pub fn read_all(&self) -> impl Iterator<Item = RwLockReadGuard<'_, T>> {
        (0..self.len()).map(|number| self.read(number))
    }

    /// Locks an element that no other part of this region reads or writes.
    ///
    /// # Panics
    /// When another part is reading or writing the element, or has panicked while writing it.
    pub fn write(&self, number: usize) -> RwLockWriteGuard<'_, T> {
        self.0[number].0.try_write().expect("no other part has the element")
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Returns whether a second part may do this while a first one holds an element.
    fn is_allowed<T>(held: &T, second: impl Fn()) -> bool {
        let _ = held;
        catch_unwind(AssertUnwindSafe(second)).is_ok()
    }

    #[test]
    fn no_part_touches_an_element_that_another_writes() {
        let parts: Parts<u32> = [10, 20].into_iter().collect();
        let read = |number| assert!(*parts.read(number) > 0);
        let write = |number| *parts.write(number) += 1;
        {
            let held = parts.write(0);
            assert!(is_allowed(&held, || write(1)) && is_allowed(&held, || read(1)));
            assert!(!is_allowed(&held, || write(0)) && !is_allowed(&held, || read(0)));
        }
        {
            let held = parts.read(0);
            assert!(is_allowed(&held, || read(0)) && is_allowed(&held, || write(1)));
            assert!(!is_allowed(&held, || write(0)));
        }
        write(0);
        assert_eq!(parts.read_all().map(|value| *value).collect::<Vec<_>>(), [11, 22]);
    }
}
