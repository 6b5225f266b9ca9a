//! `history.csv` of a sweep: a line for each epoch of its trials.

use super::member::FinishedMember;
use crate::train::Score;

/// First line of the file.
pub(super) const HEADER: &str = "member,fold,epoch,train_loss,train_accuracy,validation_loss,validation_accuracy,test_loss,test_accuracy,seconds\n";

/// Returns the epochs of a member as lines.
pub(super) fn lines(ended: &FinishedMember) -> String {
    let mut lines = String::new();
    for (fold, run) in ended.runs.iter().enumerate() {
        for epoch in &run.epochs {
            let figures = |score: Option<&Score>| {
                let score = score.map(|score| (score.loss, score.values.is_none().then_some(score.accuracy)));
                let accuracy =
                    score.and_then(|(_, accuracy)| accuracy).map(|it| it.to_string()).unwrap_or_default();
                format!("{},{accuracy}", score.map(|(loss, _)| loss.to_string()).unwrap_or_default())
            };
            let [train, validation, test] =
                [Some(&epoch.train), epoch.validation.as_ref(), epoch.test.as_ref()].map(figures);
            let seconds = epoch.duration.as_secs_f64();
            lines += &format!(
                "{},{fold},{},{train},{validation},{test},{seconds:.6}\n",
                ended.member, epoch.epoch
            );
        }
    }
    lines
}

/// Returns the lines of one member with another number.
pub(super) fn renumbered(history: &str, member: usize, number: usize) -> String {
    let own = format!("{member},");
    let epochs = history.lines().filter_map(|line| line.strip_prefix(&own));
    epochs.map(|epoch| format!("{number},{epoch}\n")).collect()
}
