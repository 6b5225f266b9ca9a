//! Members of a sweep in the order of their scores.

use std::collections::BTreeSet;

use serde_json::Value;

use super::halving::by_score;
use super::record::Record;
use crate::error::{Error, Result};

/// A member with its rank.
pub struct RankedMember {
    /// Rank, from 1.
    pub rank: usize,
    /// The member.
    pub record: Record,
}

/// Returns the members with a score, the best first.
pub fn ranked(records: &[Record]) -> Vec<RankedMember> {
    let mut scored: Vec<&Record> = records.iter().filter(|record| record.score().is_some()).collect();
    // Dropped members have trained less; their scores count equally.
    scored.sort_by(|a, b| by_score(a.score().as_ref(), b.score().as_ref()).then(a.member.cmp(&b.member)));
    scored.into_iter().cloned().zip(1..).map(|(record, rank)| RankedMember { rank, record }).collect()
}

/// Returns the best member. The settings of members on folds are trained again, to the end: scores of
/// interrupted members are not representative, so they are used only if there are no others.
pub fn best(ranked: &[RankedMember], are_on_folds: bool) -> Option<&RankedMember> {
    let whole = ranked.iter().filter(|_| are_on_folds).find(|ranked| !ranked.record.is_broken_off());
    whole.or(ranked.first())
}

/// Returns the names of all settings of some members.
pub fn names<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let names: BTreeSet<&String> = records.flat_map(|record| record.settings.keys()).collect();
    names.into_iter().cloned().collect()
}

/// Returns all members as CSV: members with a score by rank, followed by the others; each with a command that
/// trains it.
///
/// # Errors
/// [`Error::Config`] when it does not fit into memory.
pub fn csv(records: &[Record], command: impl Fn(&Record) -> String) -> Result<String> {
    let names = names(records.iter());
    let measures: BTreeSet<&String> = records.iter().flat_map(|record| record.measures.keys()).collect();
    let mut header = ["rank", "member", "end", "accuracy", "loss", "epochs", "kept", "seconds"]
        .map(str::to_owned)
        .to_vec();
    header.extend(names.iter().map(|name| format!("setting.{name}")));
    header.extend(measures.iter().map(|name| name.to_string()));
    header.extend(["model", "reason", "command"].map(str::to_owned));
    let mut rows = vec![header];
    let ranked = ranked(records);
    let others = records.iter().filter(|record| record.score().is_none()).map(|record| (None, record));
    for (rank, record) in ranked.iter().map(|ranked| (Some(ranked.rank), &ranked.record)).chain(others) {
        let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
        let mut cells = vec![
            rank.map(|rank| rank.to_string()).unwrap_or_default(),
            record.member.to_string(),
            record.end.clone(),
            number(record.accuracy),
            number(record.loss),
            record.epochs.to_string(),
            record.kept.to_string(),
            record.seconds.to_string(),
        ];
        cells.extend(names.iter().map(|name| record.setting(name)));
        cells.extend(measures.iter().map(|name| match record.measures.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(value) => value.to_string(),
        }));
        cells.extend([
            record.model.clone().unwrap_or_default(),
            record.reason.clone().unwrap_or_default(),
            command(record),
        ]);
        rows.push(cells);
    }
    let unwritten = |error: &dyn std::fmt::Display| Error::Config(format!("the leaderboard: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.write_record(row)).map_err(|error| unwritten(&error))?;
    let bytes = writer.into_inner().map_err(|error| unwritten(&error))?;
    String::from_utf8(bytes).map_err(|error| unwritten(&error))
}
