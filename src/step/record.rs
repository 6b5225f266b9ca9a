//! What changes from step to step.

use bytemuck::{Pod, Zeroable};

/// The record of a step (`shaders/common/record.wgsl`), as immediates or an offset bring it to the kernels and
/// as the CPU engine reads it: which rows, and the optimizer's numbers. 64 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
pub struct StepRecord {
    /// Position of the first row in the epoch's order.
    pub first: u32,
    /// Rows that are live.
    pub rows: u32,
    /// Which slot of the metrics belongs to the step.
    pub slot: u32,
    /// Where the first prediction goes.
    pub output: u32,
    /// Rows of the batch behind this one in the order, if that comes next in the same submission; else 0. Where a dispatch
    /// computes for several networks, none of whose kernels looks ahead, which of them this is the record of.
    pub next_rows: u32,
    /// Number of the step, from 0: dropout depends on it.
    pub step: u32,
    /// Learning rate.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
    /// Momentum, or the decay of the mean of gradients.
    pub beta1: f32,
    /// The decay of the mean of squared gradients.
    pub beta2: f32,
    /// What keeps a denominator above 0.
    pub epsilon: f32,
    /// Correction of the first mean for its start at 0: 1 / (1 - beta1^t).
    pub correction1: f32,
    /// The same of the square root of the second mean: 1 / sqrt(1 - beta2^t).
    pub correction2: f32,
    /// Largest norm of all gradients together; 0 for none.
    pub clip: f32,
    /// The seed of dropout: low and high word.
    pub seed: [u32; 2],
}

const _: () = assert!(size_of::<StepRecord>() == 64);

impl StepRecord {
    /// The first `rows` rows, all of them live, and behind them as many; no update.
    ///
    /// # Panics
    /// With 2^32 rows or more, which no buffer holds.
    pub fn all(rows: usize) -> Self {
        let rows = u32::try_from(rows).expect("sizes are checked when buffers are made");
        Self { rows, next_rows: rows, ..Self::default() }
    }
}
