//! Data that the threads of a step share without locks, divided into parts.
//!
//! # The rule
//!
//! A step is a sequence of regions (`barrier.rs`). In each region every part of the work is done exactly once, by one
//! thread, and a region begins when all parts of the one before are done. Within a region:
//!
//! 1. an element of a [`Parts`] that one part of the work writes is neither read nor written by any other part;
//! 2. a part of the work holds no other reference to an element while it holds a mutable one.
//!
//! So a mutable reference is the only one to its element as long as it lives, which is what the compiler asks for. No
//! reference outlives its region: all are local to the functions in `step.rs`, `gradient.rs`, `fused_layers.rs` and
//! `by_columns.rs` that compute the phases. That these keep rule 1 is seen from what they write and read;
//! `p` is their own part, `*` all parts, and `o` the pieces of a layer that the part owns; pieces with the same number belong
//! to the same part in the first two layers. With the second layer paired:
//!
//! | phase | writes | reads |
//! |---|---|---|
//! | first layer | `hidden[o]` | `parameters[0][o]`, `inputs[*]` of the step |
//! | forward | `sums[o]` | `hidden[o]`, `parameters[1][o]` |
//! | rows | `outputs[1][p]` to `outputs[last][p]`, `losses[p]` | `sums[*]`, `parameters[1..][*]`, `transposed[2..][*]`, `inputs[p]`; of a single layer `hidden[*]` |
//! | gather | `inputs[p]` of the next step | |
//! | backward | `deltas[p]`, `hidden[o]` | `outputs[1][*]`, `transposed[1][o]` |
//! | gradient | `parameters[*][o]`, `squares[*][o]`; of a single layer `hidden[o]` | `hidden[o]`, `deltas[p]`, `outputs[*][*]`, `inputs[*]` of the step; of a single layer `losses[*]` |
//! | update | the same but `squares`, `transposed[*][o]`, `updates[p]`, `metrics`, if p is 0 | the same, `losses[*]`, `squares[*][*]` |
//!
//! Of a small batch each part gathers the inputs of all rows, and reads no others. Narrow layers have no transposed pieces: `parameters` are read
//! in their place. An only part reads `outputs[1][p]` in the place of `deltas[p]`.
//!
//! With columns of each layer divided:
//!
//! | phase | writes | reads |
//! |---|---|---|
//! | first layer | `hidden[o]`, `outputs[0][p]` | `parameters[0][o]`, `inputs[*]` of the step |
//! | forward of layer l | `outputs[l][p]` | `outputs[l - 1][*]`, `parameters[l][*]` |
//! | loss | `losses[p]` | `outputs[last][*]`, `inputs[p]` |
//! | gather | `inputs[p]` of the next step | |
//! | backward of layer l | `outputs[l - 1][p]`, of the last layer also `outputs[last][p]` | `outputs[l][*]`, but of the last layer `outputs[last][p]` and `losses[*]`; `parameters[l][o]` |
//! | gradient | `parameters[*][o]`, `squares[*][o]` | `outputs[0][p]`, `outputs[l][*]` of the others, `inputs[*]` of the step |
//! | update | `parameters[*][o]`, `updates[p]`, `metrics`, if p is 0 | the same, `losses[*]`, `squares[*][*]` |
//!
//! An input layer is the first layer there: pieces are columns of the table with what they learn, `hidden[o]` is E, the first phase also
//! reads `parameters[0][o]` where it multiplies by the factors, and gradient and update read `hidden[o]`, `outputs[0][p]`,
//! `parameters[0][o]` (which they then write) and `inputs[*]` of the step.
//!
//! Regions have several phases, as `plan.rs` lists them: the last of a step is one with the first of the next. The inputs of a
//! step and of the next one are two different [`Parts`]. A plan with one part does all phases in one region, while another
//! thread writes `inputs[0]` of the next steps, which no phase reads. The thread of a team (`team.rs`) does all phases of
//! one network after the other; the inputs that they read are written by it before the first and behind the last. Outside of training the engine is borrowed mutably by one
//! caller, whose threads only read.
//!
//! Builds with debug assertions check rule 1 at each access: every element remembers the [`PartAccess`] in which it was last
//! written and read. That finds what breaks the rule whether or not two threads were there at the same time.

use std::cell::UnsafeCell;

/// Data divided into parts: `write` gives what one part of the work owns, `read` what no part of this region writes. The
/// module's rule says when each may be called.
pub struct Parts<T> {
    slots: Box<[Slot<T>]>,
}

/// An element. Two of them never share a cache line, nor a pair of lines that the processor fetches together.
#[repr(align(128))]
struct Slot<T> {
    value: UnsafeCell<T>,
    #[cfg(debug_assertions)]
    turns: turns::LastAccesses,
}

// SAFETY: by the module's rule references from several threads are either all shared, which needs `T: Sync`, or one
// mutable reference, which needs `T: Send`.
#[expect(unsafe_code, reason = "who owns an element changes from region to region")]
unsafe impl<T: Send + Sync> Sync for Parts<T> {}

impl<T> FromIterator<T> for Parts<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let slot = |value| Slot {
            value: UnsafeCell::new(value),
            #[cfg(debug_assertions)]
            turns: turns::LastAccesses::default(),
        };
        Self { slots: values.into_iter().map(slot).collect() }
    }
}

impl<T> Parts<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// An element that no other part of this region writes.
    pub fn read(&self, number: usize) -> &T {
        let slot = &self.slots[number];
        #[cfg(debug_assertions)]
        slot.turns.read();
        // SAFETY: by the module's rule there is no mutable reference to the element.
        #[expect(unsafe_code, reason = "who owns an element changes from region to region")]
        unsafe {
            &*slot.value.get()
        }
    }

    /// All elements, of which no other part of this region writes any.
    pub fn read_all(&self) -> impl Iterator<Item = &T> + Clone {
        (0..self.len()).map(|number| self.read(number))
    }

    /// An element that no other part of this region reads or writes, and to which the caller has no other reference.
    #[expect(clippy::mut_from_ref, reason = "who owns an element changes from region to region")]
    pub fn write(&self, number: usize) -> &mut T {
        let slot = &self.slots[number];
        #[cfg(debug_assertions)]
        slot.turns.write();
        // SAFETY: by the module's rule there is no other reference to the element.
        #[expect(unsafe_code, reason = "who owns an element changes from region to region")]
        unsafe {
            &mut *slot.value.get()
        }
    }

    /// All elements, by the only one who has them.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().map(|slot| slot.value.into_inner())
    }
}

/// Keep it while doing a part of a region. Does nothing without debug assertions.
pub struct PartAccess(());

#[cfg(not(debug_assertions))]
impl PartAccess {
    /// Reserves numbers for `count` regions and returns the first.
    pub fn regions(_: usize) -> u64 {
        0
    }

    /// The turn of a part in a region.
    pub fn enter(_: u64, _: usize) -> Self {
        Self(())
    }
}

#[cfg(debug_assertions)]
mod turns {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    use super::PartAccess;

    /// A region and, in the lowest bits, a part of it.
    type AccessStamp = u64;

    const PART_BITS: u32 = 16;
    /// In the place of a part: several of them.
    const SEVERAL: u64 = (1 << PART_BITS) - 1;

    /// The first number that no region has. Region 0 is outside of training.
    static NEXT: AtomicU64 = AtomicU64::new(1);

    thread_local! {
        static NOW: Cell<AccessStamp> = const { Cell::new(0) };
    }

    impl PartAccess {
        /// Reserves numbers for `count` regions and returns the first.
        pub fn regions(count: usize) -> u64 {
            NEXT.fetch_add(count as u64, SeqCst)
        }

        /// The turn of a part in a region.
        pub fn enter(region: u64, part: usize) -> Self {
            NOW.set(region << PART_BITS | part as u64);
            Self(())
        }
    }

    impl Drop for PartAccess {
        fn drop(&mut self) {
            NOW.set(0);
        }
    }

    /// When an element was last written and read.
    #[derive(Default)]
    pub struct LastAccesses {
        written: AtomicU64,
        read: AtomicU64,
    }

    /// Whether `other` is another part of the same region.
    fn conflicts(now: AccessStamp, other: AccessStamp) -> bool {
        now >> PART_BITS == other >> PART_BITS && now != other
    }

    impl LastAccesses {
        pub fn read(&self) {
            let now = NOW.get();
            if now >> PART_BITS == 0 {
                return;
            }
            // First to leave a mark and then to look: of two that do so at the same time, one sees the other.
            let mark = |before| Some(if conflicts(now, before) { now | SEVERAL } else { now });
            let _ = self.read.fetch_update(SeqCst, SeqCst, mark);
            let written = self.written.load(SeqCst);
            assert!(!conflicts(now, written), "part {} reads what part {} writes", part(now), part(written));
        }

        pub fn write(&self) {
            let now = NOW.get();
            if now >> PART_BITS == 0 {
                return;
            }
            let written = self.written.swap(now, SeqCst);
            assert!(!conflicts(now, written), "parts {} and {} write the same", part(now), part(written));
            let read = self.read.load(SeqCst);
            assert!(!conflicts(now, read), "part {} writes what part {} reads", part(now), part(read));
        }
    }

    fn part(stamp: AccessStamp) -> u64 {
        stamp & SEVERAL
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Whether what the parts 0 and 1 do, one after the other, is allowed in one region.
    fn is_allowed(first: impl Fn(&Parts<u32>), second: impl Fn(&Parts<u32>)) -> bool {
        let parts: Parts<u32> = [10, 20].into_iter().collect();
        let region = PartAccess::regions(1);
        let act = |part, act: &dyn Fn(&Parts<u32>)| {
            let _turn = PartAccess::enter(region, part);
            act(&parts);
        };
        act(0, &first);
        catch_unwind(AssertUnwindSafe(|| act(1, &second))).is_ok()
    }

    #[test]
    fn what_one_part_writes_no_other_touches() {
        let write = |number: usize| move |parts: &Parts<u32>| *parts.write(number) += 1;
        let read = |number: usize| move |parts: &Parts<u32>| assert!(*parts.read(number) > 0);
        assert!(is_allowed(write(0), write(1)));
        assert!(is_allowed(read(0), read(0)));
        assert!(is_allowed(read(0), write(1)));
        assert!(!is_allowed(write(0), write(0)));
        assert!(!is_allowed(write(0), read(0)));
        assert!(!is_allowed(read(1), write(1)));
        // Its own reading does not hide that of another part.
        assert!(!is_allowed(read(1), |parts| write(1)(parts)));
        assert!(!is_allowed(
            |parts| parts.read_all().for_each(|_| ()),
            |parts| {
                read(1)(parts);
                write(1)(parts);
            }
        ));
    }

    #[test]
    fn another_region_is_another_division() {
        let parts: Parts<u32> = [10, 20].into_iter().collect();
        for region in PartAccess::regions(3).. {
            for part in 0..2 {
                let _turn = PartAccess::enter(region, part);
                match region % 2 {
                    0 => *parts.write(part) += 1,
                    _ => *parts.write(1 - part) += parts.len() as u32,
                }
            }
            if *parts.read(0) > 11 {
                break;
            }
        }
        let sum: u32 = parts.read_all().sum();
        assert_eq!(sum, parts.into_values().sum::<u32>());
    }
}
