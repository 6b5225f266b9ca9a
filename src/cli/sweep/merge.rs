//! `tinytrain sweep merge`.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;
use tinytrain::sweep::{Folder, check_apart, merge as put_together};

use anyhow::Context;
use tinytrain::{Error, Result};

use super::finish::Finish;
use super::options::Merge;
use super::prepared::Prepared;
use super::report::Report;
use super::{check_fold_models, compare, compare_rows, interrupted, stored};
use crate::cli::interrupt::Interrupts;
use crate::cli::output::{Console, warn};
use crate::cli::output_place::refuse_file_name;
use crate::cli::text::shell_word;

/// The command line of a shard without what makes it one.
fn whole(command: &[String]) -> Vec<String> {
    let mut whole = Vec::new();
    let mut words = command.iter();
    while let Some(word) = words.next() {
        if ["--shard", "--out"].contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with("--shard=") && !word.starts_with("--out=") {
            whole.push(word.clone());
        }
    }
    whole
}

/// Puts shards together.
///
/// # Errors
/// Those of the folders, the options that the sweep began with, the data and the device.
pub fn run(merge: &Merge) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    for (number, path) in merge.folders.iter().enumerate() {
        let is_same = |other: &PathBuf| fs::canonicalize(other).ok() == fs::canonicalize(path).ok();
        if merge.folders[..number].iter().any(is_same) {
            let text =
                format!("{}: expected members that no other folder has, found it twice", path.display());
            return Err(Error::Config(text).into());
        }
    }
    let shards =
        merge.folders.iter().map(|path| Folder::open_to_read(path)).collect::<Result<Vec<Folder>>>()?;
    let of_all = |folder: &Folder| stored(folder).and_then(|options| options.of_all_shards());
    let first = of_all(&shards[0])?;
    for shard in &shards[1..] {
        if of_all(shard)? != first {
            let text = format!(
                "{}: expected a shard of the sweep in {}, found another sweep",
                shard.path().display(),
                shards[0].path().display()
            );
            return Err(Error::Config(text).into());
        }
    }
    check_apart(&shards)?;
    let mut options = stored(&shards[0])?;
    let picks = merge.ensemble.or(options.ensemble);
    check_fold_models(picks, options.train.folds, &shards)?;
    (options.ensemble, options.shard) = (picks, None);
    (options.train.quiet, options.train.format) = (merge.quiet, merge.format);
    let Prepared { common, planned, members, mut sources, device, .. } =
        Prepared::of(&options, "evaluating")?;
    let rows = sources.rows()?;
    for shard in &shards {
        compare(shard, &planned)?;
        compare_rows(shard, &rows)?;
    }
    refuse_file_name(&merge.out, "a folder")?;
    let folder = put_together(&shards, &merge.out, &whole(&shards[0].command()?), Some(rows))?;
    let missing = planned.iter().filter(|planned| !folder.has(planned.number)).count();
    if missing > 0 && options.are_counted() {
        let (all, path) = (planned.len(), shell_word(folder.path()));
        warn(&format!(
            "{missing} of {all} members have not ended in these folders; tinytrain sweep --resume {path} trains them"
        ));
    }
    let report = Report::new(&options, &planned, &members, Console::new(merge.quiet, 1), Instant::now());
    let mut finish = Finish {
        members: &members,
        device: &device,
        common: &common,
        sources: &mut sources,
        is_seen: !merge.quiet && !options.is_json(),
        goes_on: &|| !interrupts.has_come(),
    };
    match finish.finish(&folder, picks, &planned) {
        Err(Error::Interrupted) => Err(interrupted(&interrupts, &folder, &options, planned.len())),
        finished => report.end(&folder, finished?),
    }
}
