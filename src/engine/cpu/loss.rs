//! Loss of some rows of a batch, and its gradient with respect to their outputs.

use std::mem::take;

use super::inputs::Inputs;
use super::matrix::Matrix;
use crate::step::{Loss, LossRows, Targets};
use crate::vectors::vectorized_loops;

/// Outputs of some rows and their losses.
#[derive(Default)]
pub struct RowLosses {
    /// Outputs of the last layer, [rows, outputs].
    pub outputs: Matrix,
    /// Gradients of the summed loss with respect to the outputs, times the scale of the step.
    pub delta: Matrix,
    /// Weight times loss of each row.
    pub losses: Vec<f64>,
    /// Index of the first largest output of each row.
    pub predictions: Vec<u32>,
    /// Number of correctly classified rows; 0 if targets are values.
    pub correct: u64,
    scales: Vec<f32>,
    scratch: Vec<f32>,
}

impl RowLosses {
    /// Computes losses and gradients from the stored outputs.
    pub fn compute(&mut self, loss: Loss, inputs: &Inputs, smoothing: f32, scale: f32) {
        let (outputs, mut delta) = (take(&mut self.outputs), take(&mut self.delta));
        self.compute_from(&outputs, &mut delta, loss, inputs, smoothing, scale);
        (self.outputs, self.delta) = (outputs, delta);
    }

    /// Computes losses from `outputs`, and gradients into `delta`.
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

    /// Computes losses and predictions of rows without training, ignoring their weights.
    pub fn evaluate(&mut self, loss: Loss, outputs: &Matrix, inputs: &Inputs) {
        self.scales.clear();
        self.scales.resize(outputs.row_count(), 0.0);
        let mut delta = take(&mut self.delta);
        self.take(loss, outputs, &mut delta, inputs.targets(0.0));
        self.delta = delta;
        self.losses.iter_mut().for_each(|loss| *loss = as_f32_holds(*loss));
    }

    /// Computes losses, predictions, and gradients times the stored scales.
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

/// Returns infinity for a loss that f32 cannot represent, as a GPU does.
#[inline(always)]
fn as_f32_holds(loss: f64) -> f64 {
    if (loss as f32).is_infinite() { f64::INFINITY } else { loss }
}
