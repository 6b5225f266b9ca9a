//! A sweep whose members are trained by something else: it says which settings are tried, and is told how good they are.

use std::collections::HashSet;
use std::path::Path;
use tinytrain::sweep::{Folder, LEADERBOARD, Models, Record, csv, ranked};

use serde::Deserialize;
use serde_json::json;
use tinytrain::Error;
use tinytrain::error::Place;
use tinytrain::settings::DatasetInfo;

use super::leaderboard::command;
use super::options::Options;
use super::planned::{Common, lines, space};
use crate::cli::output::{print_json, print_line};

/// A result that something else has found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    member: usize,
    accuracy: Option<f64>,
    loss: Option<f64>,
    #[serde(default)]
    model: Option<String>,
}

/// Prints the next settings, or takes results.
///
/// # Errors
/// Those of the options and of the files.
pub fn run(options: &Options, line: &[String]) -> anyhow::Result<()> {
    let Some(out) = &options.train.out else { return Ok(()) };
    let mut folder = Folder::open_or_create(out, line)?;
    if let Some(path) = &options.tell {
        tell(&mut folder, path)?;
    }
    if let Some(count) = options.ask {
        ask(&folder, options, count)?;
    }
    Ok(())
}

fn ask(folder: &Folder, options: &Options, count: usize) -> anyhow::Result<()> {
    let common = Common::of(options);
    let base = &common.base;
    // Data that somebody has named are most often a table.
    let info = DatasetInfo { is_table: !base.training.data.is_empty(), ..base.info() };
    let (space, origin) = space(options, base.training.settings.preset_for(&info), true)?;
    let first = folder.asked()?.len();
    let mut text = String::new();
    for number in first..first + count {
        let settings = space.sample(options.seed(), number);
        let member = common.member(number, settings, &origin)?;
        let object = json!({ "member": number, "settings": member.settings, "arguments": member.line });
        text += &(object.to_string() + "\n");
    }
    // What is printed has been written down.
    folder.ask(&text)?;
    for line in text.lines() {
        print_json(line)?;
    }
    Ok(())
}

fn tell(folder: &mut Folder, path: &Path) -> anyhow::Result<()> {
    let asked = folder.asked()?;
    let mut told: HashSet<usize> = folder.records.iter().map(|record| record.member).collect();
    let mut of_classes = folder.records.first().map(|record| record.accuracy.is_some());
    let mut records = Vec::new();
    for (row, Told { member, accuracy, loss, model }) in lines(path)? {
        let bad = |expected: String, found: String| Error::Data {
            path: path.to_owned(),
            place: Place::row(row),
            expected,
            found,
        };
        let Some(asked_for) = asked.get(member) else {
            let expected = format!("a member that was asked for, 0 to {}", asked.len().saturating_sub(1));
            return Err(bad(expected, format!("member {member}")).into());
        };
        if !told.insert(member) {
            return Err(bad("each member once".to_owned(), format!("member {member} again")).into());
        }
        if accuracy.is_none() && loss.is_none() {
            return Err(bad("an accuracy or a loss".to_owned(), "neither".to_owned()).into());
        }
        if let Some(accuracy) = accuracy.filter(|accuracy| !(0.0..=1.0).contains(accuracy)) {
            return Err(bad("an accuracy from 0 to 1".to_owned(), accuracy.to_string()).into());
        }
        // A loss alone, as of values, and an accuracy have no order among them.
        let has = |accuracy: bool| if accuracy { "with an accuracy" } else { "without an accuracy" };
        if *of_classes.get_or_insert(accuracy.is_some()) != accuracy.is_some() {
            let expected = format!("a result {}, as those before it", has(accuracy.is_none()));
            return Err(bad(expected, format!("one {}", has(accuracy.is_some()))).into());
        }
        records.push(Record {
            member,
            end: "told".to_owned(),
            reason: None,
            settings: asked_for.settings.clone(),
            arguments: asked_for.arguments.clone(),
            accuracy,
            // An accuracy alone is enough to compare members by.
            loss: loss.or(accuracy.map(|accuracy| 1.0 - accuracy)),
            epochs: 0,
            kept: 0,
            seconds: 0.0,
            model,
            fold_models: Vec::new(),
            measures: Default::default(),
        });
    }
    let count = records.len();
    records.into_iter().try_for_each(|record| folder.add(record, None, &Models::default()))?;
    folder.write(LEADERBOARD, &csv(&folder.records, command)?)?;
    let ranked = ranked(&folder.records);
    let best = ranked.first().map_or("none".to_owned(), |first| format!("member {}", first.record.member));
    Ok(print_line(&format!("{count} results taken; best of {}: {best}", folder.records.len()))?)
}
