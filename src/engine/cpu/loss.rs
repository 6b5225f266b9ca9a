//! The loss of some rows of a batch, and its gradient by their outputs.

use std::mem::take;

use super::inputs::Inputs;
use super::matrix::Matrix;
use crate::step::{Loss, LossRows, Targets};
use crate::vectors::vectorized_loops;

/// The outputs of some rows, and how far they are from their targets.
#[derive(Default)]
pub struct RowLosses {
    /// [rows, outputs] of the last layer.
    pub outputs: Matrix,
    /// Gradients of the summed loss by them, times the scale of the step.
    pub delta: Matrix,
    /// Weight times loss of each row.
    pub losses: Vec<f64>,
    /// The first of each row's largest outputs.
    pub predictions: Vec<u32>,
    /// Rows classified correctly; 0 where targets are values.
    pub correct: u64,
    scales: Vec<f32>,
    scratch: Vec<f32>,
}

impl RowLosses {
    /// Losses from the outputs that are there, and gradients.
    pub fn compute(&mut self, loss: Loss, inputs: &Inputs, smoothing: f32, scale: f32) {
        let (outputs, mut delta) = (take(&mut self.outputs), take(&mut self.delta));
        self.compute_from(&outputs, &mut delta, loss, inputs, smoothing, scale);
        (self.outputs, self.delta) = (outputs, delta);
    }

    /// Losses from these outputs, and gradients, which `delta` becomes.
    pub fn compute_from(
        &mut self,
        outputs: &Matrix,
        delta: &mut Matrix,
        loss: Loss,
        inputs: &Inputs,
        smoothing: f32,
        scale: f32,
    ) {
        let (targets, weights) = (inputs.targets(smoothing), inputs.weights());
        self.scales.clear();
        self.scales.extend(weights.iter().map(|weight| scale * weight));
        self.take(loss, outputs, delta, targets);
        vectorized_loops!({
            for (loss, weight) in self.losses.iter_mut().zip(weights) {
                *loss = as_f32_holds(f64::from(*weight) * *loss);
            }
            self.correct = match targets {
                Targets::Values(_) => 0,
                Targets::Classes { classes, .. } => {
                    let pairs = self.predictions.iter().zip(classes);
                    pairs.map(|(prediction, class)| u64::from(prediction == class)).sum()
                }
            };
        });
    }

    /// Losses and predictions of rows that are not trained, without their weights.
    pub fn evaluate(&mut self, loss: Loss, outputs: &Matrix, inputs: &Inputs) {
        self.scales.clear();
        self.scales.resize(outputs.row_count(), 0.0);
        let mut delta = take(&mut self.delta);
        self.take(loss, outputs, &mut delta, inputs.targets(0.0));
        self.delta = delta;
        self.losses.iter_mut().for_each(|loss| *loss = as_f32_holds(*loss));
    }

    /// Losses, predictions, and gradients times the scales that are there.
    fn take(&mut self, loss: Loss, outputs: &Matrix, delta: &mut Matrix, targets: Targets<'_>) {
        let Self { losses, predictions, scales, scratch, .. } = self;
        let rows = scales.len();
        delta.resize(rows, outputs.column_count());
        losses.resize(rows, 0.0);
        predictions.resize(rows, 0);
        loss.rows(LossRows {
            z: outputs.values(),
            width: outputs.width(),
            outputs: outputs.column_count(),
            targets,
            scales,
            gradient: delta.values_mut(),
            losses,
            predictions,
            scratch,
        });
    }
}

/// What f32 cannot hold is infinite, as it is on a GPU.
#[inline(always)]
fn as_f32_holds(loss: f64) -> f64 {
    if (loss as f32).is_infinite() { f64::INFINITY } else { loss }
}
