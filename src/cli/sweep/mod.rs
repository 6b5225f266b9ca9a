//! `tinytrain sweep`.

mod options;
mod report;
mod setup;

use std::path::PathBuf;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::runs::new_folder;
use crate::settings::DatasetInfo;
use crate::sweep::{
    Asked, FinishEvent, FinishedSweep, Folder, Halving, LEADERBOARD, Member, PAGE, Plan, RankedMember,
    Sources, Sweep, TrialPlan, best, check_apart, csv, merge as put_together, open_shards, ranked, tell,
};
use anyhow::Context;
use clap::{ArgMatches, Parser};

use self::options::Merge;
pub use self::options::{Action, Options};
use self::report::Report;
use self::setup::{PreparedSweep, SharedOptions, lines, space};
use crate::cli::config_file;
use crate::cli::output::{Console, print_json, print_line, warn};
use crate::cli::output_place::refuse_file_name;
use crate::cli::process::Interrupts;
use crate::cli::progress::Bar;
use crate::cli::train_options;
use crate::report::leaderboard::command;
use crate::report::standing;
use crate::report::text::{shell_word, unknown_cells};

/// A third of the members goes on, twice.
const HALVING: [usize; 2] = [3, 3];

/// The command line of a sweep, as its folder keeps it.
#[derive(Debug, Parser)]
#[command(name = "tinytrain sweep", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    options: Options,
}

/// Does what the options say. `matches` are those of the subcommand, `line` what stands behind it on the command line.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, matches: &ArgMatches, line: &[String], start: Instant) -> anyhow::Result<()> {
    if let Some(Action::Merge(merge)) = &options.action {
        return merge_shards(merge);
    }
    check(options)?;
    if let Some(path) = &options.resume {
        let folder = Folder::open(path)?;
        let options = stored(&folder)?.go_on(options, matches)?;
        check(&options)?;
        return train(&options, Some(folder), line, start);
    }
    if options.ask.is_some() || options.tell.is_some() {
        return ask_or_tell(options, line);
    }
    train(options, None, line, start)
}

/// The options with which the sweep in a folder began.
fn stored(folder: &Folder) -> Result<Options> {
    Line::try_parse_from(folder.command()?).map(|line| line.options).map_err(|error| {
        let text = crate::cli::output::usage_line(&error.render().to_string());
        Error::Config(format!("{}: {text}", folder.file("sweep.json").display()))
    })
}

/// Refuses what a sweep has no use for.
fn check(options: &Options) -> Result<()> {
    let text = match options {
        Options { train: train_options::Options { profile: Some(_), .. }, .. } => {
            "--profile cannot be combined with `tinytrain sweep`: one run is profiled at a time"
        }
        Options { shard: Some(_), halving: true, .. } => {
            "--shard cannot be combined with --halving: halving compares all trials with one another; docs/CLUSTER.md shows how to halve shards by hand"
        }
        _ => return Ok(()),
    };
    Err(Error::Config(text.to_owned()))
}

/// Trains what has not ended yet, and writes down the best.
fn train(options: &Options, resumed: Option<Folder>, line: &[String], start: Instant) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    if let Some(folder) = &resumed {
        check_fold_models(options.ensemble, options.train.folds, std::slice::from_ref(folder))?;
    }
    let (mut prepared, mut sources) = PreparedSweep::prepare(options, "training")?;
    let rows = sources.rows()?;
    let mut folder = match resumed {
        Some(folder) => folder,
        None => Folder::create(&place(options)?, line, Some(rows))?,
    };
    compare(&folder, &prepared)?;
    folder.check_rows(&rows)?;
    if prepared.common.holds_out {
        let text = "20 % of the training rows are held out for validation; use --validation-fraction or --validation to change that";
        prepared.notices.push(text.to_owned());
    }
    prepared.doubts.iter().for_each(|doubt| warn(doubt));
    if let Some(data) = sources.made().max_by_key(|data| data.unknown_cells().count()) {
        let schema = data.training().data_schema().schema;
        let lines = unknown_cells(data.unknown_cells(), schema.as_ref(), "the held-out rows");
        lines.iter().for_each(|line| warn(line));
    }
    let console = Console::new(options.train.quiet, 1).of_lasting("the sweep");
    let mut report = Report::new(options, &prepared, console, start);
    report.begin(&folder)?;
    let members = &prepared.members;
    let left: Vec<Member> = members.iter().filter(|member| !folder.has(member.number)).cloned().collect();
    let halving = options.halving.then(|| Halving::new(HALVING[0], HALVING[1]));
    let dropped = folder.records.iter().filter(|record| record.end == "dropped").filter_map(|record| {
        let member = members.iter().find(|member| member.number == record.member)?;
        Some((record.epochs, member.config.epochs))
    });
    let first_stage = halving.map_or(0, |halving| halving.stage_after(dropped));
    let plan = Plan {
        device: prepared.device.clone(),
        threads: options.train.training.settings.threads,
        halving,
        first_stage,
        deadline: options.total_time.map(|time| start + time),
    };
    let mut sweep = Sweep::new(left, plan);
    while let Some(event) = sweep.next()? {
        if interrupts.has_come() {
            sweep.stop();
        }
        report.take(event, &mut folder, sweep.rows())?;
    }
    drop(sweep);
    report.clear();
    if interrupts.has_come() {
        let are_on_folds = options.train.folds.is_some();
        let (ranked, _) = write_leaderboard(&folder, are_on_folds)?;
        best(&ranked, are_on_folds).map_or(Ok(None), |first| folder.keep_best(&first.record))?;
        return Err(interrupted(&interrupts, &folder, options, prepared.planned.len()));
    }
    finish(options, &prepared, &mut sources, &folder, &interrupts, report)
}

/// Writes down what a sweep gave that is over, and tells it.
fn finish(
    options: &Options,
    prepared: &PreparedSweep,
    sources: &mut Sources,
    folder: &Folder,
    interrupts: &Interrupts,
    report: Report<'_>,
) -> anyhow::Result<()> {
    let settings = &prepared.common.base.training.settings;
    let (ranked, failed) = write_leaderboard(folder, options.train.folds.is_some())?;
    let mut bar = Bar::new(!options.train.quiet && !options.is_json());
    let mut finish = FinishedSweep {
        folder,
        members: &prepared.members,
        sources,
        device: &prepared.device,
        threads: settings.threads,
        names: &prepared.names,
        picks: options.ensemble,
        seed: options.seed(),
        goes_on: &|| !interrupts.has_come(),
        tell: &mut |telling| match telling {
            FinishEvent::Refit { done, of } => bar.count("training on all rows", done, of),
            FinishEvent::NoEnsemble => warn("no ensemble: no trial finished training on all folds"),
            FinishEvent::BrokenOff { member, epochs } => warn(&format!(
                "no trial finished training on all folds; the best, trial {member}, was scored after {epochs} epochs and is now trained with its settings on all rows"
            )),
            FinishEvent::LeftOut { member, reason } => {
                bar.clear();
                warn(&format!("trial {member} is left out, as training on all rows failed: {reason}"));
            }
        },
    };
    let finished = finish.finish(&ranked);
    bar.clear();
    match finished {
        Err(Error::Interrupted) => Err(interrupted(interrupts, folder, options, prepared.planned.len())),
        finished => report.end(folder, &ranked, failed, finished?),
    }
}

/// Writes the members down in the order of their scores; these, and how many have failed.
fn write_leaderboard(folder: &Folder, are_on_folds: bool) -> Result<(Vec<RankedMember>, usize)> {
    folder.write(LEADERBOARD, &csv(&folder.records, command)?)?;
    let (page, ranked, failed) = standing(folder, are_on_folds)?;
    folder.write(PAGE, &page)?;
    Ok((ranked, failed))
}

/// What ends a sweep after a signal.
fn interrupted(interrupts: &Interrupts, folder: &Folder, options: &Options, all: usize) -> anyhow::Error {
    let (ended, path) = (folder.records.len(), folder.path().display());
    // A call may want an ensemble where the sweep began without one.
    let began = stored(folder).ok().and_then(|began| began.ensemble);
    let wanted = options.ensemble.filter(|_| began != options.ensemble);
    let more = wanted.map(|picks| format!(" --ensemble {picks}")).unwrap_or_default();
    let message = format!(
        "interrupted; {ended} of {all} trials are finished and saved in {path}; continue with tinytrain sweep --resume {path}{more}"
    );
    interrupts.ended(message).into()
}

/// Checks whether members of these folders that were trained on folds have left what an ensemble is picked by.
fn check_fold_models(picks: Option<usize>, folds: Option<usize>, folders: &[Folder]) -> Result<()> {
    match folds.filter(|_| picks.is_some()) {
        Some(folds) => folders.iter().try_for_each(|folder| folder.check_fold_models(folds)),
        None => Ok(()),
    }
}

/// The folder of a new sweep.
fn place(options: &Options) -> Result<PathBuf> {
    match &options.train.out {
        Some(path) => {
            refuse_file_name(path, "a folder")?;
            Ok(path.clone())
        }
        None => {
            let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
            new_folder(&(now.replace(':', "-") + "-sweep"))
        }
    }
}

/// Checks whether the members that have ended are those that would be trained now.
fn compare(folder: &Folder, PreparedSweep { common, planned, .. }: &PreparedSweep) -> Result<()> {
    // As options, not as words: they may have been written otherwise.
    let options = |line: &Vec<String>| -> Result<toml::Table> {
        let line = config_file::Line::try_parse_from(line);
        config_file::table(&line.map_err(|error| Error::Config(error.to_string()))?.options)
    };
    for record in &folder.records {
        let Some(same) = planned.iter().find(|planned| planned.number == record.member) else { continue };
        if options(&common.line(same)?).ok() != options(&record.arguments).ok() {
            let (path, member) = (folder.path().display(), record.member);
            return Err(Error::Config(format!(
                "{path}: expected trial {member} with the current settings, found others: the space has changed"
            )));
        }
    }
    Ok(())
}

/// Prints the next settings for something else that trains, or takes its results.
fn ask_or_tell(options: &Options, line: &[String]) -> anyhow::Result<()> {
    let Some(out) = &options.train.out else { return Ok(()) };
    let mut folder = Folder::open_or_create(out, line)?;
    if let Some(path) = &options.tell {
        let count = tell(&mut folder, lines(path)?, path)?;
        folder.write(LEADERBOARD, &csv(&folder.records, command)?)?;
        let ranked = ranked(&folder.records);
        let best = ranked.first().map_or("none".to_owned(), |first| format!("trial {}", first.record.member));
        print_line(&format!("{count} results taken; best of {}: {best}", folder.records.len()))?;
    }
    if let Some(count) = options.ask {
        let common = SharedOptions::from_options(options);
        let base = &common.base;
        // Data that somebody has named are most often a table.
        let info = DatasetInfo { is_table: !base.training.data.is_empty(), ..base.info() };
        let (space, origin) = space(options, base.training.settings.preset_for(&info), true)?;
        let planning = common.planning(options, &origin);
        let member = |number| {
            let planned = planning.member(number, space.sample(options.seed(), number))?;
            Ok(Asked { arguments: common.line(&planned)?, member: number, settings: planned.own })
        };
        // What is printed has been written down.
        folder.ask(count, member)?.lines().try_for_each(print_json)?;
    }
    Ok(())
}

/// The command line of a shard without what makes it one.
fn without_shard(command: &[String]) -> Vec<String> {
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
fn merge_shards(merge: &Merge) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    let shards = open_shards(&merge.folders)?;
    let of_all = |folder: &Folder| stored(folder).and_then(|options| options.of_all_shards());
    let first = of_all(&shards[0])?;
    for shard in &shards[1..] {
        if of_all(shard)? != first {
            anyhow::bail!(Error::Config(format!(
                "{}: expected a shard of the sweep in {}, found another sweep",
                shard.path().display(),
                shards[0].path().display()
            )));
        }
    }
    check_apart(&shards)?;
    let mut options = stored(&shards[0])?;
    let picks = merge.ensemble.or(options.ensemble);
    check_fold_models(picks, options.train.folds, &shards)?;
    (options.ensemble, options.shard) = (picks, None);
    (options.train.quiet, options.train.format) = (merge.quiet, merge.format);
    let (prepared, mut sources) = PreparedSweep::prepare(&options, "evaluating")?;
    let rows = sources.rows()?;
    for shard in &shards {
        compare(shard, &prepared)?;
        shard.check_rows(&rows)?;
    }
    refuse_file_name(&merge.out, "a folder")?;
    let folder = put_together(&shards, &merge.out, &without_shard(&shards[0].command()?), Some(rows))?;
    let missing = |planned: &&TrialPlan| !folder.has(planned.number);
    let missing = prepared.planned.iter().filter(missing).count();
    if missing > 0 && options.are_counted() {
        let (all, path) = (prepared.planned.len(), shell_word(folder.path()));
        warn(&format!(
            "{missing} of {all} trials are not finished in these folders; use tinytrain sweep --resume {path} to train them"
        ));
    }
    let report = Report::new(&options, &prepared, Console::new(merge.quiet, 1), Instant::now());
    finish(&options, &prepared, &mut sources, &folder, &interrupts, report)
}
