//! A complete run as one call.

use super::config::Config;
use super::events::{OnEvent, Summary};
use super::run::Run;
use super::training_data::TrainingData;
use crate::data::Reader;
use crate::engine::{Device, Observer};
use crate::error::{Error, Result};

/// Trains a network on the rows of `reader`, and tests it on `test` after every epoch: [`train_on`] with the
/// data options of the settings and without an observer.
///
/// # Errors
/// As [`train_on`].
pub fn train(
    config: &Config,
    reader: Reader,
    test: Option<Reader>,
    device: &Device,
    on_event: &mut OnEvent<'_>,
) -> Result<Summary> {
    config.validate()?;
    let data = TrainingData::new(reader, None, test, &config.data)?;
    train_on(config, data, device, &None, on_event)
}

/// Trains a complete [`Run`], and passes its events to `on_event`.
///
/// # Errors
/// Errors of the run and of `on_event`.
pub fn train_on(
    config: &Config,
    data: TrainingData,
    device: &Device,
    observer: &Observer,
    on_event: &mut OnEvent<'_>,
) -> Result<Summary> {
    let mut run = Run::new(config.clone(), data, device.clone(), observer.clone())?;
    while let Some(event) = run.next()? {
        match on_event(event) {
            Err(Error::Interrupted) => run.stop(),
            taken => taken?,
        }
    }
    run.summary()
}
