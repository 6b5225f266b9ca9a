//! Calibration of the kept model by its temperature.

use std::sync::Arc;

use super::Run;
use crate::engine::EngineState;
use crate::error::Result;
use crate::model::Model;
use crate::train::events::End;
use crate::train::temperature::factor;

impl Run {
    /// Divides the last layer of the kept model by its temperature, if the run has ended and the division
    /// reduces the loss on the validation rows. Checkpoints have the model before the division.
    pub(crate) async fn temper(&mut self) -> Result<()> {
        let has_ended = !matches!(self.end, None | Some(End::Interrupted));
        let is_wanted = has_ended && self.config.temperature && self.config.loss.of_classes();
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
        let epoch = &mut self.epochs[number];
        let (validated, _) = trained.evaluate(Some(validation), "validation", false).await?;
        let is_better =
            validated.as_ref().zip(epoch.validation.as_ref()).is_some_and(|(new, old)| new.loss < old.loss);
        if !(is_better && model.parameters.is_finite()) {
            return trained.engine.restore(&kept.model.parameters, &state);
        }
        epoch.validation = validated;
        if epoch.test.is_some() {
            epoch.test = trained.evaluate(test.as_ref(), "test", false).await?.0;
        }
        kept.model = Arc::new(model);
        Ok(())
    }
}

/// Divides the outputs of a network by a temperature, via the last layer.
pub(super) fn divide_outputs(model: &mut Model, temperature: f64) {
    if let Some(layer) = model.parameters.layers.last_mut() {
        let factor = temperature.recip() as f32;
        layer.weights.iter_mut().chain(&mut layer.bias).for_each(|number| *number *= factor);
    }
    model.settings.insert("temperature".to_owned(), temperature.to_string());
}
