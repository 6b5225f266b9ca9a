//! The end of `tinytrain train`: the refit, the final files, and the printed result.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::{Saved, TrainReport, kept_model};
use crate::cli::args::Format;
use crate::cli::data_text::weights_hint;
use crate::cli::output_place::OutputPlace;
use crate::cli::train_text::{end_text, reached, summary_fields};
use crate::error::{Error, Result};
use crate::report::text::{counted, shell_word};
use crate::train::{End, Metric, Summary};

impl TrainReport<'_> {
    /// Saves the model of a run before its refit, and prints a line about it.
    ///
    /// # Errors
    /// If the model cannot be saved, or standard output cannot be written to.
    pub fn begin_refit(&mut self, summary: &Summary) -> Result<()> {
        self.keep(&Arc::new(summary.model.clone()), kept_model(summary.kept, self.validates, self.config))?;
        self.write_model()?;
        if self.options.format == Format::Json {
            return self.console.object(&[("event", "refit".into()), ("epochs", summary.kept.into())]);
        }
        let epochs = counted(summary.kept as u64, "epoch", "epochs");
        self.console.notice(&format!("training once more, the rows that validated included: {epochs}"));
        Ok(())
    }

    /// Keeps the model of a refit, if there is one.
    ///
    /// # Errors
    /// Error of the refit, or if the model cannot be saved.
    pub fn end_refit(&mut self, summary: &Summary, done: Result<()>) -> Result<()> {
        done?;
        self.keep(&Arc::new(summary.model.clone()), "the model of all rows".to_owned())
    }

    /// Prints the end of a run.
    ///
    /// # Errors
    /// The error that ended the run early, with the place of the last model.
    pub fn end(mut self, trained: Result<Summary>) -> anyhow::Result<()> {
        self.console.progress().bar.clear();
        if let Ok(Summary { model, .. }) = &trained
            && model.settings.contains_key("temperature")
        {
            // The file written before contains the uncalibrated model, with which the run resumes.
            self.unsaved = Some(Arc::new(model.clone()));
        }
        let written =
            self.write_model().and_then(|()| trained.as_ref().map_or(Ok(()), |it| self.add_test(it)));
        if let Err(unwritable @ Error::Output(_)) = trained {
            return Err(unwritable.into());
        }
        let trained = written.and(trained);
        let events = self.events.take().map_or(Ok(()), |events| events.end(&trained));
        let saved = self.saved.take();
        let told = match (trained, saved) {
            (Ok(Summary { end: End::Interrupted, .. }), Some(Saved { what, path })) => {
                let goes_on = match &self.output {
                    OutputPlace::Folder(folder) => {
                        format!("; continue with tinytrain train --resume {}", shell_word(folder.path()))
                    }
                    _ => String::new(),
                };
                let message = format!("interrupted; {what} is saved at {}{goes_on}", path.display());
                Err(self.interrupts.ended(message).into())
            }
            (Ok(summary), Some(Saved { path, .. })) => self.summary(&summary, &path).map_err(Into::into),
            (Err(error), saved) => {
                let hint = weights_hint(&error, self.options.training.columns.weight.as_deref());
                let kept = saved.filter(|saved| saved.path.is_file() && self.output.is_in_place());
                let kept = kept.map(|Saved { what, path }| format!("; {what} is kept at {}", path.display()));
                let message = format!("{error}{hint}{}", kept.unwrap_or_default());
                Err(error).context(message)
            }
            (Ok(_), None) => Ok(()),
        };
        // The result comes first, since it exists even if the event file failed.
        told.and(Ok(events?))
    }

    /// Adds the test score of the kept model to its epoch in the history.
    fn add_test(&mut self, summary: &Summary) -> Result<()> {
        let test = summary.kept_epoch().and_then(|epoch| epoch.test.as_ref());
        let epoch = self.epochs.get_mut(summary.kept.wrapping_sub(1)).filter(|epoch| epoch.test.is_none());
        if let (Some(test), Some(epoch), OutputPlace::Folder(folder)) = (test, epoch, &mut *self.output) {
            epoch.test = Some(test.clone());
            folder.begin_history(&self.epochs, self.config.loss.of_classes())?;
        }
        Ok(())
    }

    /// Prints the result of a run, whose model is saved at `path`.
    fn summary(&self, summary: &Summary, path: &Path) -> Result<()> {
        let times = [self.start.elapsed(), summary.first_batch.duration_since(self.start)];
        let name = path.to_string_lossy();
        if let Some(warning) = &summary.warning {
            self.console.warn(&format!(
                "{warning}; try another --lr or --scale, or more --epochs, or check whether the inputs can predict the target"
            ));
        }
        if self.options.format == Format::Json {
            return self.console.object(&summary_fields(summary, times, &name));
        }
        let (reached, targets) = reached(summary, self.config.loss);
        if self.options.quiet {
            return self.console.line(&format!("{reached}, model {name}"));
        }
        if self.has_star {
            let is_calibrated = self.config.metric == Some(Metric::LogLoss);
            let loss = if is_calibrated { "; val loss is the log loss after calibration" } else { "" };
            self.console.line(&format!("* best so far on the validation rows{loss}"))?;
        }
        self.console.line(&(reached + &end_text(summary, times, self.options.verbose)))?;
        targets.iter().try_for_each(|line| self.console.line(line))?;
        self.console.line(&format!("wrote {}", shell_word(path)))?;
        if let (End::Time, OutputPlace::Folder(folder)) = (summary.end, &*self.output) {
            let folder = shell_word(folder.path());
            self.console
                .line(&format!("continue the run: tinytrain train --resume {folder} --max-time TIME"))?;
        }
        let data = self.data_option();
        self.console.line(&format!("evaluate the model: tinytrain eval --model {}{data}", shell_word(path)))
    }

    /// Returns the option with which `tinytrain eval` finds the data, if the model file cannot name them.
    fn data_option(&self) -> String {
        let is_known = ["data", "data_parts"].iter().any(|key| self.settings.contains_key(*key));
        if is_known && !self.settings.contains_key("unnamed_test_data") {
            return String::new();
        }
        let data = self.options.test.as_ref().map_or(&self.options.training.data[..], std::slice::from_ref);
        let data: Vec<String> =
            data.iter().filter(|data| *data != Path::new("-")).map(|data| shell_word(data)).collect();
        format!(" --data {}", if data.is_empty() { "FILE".to_owned() } else { data.join(" ") })
    }
}
