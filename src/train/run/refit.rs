//! Second training of a network, which includes the validation rows.

use std::sync::Arc;

use super::tempering::divide_outputs;
use super::{Run, SelectedModel};
use crate::data::{Reader, Split};
use crate::engine::{Device, EngineState};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::threads::block;
use crate::train::{Config, DataOptions, Event, OnEvent, Score, Summary, TrainingData};

/// Trains the network of a run again, on its training and validation rows from the training file: up to the
/// epoch of the kept model, with the same learning rates, and with the model's temperature, as no rows are
/// left to determine another. The new model and its test score replace the model in `summary` and the test
/// score of its epoch. `config` is the configuration of the run; `reader` has the rows of its training file,
/// `test` the rows of a test file.
///
/// # Errors
/// Errors of the data, of the run and of `on_event`, which receives progress.
pub fn refit(
    summary: &mut Summary,
    config: &Config,
    reader: Reader,
    test: Option<Reader>,
    device: &Device,
    on_event: &mut OnEvent<'_>,
) -> Result<()> {
    let place = summary.kept.checked_sub(1).ok_or(Error::Interrupted)?;
    let split = Split { validation: 0.0, ..config.data.split };
    let options = DataOptions { split, ..config.data };
    let data = TrainingData::new(reader, None, test, &options)?;
    let ends = Config { keep: None, patience: None, target_accuracy: None, max_time: None, ..config.clone() };
    let mut run = Run::new(Config { data: options, ..ends }, data, device.clone(), None)?.tested_at_end();
    loop {
        match run.next()?.ok_or(Error::Interrupted)? {
            Event::Epoch { epoch, .. } if epoch.epoch == summary.kept => break,
            event => on_event(event)?,
        }
    }
    let temperature = summary.model.settings.get("temperature").and_then(|text| text.parse().ok());
    (summary.model, summary.epochs[place].test) = block(run.refitted(temperature))?;
    Ok(())
}

impl Run {
    /// Returns the model so far, divided by a temperature, and its score on the test rows.
    async fn refitted(mut self, temperature: Option<f64>) -> Result<(Model, Option<Score>)> {
        let (Some(trained), Some(SelectedModel { model, .. })) = (&mut self.trained, self.selection.kept)
        else {
            return Err(Error::Interrupted);
        };
        let mut model = Arc::unwrap_or_clone(model);
        if let Some(temperature) = temperature {
            divide_outputs(&mut model, temperature);
            let state = EngineState { step: self.steps, ..EngineState::default() };
            trained.engine.restore(&model.parameters, &state)?;
        }
        let held_out = Self::hold_out(&mut self.held_out, &mut self.data, trained, &mut self.events)?;
        let (mut test, _) = trained.evaluate(held_out[1].as_ref(), "test", false).await?;
        trained.complete(test.as_mut(), held_out[1].as_ref()).await?;
        Ok((model, test))
    }
}
