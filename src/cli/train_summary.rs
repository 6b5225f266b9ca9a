//! What `tinytrain train` tells at the end of a run.

use std::path::Path;

use tinytrain::train::{End, Summary};

use super::args::Format;
use super::curves::{self, Look};
use super::output::{Unwritable, print_drawn};
use super::text::{counted, percent, seconds, shell_word};
use super::train_figures::{accuracy, value_figures, value_names};
use super::train_report::TrainReport;
use tinytrain::runs::figures::{TEST, VALIDATION, by_target, score_fields};

impl TrainReport<'_> {
    /// Prints what a run gave, whose model is saved at `path`.
    ///
    /// # Errors
    /// [`Unwritable`].
    pub(super) fn summary(&self, summary: &Summary, name: &str, path: &Path) -> Result<(), Unwritable> {
        let (total, first) = (self.start.elapsed(), summary.first_batch.duration_since(self.start));
        let kept = summary.kept_epoch();
        let test = kept.and_then(|epoch| epoch.test.as_ref());
        let validation = kept.and_then(|epoch| epoch.validation.as_ref());
        if let Some(doubt) = &summary.doubt {
            self.console.warn(&format!(
                "{doubt}; try another --lr or --scale, more --epochs, or check whether the inputs say anything of \
                 the target"
            ));
        }
        if self.options.format == Format::Json {
            let mut fields = vec![
                ("event", "summary".into()),
                ("epochs", summary.epochs.len().into()),
                ("kept_epoch", summary.kept.into()),
            ];
            fields.extend(score_fields(VALIDATION, validation));
            fields.extend(score_fields(TEST, test));
            fields.extend([
                ("test_rmse_by_target", by_target(test, |target| target.rmse)),
                ("test_mae_by_target", by_target(test, |target| target.mae)),
                ("test_r2_by_target", by_target(test, |target| target.r2)),
                ("seconds", total.as_secs_f64().into()),
                ("first_batch_seconds", first.as_secs_f64().into()),
                ("engine", summary.engine.engine.to_string().into()),
                ("device", summary.engine.device.as_str().into()),
                ("warning", summary.doubt.as_ref().map(ToString::to_string).into()),
                ("model", name.into()),
            ]);
            return self.console.object(&fields);
        }
        let [test_accuracy, validation_accuracy] =
            [test, validation].map(|score| accuracy(score, self.config));
        let (values, targets) =
            value_figures(kept, &value_names(&summary.model.meaning, summary.model.network.outputs()));
        let accuracy = match (test_accuracy, validation_accuracy, kept) {
            _ if !self.config.loss.of_classes() => values,
            (Some(accuracy), ..) => format!("test accuracy {}", percent(accuracy)),
            (None, Some(accuracy), _) => format!("validation accuracy {} (no test data)", percent(accuracy)),
            (None, None, Some(epoch)) => {
                format!("train accuracy {} (no test data)", percent(epoch.train.accuracy))
            }
            (None, None, None) => "no epoch".to_owned(),
        };
        if self.options.quiet {
            return self.console.line(&format!("{accuracy}, model {name}"));
        }
        let epochs = counted(summary.epochs.len() as u64, "epoch", "epochs");
        let kept = match (summary.epochs.len(), summary.kept) {
            (all, kept) if all == kept => String::new(),
            (_, kept) => format!(" (best model, epoch {kept})"),
        };
        let end = match summary.end {
            End::Patience => ", no better one since",
            End::Accuracy => ", as accurate as was asked for",
            End::Time if summary.steps == 1 => {
                ", when its time was over: one step takes longer than the limit"
            }
            End::Time => ", when its time was over",
            End::Done | End::Interrupted => "",
        };
        self.console.line(&format!(
            "{accuracy} after {epochs}{kept}{end} in {}, first batch after {}",
            seconds(total),
            seconds(first)
        ))?;
        targets.iter().try_for_each(|line| self.console.line(line))?;
        if let Some(look) = Look::of_terminal() {
            // For who looks on: the log and pipes have the numbers.
            curves::lines(&summary.epochs, self.config.loss.of_classes(), look)
                .iter()
                .try_for_each(|line| print_drawn(line))?;
        }
        self.console.line(&format!("model: {name}"))?;
        self.console.line(&format!(
            "evaluate it: tinytrain eval --model {}{}",
            shell_word(path),
            self.data_option()
        ))
    }

    /// The option by which `tinytrain eval` finds the data, where the model file cannot tell.
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
