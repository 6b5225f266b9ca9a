//! The temperature of a model: the number by which its outputs are divided, so that the probabilities of classes say how often these
//! are right (C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", 2017). Label smoothing makes
//! them flatter than that.

use std::sync::Arc;

use super::Run;
use crate::engine::EngineState;
use crate::error::Result;
use crate::model::Model;
use crate::train::events::End;
use crate::train::probabilities::best;

/// The greatest temperature; its reciprocal is the smallest.
const GREATEST: f64 = 64.0;

impl Run {
    /// Divides the last layer of the model that is kept by its temperature, if the run has ended, was trained with label smoothing,
    /// and the model is better for it on the validation rows. A checkpoint that is to go on is made before.
    pub(crate) async fn temper(&mut self) -> Result<()> {
        let has_ended = !matches!(self.end, None | Some(End::Interrupted));
        let is_wanted = has_ended && self.config.temperature && self.config.label_smoothing > 0.0;
        let (true, Some(trained), Some(kept)) = (is_wanted, &mut self.trained, &mut self.selection.kept)
        else {
            return Ok(());
        };
        let held_out = Self::hold_out(&mut self.held_out, &mut self.data, trained, &mut self.events)?;
        let ([Some(validation), test], Some(number)) = (&*held_out, kept.epoch.checked_sub(1)) else {
            return Ok(());
        };
        let state = EngineState { step: self.steps, ..EngineState::default() };
        trained.engine.restore(&kept.model.parameters, &state)?;
        let outputs = trained.engine.outputs(&validation.view()).await?;
        let factor = factor(&outputs, validation.labels(), &validation.view().counts());
        let mut model = Model::clone(&kept.model);
        divide_outputs(&mut model, factor.recip());
        trained.engine.restore(&model.parameters, &state)?;
        let (epoch, wants_auc) = (&mut self.epochs[number], self.config.auc_by_epoch);
        let (validated, _) = trained.evaluate(Some(validation), "validation", wants_auc).await?;
        let is_better = validated
            .as_ref()
            .zip(epoch.validation.as_ref())
            .is_some_and(|(new, old)| new.is_better_than(old));
        if !(is_better && model.parameters.is_finite()) {
            return trained.engine.restore(&kept.model.parameters, &state);
        }
        (epoch.validation, epoch.test) =
            (validated, trained.evaluate(test.as_ref(), "test", wants_auc).await?.0);
        kept.model = Arc::new(model);
        Ok(())
    }
}

/// Divides the outputs of a network by a temperature.
pub(super) fn divide_outputs(model: &mut Model, temperature: f64) {
    if let Some(layer) = model.parameters.layers.last_mut() {
        let factor = temperature.recip() as f32;
        layer.weights.iter_mut().chain(&mut layer.bias).for_each(|number| *number *= factor);
    }
    model.settings.insert("temperature".to_owned(), temperature.to_string());
}

/// The reciprocal of the temperature with the least log loss over rows of these classes, weighted by `counts`, and over one row more whose classes are
/// equally likely: where all rows are right, probabilities do not become 1 by that. Newton's method on a convex function, between
/// bounds that close in.
fn factor(outputs: &[f32], labels: &[u32], counts: &[f64]) -> f64 {
    let classes = (outputs.len() / labels.len().max(1)).max(1);
    let counted = || outputs.chunks_exact(classes).zip(labels).zip(counts).filter(|(_, count)| **count > 0.0);
    let share = 1.0 / (counted().count() + 1) as f64;
    let (mut low, mut high, mut factor) = (1.0 / GREATEST, GREATEST, 1.0f64);
    for _ in 0..100 {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for ((row, label), count) in counted() {
            let greatest = f64::from(row[best(row)]);
            let (mut sum, mut first, mut second, mut plain) = (0.0, 0.0, 0.0, 0.0);
            for output in row.iter().map(|output| f64::from(*output) - greatest) {
                let power = (factor * output).exp();
                (sum, plain) = (sum + power, plain + output);
                (first, second) = (first + power * output, second + power * output * output);
            }
            let mean = first / sum;
            let right = f64::from(row[*label as usize]) - greatest;
            slope += count * (mean - (1.0 - share) * right - share * plain / classes as f64);
            curvature += count * (second / sum - mean * mean);
        }
        *(if slope < 0.0 { &mut low } else { &mut high }) = factor;
        let newton = factor - slope / curvature;
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        let is_found = (next / factor - 1.0).abs() < 1e-12;
        factor = next;
        if is_found {
            break;
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_makes_probabilities_as_great_as_accuracies() {
        let (outputs, rows) = ([1.0, 0.0].repeat(10), [1.0; 10]);
        // Nine rows of ten are right, and half of the one more.
        let labels: Vec<u32> = (0..10).map(|row| u32::from(row == 0)).collect();
        let odds = |right: f64| f64::ln(right / (1.0 - right));
        assert!((factor(&outputs, &labels, &rows) - odds(9.5 / 11.0)).abs() < 1e-9);
        // All right; and none of the rows that are wrong counts.
        assert!((factor(&outputs, &[0; 10], &rows) - odds(10.5 / 11.0)).abs() < 1e-9);
        let counts: Vec<f64> = (0..10).map(|row| if row == 0 { 0.0 } else { 3.0 }).collect();
        assert!((factor(&outputs, &labels, &counts) - odds(9.5 / 10.0)).abs() < 1e-9);
        // Outputs that say nothing stay within bounds, and so do those that are always wrong.
        let same = factor(&[2.0; 20], &labels, &rows);
        assert!((1.0 / GREATEST..=GREATEST).contains(&same));
        assert!(factor(&outputs, &[1; 10], &rows) < 1.001 / GREATEST);
    }
}
