//! The output of `tinytrain train --tensorboard`: an event file in the folder of the run, with the metrics of every
//! epoch.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::settings::text::text_of;
use crate::tensorboard::{EventFile, Hyperparameter, last_step};
use crate::train::{Config, End, Epoch, Score, Summary};
use toml::{Table, Value};

use super::figures::{TEST, VALIDATION, score_fields};
use super::folder::RunFolder;

/// The event file of a run. The step of an event is its epoch.
pub struct EventLog<'a> {
    file: EventFile,
    config: &'a Config,
    /// The number of training rows, if known.
    rows: Option<usize>,
    /// Steps of the epochs so far.
    steps: u64,
}

impl<'a> EventLog<'a> {
    /// Begins a file for a run with these settings and these finished epochs. The folder may hold files of an earlier
    /// process: their events after these epochs become void, and missing epochs are added.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Write`].
    pub fn begin(
        folder: &mut RunFolder,
        config: &'a Config,
        settings: &Table,
        epochs: &[Epoch],
        rows: Option<usize>,
    ) -> Result<Self> {
        let known = last_step(folder.path())?.min(epochs.len());
        let mut log = Self { file: folder.event_file(known + 1)?, config, rows, steps: 0 };
        log.file.begin(hyperparameters(settings))?;
        // The end times are unknown: the last epoch is assumed to have ended now.
        let mut ago: Duration = epochs.iter().map(|epoch| epoch.duration).sum();
        for epoch in epochs {
            ago = ago.saturating_sub(epoch.duration);
            log.count(epoch);
            if epoch.epoch > known {
                let time = SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
                // The learning rate of such an epoch is unknown.
                log.write(epoch, time, None)?;
            }
        }
        Ok(log)
    }

    /// Sets the number of training rows, if known by now.
    pub fn set_rows(&mut self, rows: Option<usize>) {
        self.rows = rows;
    }

    /// Adds an epoch that has just ended.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add(&mut self, epoch: &Epoch) -> Result<()> {
        self.count(epoch);
        let rates = self.config.rule(self.batch(), self.rows).rates;
        self.write(epoch, SystemTime::now(), Some(rates.at(self.steps.saturating_sub(1))))
    }

    /// Records the end of the run, unless it was interrupted, because it may then be resumed.
    ///
    /// # Errors
    /// [`Error::Write`], unless the run itself has failed.
    pub fn end(mut self, trained: &Result<Summary>) -> Result<()> {
        match trained {
            Ok(Summary { end: End::Interrupted, .. }) | Err(Error::Interrupted) => Ok(()),
            Ok(_) => self.file.end(true),
            Err(_) => {
                // The run's own error is more informative.
                let _ = self.file.end(false);
                Ok(())
            }
        }
    }

    fn batch(&self) -> usize {
        self.config.batch_size.min(self.rows.unwrap_or(usize::MAX)).max(1)
    }

    fn count(&mut self, epoch: &Epoch) {
        self.steps += epoch.rows.div_ceil(self.batch()) as u64;
    }

    /// Writes the metrics of an epoch, and the learning rate of its last step, if known.
    fn write(&mut self, epoch: &Epoch, time: SystemTime, rate: Option<f32>) -> Result<()> {
        let of_classes = self.config.loss.of_classes();
        let mut values = train_values(&epoch.train, of_classes);
        values.extend(score_values(VALIDATION, epoch.validation.as_ref()));
        values.extend(score_values(TEST, epoch.test.as_ref()));
        values.extend(rate.map(|rate| ("learning_rate".to_owned(), rate)));
        values.push(("rows_per_second".to_owned(), epoch.samples_per_second() as f32));
        self.file.scalars(epoch.epoch, time, values)
    }
}

fn train_values(score: &Score, of_classes: bool) -> Vec<(String, f32)> {
    let accuracy = of_classes.then(|| ("accuracy/train".to_owned(), score.accuracy as f32));
    [("loss/train".to_owned(), score.loss as f32)].into_iter().chain(accuracy).collect()
}

/// The available measures, named with the set after the measure: TensorBoard groups by the part before the slash.
fn score_values(
    names: [&'static str; 8],
    score: Option<&Score>,
) -> impl Iterator<Item = (String, f32)> + use<> {
    score_fields(names, score).into_iter().filter_map(|(name, value)| {
        let (set, measure) = name.split_once('_')?;
        Some((format!("{measure}/{set}"), value.as_f64()? as f32))
    })
}

/// The settings of a run, except the option for the event file.
fn hyperparameters(settings: &Table) -> BTreeMap<String, Hyperparameter> {
    let value = |value: &Value| match value {
        Value::Integer(number) => Hyperparameter::Number(*number as f64),
        Value::Float(number) => Hyperparameter::Number(*number),
        Value::Boolean(is_set) => Hyperparameter::Flag(*is_set),
        other => Hyperparameter::Text(text_of(other)),
    };
    let own = settings.iter().filter(|(name, _)| *name != "tensorboard");
    own.map(|(name, it)| (name.clone(), value(it))).collect()
}
