//! A network trained once more, on the rows that validated, too.

use std::sync::Arc;

use super::tempering::divide_outputs;
use super::{Run, SelectedModel};
use crate::data::{Reader, Split};
use crate::engine::{Device, EngineState};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::threads::block;
use crate::train::{Config, DataOptions, Event, OnEvent, Score, Summary, TrainingData};

/// Trains the network of a run once more, on its training rows and those of them that validated: for as many epochs as gave the model
/// that was kept, with the same learning rates. That model becomes the one of the `summary`, and its score on the test rows that of its
/// epoch. `config` is that of the run; `reader` has the rows of its training file, `test` those of a test file. The temperature of the
/// first model is that of the second, too, as no rows are left to find one.
///
/// # Errors
/// Those of the data and of the run; those of `on_event`, which takes progress.
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
    let mut run = Run::new(Config { data: options, ..ends }, data, device.clone(), None)?;
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
    /// The model so far, divided by a temperature, and its score on the test rows.
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
