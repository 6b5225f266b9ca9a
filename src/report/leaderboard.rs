//! The members of a sweep in the order of their scores, as a table, and the summary of a sweep for
//! `tinytrain runs`.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::runs::FolderLock;
use crate::sweep::{Folder, RankedMember, Record, Settings, best, names, ranked, setting_text};
use crate::train::{Metric, MetricValue, Score};
use serde_json::Value;

use super::text::{Table, command_line, counted, loss, number, percent};

/// Returns the settings that all members have in common, if there are several members, as a line.
pub fn common_settings(ranked: &[RankedMember]) -> Option<String> {
    let [first, _, ..] = ranked else { return None };
    let mut common = first.record.settings.clone();
    common.retain(|name, _| !differs(ranked, name));
    (!common.is_empty()).then(|| format!("all trials: {}", settings_text(&common)))
}

/// Returns whether members differ in a setting.
fn differs(ranked: &[RankedMember], name: &str) -> bool {
    ranked.windows(2).any(|pair| pair[0].record.settings.get(name) != pair[1].record.settings.get(name))
}

/// Returns the best `most` members, with the settings in which they differ.
pub fn leaderboard(ranked: &[RankedMember], most: usize, has_seconds: bool) -> Table {
    let mut names = names(ranked.iter().map(|ranked| &ranked.record));
    names.retain(|name| ranked.len() < 2 || differs(ranked, name));
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let other = ranked.first().and_then(|ranked| other_metric(&ranked.record));
    let mut columns = vec![">rank", ">trial", ">loss", ">epochs"];
    if has_seconds {
        columns.push(">seconds");
    }
    columns.extend(names.iter().map(String::as_str));
    let row = |RankedMember { rank, record }: &RankedMember| {
        let mut row = vec![rank.to_string(), record.member.to_string()];
        row.extend(other.map(|_| record.chosen.map(chosen_value).unwrap_or_default()));
        row.extend(of_classes.then(|| record.accuracy.map(percent).unwrap_or_default()));
        row.extend([record.loss.map(loss).unwrap_or_default(), record.epochs.to_string()]);
        row.extend(has_seconds.then(|| number(record.seconds, 2)));
        row.extend(names.iter().map(|name| record.setting(name)));
        row
    };
    if of_classes {
        columns.insert(2, ">accuracy");
    }
    let name = other.map(|chosen| format!(">{}", chosen.metric));
    if let Some(name) = &name {
        columns.insert(2, name);
    }
    Table::new(&columns, ranked.iter().take(most).map(row))
}

/// Returns the command line that trains only this member.
pub fn command(record: &Record) -> String {
    command_line("train", &record.arguments)
}

/// Formats settings as text.
pub fn settings_text(settings: &Settings) -> String {
    settings
        .iter()
        .map(|(name, value)| format!("{name} {}", setting_text(value)))
        .collect::<Vec<String>>()
        .join(", ")
}

/// Formats the score of a member.
pub fn figure(record: &Record) -> String {
    record
        .score()
        .map_or_else(|| "no score".to_owned(), |score| score_text(&score, record.accuracy.is_some()))
}

/// The metric of a score that orders trials, for people.
pub fn score_text(score: &Score, of_classes: bool) -> String {
    match score.chosen {
        Some(chosen) if chosen.metric == Metric::LogLoss => format!("loss {}", loss(chosen.value)),
        Some(chosen) => format!("{} {}", chosen.metric, chosen_value(chosen)),
        None if of_classes => format!("accuracy {}", percent(score.accuracy)),
        None => format!("loss {}", loss(score.loss)),
    }
}

/// The metric that orders trials, if it is neither the accuracy nor the loss, which are always printed.
pub fn other_metric(record: &Record) -> Option<MetricValue> {
    record.chosen.filter(|chosen| !matches!(chosen.metric, Metric::Accuracy | Metric::LogLoss))
}

/// The value of a metric, for people.
pub fn chosen_value(MetricValue { metric, value }: MetricValue) -> String {
    match metric {
        Metric::Accuracy | Metric::BalancedAccuracy | Metric::F1 => percent(value),
        _ => loss(value),
    }
}

/// Summary of a sweep from its folder; the sweep may still be running.
pub struct Overview {
    /// Folder of the sweep.
    pub path: PathBuf,
    /// Whether the sweep is running.
    pub is_running: bool,
    /// Sum over all finished members.
    pub epochs: usize,
    /// Sum over all finished members.
    pub seconds: f64,
    /// Score of the best member.
    pub score: String,
    best: Option<Record>,
    members: u64,
    failed: u64,
}

impl Overview {
    /// Reads the folder of a sweep.
    ///
    /// # Errors
    /// Errors of the folder.
    pub fn read(path: &Path) -> Result<Self> {
        let folder = Folder::open_unlocked(path)?;
        let best = best(&ranked(&folder.records), folder.is_on_folds()?).map(|best| best.record.clone());
        Ok(Self {
            path: path.to_owned(),
            is_running: FolderLock::is_taken(path),
            epochs: folder.records.iter().map(|record| record.epochs).sum(),
            seconds: folder.records.iter().fold(0.0, |sum, record| sum + record.seconds),
            score: best.as_ref().map_or_else(|| "no trial".to_owned(), figure),
            best,
            members: folder.records.len() as u64,
            failed: folder.records.iter().filter(|record| record.end == "failed").count() as u64,
        })
    }

    /// Returns the number of finished members, and the settings of the best.
    pub fn details(&self) -> Vec<String> {
        let mut details = vec![counted(self.members, "trial", "trials")];
        details.extend((self.failed > 0).then(|| format!("{} failed", self.failed)));
        if let Some(best) = &self.best {
            details.push(format!("best {}:", best.member));
            details.extend(best.settings.keys().map(|name| format!("{name} {}", best.setting(name))));
        }
        details
    }

    /// Returns the summary as fields of a JSON object.
    pub fn object(&self) -> Vec<(&str, Value)> {
        let best = self.best.as_ref();
        vec![
            ("sweep", self.path.display().to_string().into()),
            ("state", if self.is_running { "running" } else { "sweep" }.into()),
            ("members", self.members.into()),
            ("failed", self.failed.into()),
            ("epochs", self.epochs.into()),
            ("best_member", best.map(|best| best.member).into()),
            ("accuracy", best.and_then(|best| best.accuracy).into()),
            ("loss", best.and_then(|best| best.loss).into()),
            ("seconds", self.seconds.into()),
            ("settings", serde_json::json!(best.map(|best| &best.settings))),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::sweep::csv;

    use super::*;

    #[test]
    fn members_come_by_their_scores_and_those_without_one_last() {
        let record = |text: &str| serde_json::from_str::<Record>(text).unwrap();
        let records = [
            record(
                r#"{"member":0,"end":"failed","reason":"the loss became NaN, at step 3","accuracy":null,"loss":null}"#,
            ),
            record(
                r#"{"member":1,"end":"done","accuracy":0.5,"loss":1.0,"settings":{"lr":0.1,"hidden":[2,3]}}"#,
            ),
            record(
                r#"{"member":2,"end":"done","accuracy":0.9,"loss":0.5,"settings":{"lr":0.2},"validation_auc":0.75}"#,
            ),
        ];
        let text = csv(&records, command).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("setting.hidden,setting.lr,validation_auc,model,reason,command"));
        assert_eq!(lines[1], "1,2,done,0.9,0.5,0,0,0,,0.2,0.75,,,tinytrain train");
        assert!(lines[2].starts_with("2,1,done,0.5,1,0,0,0,\"2,3\",0.1,,"), "{}", lines[2]);
        assert!(
            lines[3].starts_with(",0,failed,") && lines[3].contains("\"the loss became NaN, at step 3\"")
        );
        let ranked = ranked(&records);
        let shown = leaderboard(&ranked, 3, false).lines();
        assert_eq!(shown.len(), 3);
        assert!(shown[1].contains("90.00 %") && shown[1].trim_start().starts_with('1'), "{shown:?}");
    }
}
