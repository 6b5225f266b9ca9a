//! The members of a sweep in the order of their scores, as a table and as CSV.

use std::collections::BTreeSet;

use serde_json::Value;
use tinytrain::sweep::by_score;
use tinytrain::{Error, Result};

use super::arguments::setting_text;
use super::record::Record;
use crate::cli::text::{Align, loss, percent, quoted, table as lines};

/// A member with its place.
pub struct Ranked {
    /// From 1.
    pub rank: usize,
    /// The member.
    pub record: Record,
}

/// Members by their scores, the best first, without those that have none.
pub fn ranked(records: &[Record]) -> Vec<Ranked> {
    let mut scored: Vec<&Record> = records.iter().filter(|record| record.score().is_some()).collect();
    // Those that were dropped have trained less; a good score of theirs is as good as any.
    scored.sort_by(|a, b| by_score(a.score().as_ref(), b.score().as_ref()).then(a.member.cmp(&b.member)));
    scored.into_iter().cloned().zip(1..).map(|(record, rank)| Ranked { rank, record }).collect()
}

/// The best member. Of members on folds the settings are trained once more, to their end: what a member gave that was broken off
/// says nothing of that, as long as there are others.
pub fn best(ranked: &[Ranked], are_on_folds: bool) -> Option<&Ranked> {
    let whole = ranked.iter().filter(|_| are_on_folds).find(|ranked| !ranked.record.is_broken_off());
    whole.or(ranked.first())
}

/// The names of all settings of some members.
pub fn names<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let names: BTreeSet<&String> = records.flat_map(|record| record.settings.keys()).collect();
    names.into_iter().cloned().collect()
}

/// The best members for people, with the settings in which they differ.
pub fn table(ranked: &[Ranked]) -> Vec<String> {
    let names = names(ranked.iter().map(|ranked| &ranked.record));
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let mut header = vec!["rank".to_owned(), "member".to_owned()];
    header.extend(of_classes.then(|| "accuracy".to_owned()));
    header.extend(["loss", "epochs"].map(str::to_owned));
    header.extend(names.iter().cloned());
    let mut align = vec![Align::Right; if of_classes { 5 } else { 4 }];
    align.extend(names.iter().map(|_| Align::Left));
    let row = |Ranked { rank, record }: &Ranked| {
        let mut row = vec![rank.to_string(), record.member.to_string()];
        row.extend(of_classes.then(|| record.accuracy.map(percent).unwrap_or_default()));
        row.extend([record.loss.map(loss).unwrap_or_default(), record.epochs.to_string()]);
        row.extend(names.iter().map(|name| setting_text(&record.settings, name)));
        row
    };
    lines(&[vec![header], ranked.iter().map(row).collect()].concat(), &align)
}

/// All members as CSV: those with a score by their rank, the others behind them.
///
/// # Errors
/// [`Error::Config`] when memory cannot hold it.
pub fn csv(records: &[Record]) -> Result<String> {
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
        cells.extend(names.iter().map(|name| setting_text(&record.settings, name)));
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

/// The command line that trains a member alone.
pub fn command(record: &Record) -> String {
    let word = |word: &String| match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => format!("{option}={}", quoted(value.as_ref())),
        _ => quoted(word.as_ref()),
    };
    let words = record.arguments.iter().map(word);
    ["tinytrain".to_owned(), "train".to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
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
        let text = csv(&records).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("setting.hidden,setting.lr,validation_auc,model,reason,command"));
        assert_eq!(lines[1], "1,2,done,0.9,0.5,0,0,0,,0.2,0.75,,,tinytrain train");
        assert!(lines[2].starts_with("2,1,done,0.5,1,0,0,0,\"2,3\",0.1,,"), "{}", lines[2]);
        assert!(
            lines[3].starts_with(",0,failed,") && lines[3].contains("\"the loss became NaN, at step 3\"")
        );
        let shown = table(&ranked(&records));
        assert_eq!(shown.len(), 3);
        assert!(shown[1].contains("90.00 %") && shown[1].trim_start().starts_with('1'), "{shown:?}");
    }
}
