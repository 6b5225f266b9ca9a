//! The members of a sweep in the order of their scores, as a table and as CSV.

use tinytrain::sweep::{Ranked, Record, names};

use crate::cli::text::{Table, loss, percent, quoted};

/// The best members for people, with the settings in which they differ.
pub fn table(ranked: &[Ranked]) -> Vec<String> {
    board(ranked, ranked.len(), false).lines()
}

/// The best members, so many of them, with the settings in which they differ.
pub fn board(ranked: &[Ranked], most: usize, has_seconds: bool) -> Table {
    let names = names(ranked.iter().map(|ranked| &ranked.record));
    let of_classes = ranked.iter().any(|ranked| ranked.record.accuracy.is_some());
    let mut columns = vec![">rank", ">member", ">loss", ">epochs"];
    if has_seconds {
        columns.push(">seconds");
    }
    columns.extend(names.iter().map(String::as_str));
    let row = |Ranked { rank, record }: &Ranked| {
        let mut row = vec![rank.to_string(), record.member.to_string()];
        row.extend(of_classes.then(|| record.accuracy.map(percent).unwrap_or_default()));
        row.extend([record.loss.map(loss).unwrap_or_default(), record.epochs.to_string()]);
        row.extend(has_seconds.then(|| format!("{:.2}", record.seconds)));
        row.extend(names.iter().map(|name| record.setting(name)));
        row
    };
    if of_classes {
        columns.insert(2, ">accuracy");
    }
    Table::new(&columns, ranked.iter().take(most).map(row))
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
    use tinytrain::sweep::{csv, ranked};

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
        let shown = table(&ranked(&records));
        assert_eq!(shown.len(), 3);
        assert!(shown[1].contains("90.00 %") && shown[1].trim_start().starts_with('1'), "{shown:?}");
    }
}
