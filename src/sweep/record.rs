//! Record of a finished member: a line of JSON.

use std::collections::BTreeMap;

use super::member::{FinishedMember, TrialStatus};
use super::space::Settings;
use crate::train::{Epoch, MetricValue, Score};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runs::figures::{TEST, VALIDATION, score_fields};
use crate::settings::text::text_of;

/// Record of a finished member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Number of the member.
    pub member: usize,
    /// Final status: `done`, `dropped`, `time`, or `failed`.
    pub end: String,
    /// Reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its own settings.
    #[serde(default)]
    pub settings: Settings,
    /// Arguments of `tinytrain train` that train it separately.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Accuracy of its score; `None` for values.
    pub accuracy: Option<f64>,
    /// Loss of its score.
    pub loss: Option<f64>,
    /// The metric that orders trials; `None` for the default, the accuracy or the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<MetricValue>,
    /// Trained epochs, the maximum over all folds.
    #[serde(default)]
    pub epochs: usize,
    /// Epoch of the kept model, of the first fold.
    #[serde(default)]
    pub kept: usize,
    /// Training time.
    #[serde(default)]
    pub seconds: f64,
    /// Name of its model in the folder of the sweep.
    #[serde(default)]
    pub model: Option<String>,
    /// Names of its models of each fold in the folder of the sweep; empty unless an ensemble is requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fold_models: Vec<String>,
    /// Folder of the sweep that trained it, if another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Metrics on validation rows and on test rows.
    #[serde(flatten)]
    pub measures: BTreeMap<String, Value>,
}

/// Formats a setting as the value of an option.
pub fn setting_text(value: &Value) -> String {
    toml::Value::try_from(value).as_ref().map(text_of).unwrap_or_default()
}

/// Returns the metrics of the kept models, averaged over the folds: null if one of them is missing.
fn mean_fields(
    names: [&'static str; 8],
    ended: &FinishedMember,
    of: impl Fn(&Epoch) -> Option<&Score>,
) -> Vec<(&'static str, Value)> {
    let folds = ended.runs.iter().map(|run| score_fields(names, run.kept_epoch().and_then(&of)));
    let folds: Vec<_> = folds.collect();
    let of_folds = |place: usize| folds.iter().map(move |fields| fields[place].1.as_f64());
    let mean = |place| Some(of_folds(place).sum::<Option<f64>>()? / folds.len() as f64);
    names.into_iter().enumerate().map(|(place, name)| (name, Value::from(mean(place)))).collect()
}

impl Record {
    /// Returns the names of all its models.
    pub fn models(&self) -> impl Iterator<Item = &String> {
        self.model.iter().chain(&self.fold_models)
    }

    /// Creates the record of a member that is scored on test rows, or on validation rows.
    pub fn from_finished(
        ended: &FinishedMember,
        settings: &Settings,
        arguments: &[String],
        is_tested: bool,
        of_classes: bool,
    ) -> Self {
        let score = ended.score(is_tested);
        let (end, reason) = match &ended.status {
            TrialStatus::Done => ("done", None),
            TrialStatus::Dropped(_) => ("dropped", None),
            TrialStatus::Time => ("time", None),
            TrialStatus::Failed(reason) => ("failed", Some(reason.clone())),
        };
        let validation = mean_fields(VALIDATION, ended, |epoch| epoch.validation.as_ref());
        let fields = validation.into_iter().chain(mean_fields(TEST, ended, |epoch| epoch.test.as_ref()));
        Self {
            member: ended.member,
            end: end.to_owned(),
            reason,
            settings: settings.clone(),
            arguments: arguments.to_vec(),
            accuracy: score.as_ref().map(|score| score.accuracy).filter(|_| of_classes),
            chosen: score.as_ref().and_then(|score| score.chosen),
            loss: score.map(|score| score.loss),
            epochs: ended.runs.iter().map(|run| run.epochs.len()).max().unwrap_or(0),
            kept: ended.runs.first().map_or(0, |run| run.kept),
            seconds: ended.duration.as_secs_f64(),
            model: None,
            fold_models: Vec::new(),
            from: None,
            measures: fields.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// Returns one of its settings as an option value; empty if it has none of this name.
    pub fn setting(&self, name: &str) -> String {
        self.settings.get(name).map(setting_text).unwrap_or_default()
    }

    /// Returns whether it was trained completely, on every fold.
    pub fn is_done(&self) -> bool {
        self.end == "done" && self.score().is_some()
    }

    /// Returns whether its training was interrupted.
    pub fn is_broken_off(&self) -> bool {
        ["dropped", "time"].contains(&self.end.as_str())
    }

    /// Returns the member's score; `None` for a failed member.
    pub fn score(&self) -> Option<Score> {
        let loss = self.loss.filter(|loss| loss.is_finite() && self.end != "failed")?;
        Some(Score { loss, accuracy: self.accuracy.unwrap_or(0.0), chosen: self.chosen, ..Score::default() })
    }
}
