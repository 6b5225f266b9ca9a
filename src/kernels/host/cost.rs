//! Cost of dispatches: a model of each kernel, checked against counted accesses in `tests/gpu/cost.rs`.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Cost of dispatches. Elements are values of four bytes; uniforms are not counted, nor are loads skipped by
/// a guard. If the cost depends on the data (a target's logit, a kept element), it is an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Elements read from storage buffers.
    pub global_reads: u64,
    /// Elements written to storage buffers.
    pub global_writes: u64,
    /// Elements read from workgroup memory.
    pub workgroup_reads: u64,
    /// Elements written to workgroup memory.
    pub workgroup_writes: u64,
    /// Barriers, counted once for each workgroup that passes one.
    pub barriers: u64,
    /// Arithmetic in the formula: additions, multiplications, comparisons, exponentials; one each.
    pub flop: u64,
    /// Dispatches.
    pub dispatches: u64,
}

impl Cost {
    /// Returns the cost of one dispatch with these numbers of elements read from and written to storage.
    pub(crate) fn dispatch(global_reads: usize, global_writes: usize, flop: usize) -> Self {
        Self {
            global_reads: global_reads as u64,
            global_writes: global_writes as u64,
            flop: flop as u64,
            dispatches: 1,
            ..Self::default()
        }
    }

    /// Adds these accesses to storage and this arithmetic.
    pub(crate) fn with(self, reads: usize, writes: usize, flop: usize) -> Self {
        let more = Self { dispatches: 0, ..Self::dispatch(reads, writes, flop) };
        self + more
    }

    /// Adds these accesses to workgroup memory.
    pub(crate) fn sharing(self, reads: usize, writes: usize, barriers: usize) -> Self {
        Self {
            workgroup_reads: self.workgroup_reads + reads as u64,
            workgroup_writes: self.workgroup_writes + writes as u64,
            barriers: self.barriers + barriers as u64,
            ..self
        }
    }

    /// Adds `count` tree reductions over `width` threads each (`shaders/common/tree.wgsl`), of which
    /// `abreast` share a workgroup and its barriers. An item takes `words` elements.
    pub(crate) fn trees(self, count: usize, abreast: usize, width: usize, words: usize) -> Self {
        let merges = width - 1;
        let rounds = width.next_power_of_two().ilog2() as usize;
        self.sharing(
            count * words * (2 * merges + width),
            count * words * (merges + width),
            count.div_ceil(abreast) * (2 + rounds),
        )
    }

    /// Returns the bytes transferred between the kernel and storage.
    pub fn bytes(&self) -> u64 {
        4 * (self.global_reads + self.global_writes)
    }

    /// Returns the FLOP per byte of storage.
    pub fn intensity(&self) -> f64 {
        self.flop as f64 / self.bytes().max(1) as f64
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            global_reads: self.global_reads + other.global_reads,
            global_writes: self.global_writes + other.global_writes,
            workgroup_reads: self.workgroup_reads + other.workgroup_reads,
            workgroup_writes: self.workgroup_writes + other.workgroup_writes,
            barriers: self.barriers + other.barriers,
            flop: self.flop + other.flop,
            dispatches: self.dispatches + other.dispatches,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}

impl Cost {
    /// Adds `count` workgroup scans by `team` threads each (`shaders/common/scan_team.wgsl`).
    pub(crate) fn scans(self, count: usize, team: usize) -> Self {
        // Each of the 2 team - 1 inner nodes of the tree is visited on the way up and on the way down.
        let (values, nodes) = (2 * team, 2 * team - 1);
        let levels = values.ilog2() as usize;
        self.sharing(count * (4 * nodes + 1 + values), count * (values + 3 * nodes + 1), count * 2 * levels)
    }
}
