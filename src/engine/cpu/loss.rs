//! The loss of some rows of a batch, and its gradient by their outputs.

use super::inputs::Inputs;
use super::matrix::Matrix;
use crate::step::{Loss, Target};

/// The outputs of some rows, and how far they are from their targets.
#[derive(Default)]
pub struct RowLosses {
    /// [rows, outputs] of the last layer.
    pub outputs: Matrix,
    /// Gradients of the summed loss by them, times the scale of the step.
    pub delta: Matrix,
    /// Weight times loss of each row.
    pub losses: Vec<f64>,
    /// Rows classified correctly; 0 where targets are values.
    pub correct: u64,
}

impl RowLosses {
    /// Losses and gradients from the outputs.
    pub fn compute(&mut self, loss: Loss, inputs: &Inputs, smoothing: f32, scale: f32) {
        let Self { outputs, delta, .. } = self;
        delta.resize(outputs.row_count(), outputs.column_count());
        self.losses.clear();
        self.correct = 0;
        for ((row, z), delta) in outputs.each_row().enumerate().zip(delta.each_row_mut()) {
            let (target, weight) = (inputs.target(row, smoothing), inputs.weight(row));
            let loss = f64::from(weight) * loss.row(z, target, scale * weight, delta);
            self.losses.push(as_f32_holds(loss));
            if let Target::Class { class, .. } = target {
                self.correct += u64::from(predicted(z) == class);
            }
        }
    }
}

/// What f32 cannot hold is infinite, as it is on a GPU.
pub fn as_f32_holds(loss: f64) -> f64 {
    if (loss as f32).is_infinite() { f64::INFINITY } else { loss }
}

/// The first class of the largest logit.
pub fn predicted(z: &[f32]) -> usize {
    let Some((first, rest)) = z.split_first() else { return 0 };
    let (mut best, mut largest) = (0, *first);
    for (class, z) in (1..).zip(rest) {
        if *z > largest {
            (best, largest) = (class, *z);
        }
    }
    best
}
