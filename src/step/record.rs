//! Numbers that change from step to step.

use bytemuck::{Pod, Zeroable};

/// Record of a step (`shaders/common/record.wgsl`), passed to kernels as immediates or by offset and read by
/// the CPU engine: its rows, and the optimizer's numbers. 64 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
pub struct StepRecord {
    /// Position of the first row in the epoch's order.
    pub first: u32,
    /// Number of live rows.
    pub rows: u32,
    /// Slot of the step's metrics.
    pub slot: u32,
    /// Position of the first prediction.
    pub output: u32,
    /// Rows of the batch after this one in the order, if it comes next in the same submission; else 0. In a
    /// dispatch for several networks, whose kernels do not look ahead, the number of the record's network.
    pub next_rows: u32,
    /// Number of the step, from 0: dropout depends on it.
    pub step: u32,
    /// Learning rate.
    pub rate: f32,
    /// Weight decay.
    pub decay: f32,
    /// Momentum, or the decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squared gradients.
    pub beta2: f32,
    /// Addend that keeps a denominator above 0.
    pub epsilon: f32,
    /// Correction of the first mean for its start at 0: 1 / (1 - beta1^t).
    pub correction1: f32,
    /// Correction of the square root of the second mean for its start at 0: 1 / sqrt(1 - beta2^t).
    pub correction2: f32,
    /// Largest norm of all gradients together; 0 for no limit.
    pub clip: f32,
    /// Seed of dropout: low and high word.
    pub seed: [u32; 2],
}

const _: () = assert!(size_of::<StepRecord>() == 64);

impl StepRecord {
    /// Returns the record of the first `rows` rows, all of them live, with the same number of rows next;
    /// without an update.
    ///
    /// # Panics
    /// With 2^32 rows or more, which exceed every buffer.
    pub fn all(rows: usize) -> Self {
        let rows = u32::try_from(rows).expect("sizes are checked when buffers are made");
        Self { rows, next_rows: rows, ..Self::default() }
    }
}
