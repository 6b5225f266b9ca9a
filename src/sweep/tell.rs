//! Results of members that something else has trained.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use super::folder::{Folder, Models};
use super::record::Record;
use crate::error::{Error, Place, Result};

/// A result that something else has found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The number of the member.
    pub member: usize,
    /// By which it is judged, of classes.
    pub accuracy: Option<f64>,
    /// By which it is judged of values, and of classes of equal accuracy.
    pub loss: Option<f64>,
    /// Its model, in the folder of the sweep.
    #[serde(default)]
    pub model: Option<String>,
}

/// Takes results, each with the row of the file `path` in which it stands, into the folder of a sweep that has asked for them. Gives
/// their number.
///
/// # Errors
/// [`Error::Data`] for the first that cannot be; then none is taken. Those of the folder.
pub fn tell(folder: &mut Folder, answers: Vec<(u64, Answer)>, path: &Path) -> Result<usize> {
    let asked = folder.asked()?;
    let mut told: HashSet<usize> = folder.records.iter().map(|record| record.member).collect();
    let mut of_classes = folder.records.first().map(|record| record.accuracy.is_some());
    // A loss alone, as of values, and an accuracy have no order among them.
    let has = |accuracy: bool| if accuracy { "with an accuracy" } else { "without an accuracy" };
    let mut records = Vec::new();
    for (row, Answer { member, accuracy, loss, model }) in answers {
        let is_new = told.insert(member);
        let is_alike = *of_classes.get_or_insert(accuracy.is_some()) == accuracy.is_some();
        let bad = match (asked.get(member), accuracy, loss) {
            (None, ..) => Some((
                format!("a trial that was asked for, 0 to {}", asked.len().saturating_sub(1)),
                format!("trial {member}"),
            )),
            _ if !is_new => Some(("each trial once".to_owned(), format!("trial {member} again"))),
            (_, None, None) => Some(("an accuracy or a loss".to_owned(), "neither".to_owned())),
            (_, Some(accuracy), _) if !(0.0..=1.0).contains(&accuracy) => {
                Some(("an accuracy from 0 to 1".to_owned(), accuracy.to_string()))
            }
            _ if !is_alike => Some((
                format!("a result {}, as those before it", has(accuracy.is_none())),
                format!("one {}", has(accuracy.is_some())),
            )),
            (Some(asked), ..) => {
                // An accuracy alone is enough to compare members by.
                let loss = loss.or(accuracy.map(|accuracy| 1.0 - accuracy));
                records.push(Record {
                    member,
                    end: "told".to_owned(),
                    reason: None,
                    settings: asked.settings.clone(),
                    arguments: asked.arguments.clone(),
                    accuracy,
                    loss,
                    epochs: 0,
                    kept: 0,
                    seconds: 0.0,
                    model,
                    fold_models: Vec::new(),
                    measures: Default::default(),
                });
                None
            }
        };
        if let Some((expected, found)) = bad {
            return Err(Error::data(path, Place::row(row), expected, found));
        }
    }
    let count = records.len();
    records.into_iter().try_for_each(|record| folder.add(record, None, &Models::default()))?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Asked, Settings, ranked};

    #[test]
    fn what_was_asked_for_is_told_once() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::open_or_create(place.path(), &["--ask=2".to_owned()]).unwrap();
        let member = |member: usize| {
            let settings = Settings::from([("lr".to_owned(), member.into())]);
            Ok(Asked { arguments: vec![format!("--lr={member}")], member, settings })
        };
        assert_eq!(folder.ask(2, member).unwrap().lines().count(), 2);
        let next = folder.ask(1, member).unwrap();
        assert_eq!(next, "{\"arguments\":[\"--lr=2\"],\"member\":2,\"settings\":{\"lr\":2}}\n");
        let answer = |member, accuracy| Answer { member, accuracy, loss: None, model: None };
        let mut told = |answers: Vec<Answer>| tell(&mut folder, (1..).zip(answers).collect(), Path::new("a"));
        assert_eq!(told(vec![answer(2, Some(0.5)), answer(0, Some(0.75))]).unwrap(), 2);
        for (bad, part) in [
            (answer(0, Some(0.5)), "each trial once, found trial 0 again"),
            (answer(3, Some(0.5)), "0 to 2, found trial 3"),
            (answer(1, Some(1.5)), "an accuracy from 0 to 1, found 1.5"),
            (answer(1, None), "an accuracy or a loss, found neither"),
            (Answer { loss: Some(1.0), ..answer(1, None) }, "a result with an accuracy"),
        ] {
            let error = told(vec![bad]).unwrap_err().to_string();
            assert!(error.starts_with("a, row 1: expected ") && error.contains(part), "{error}");
        }
        let best = ranked(&folder.records).remove(0).record;
        assert_eq!(
            (best.member, best.loss, &best.arguments[..]),
            (0, Some(0.25), &["--lr=0".to_owned()][..])
        );
    }
}
