//! `tinytrain sweep`.

mod import;
mod options;
mod report;
mod setup;

use std::path::PathBuf;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::runs::new_folder;
use crate::sweep::{
    FinishEvent, FinishedSweep, Folder, Halving, LEADERBOARD, Member, PAGE, Plan, RankedMember, Sources,
    Sweep, best, csv,
};
use clap::{ArgMatches, Parser};

use self::import::Imports;
pub use self::options::Options;
use self::report::Report;
use self::setup::PreparedSweep;
use crate::cli::config_file;
use crate::cli::output::{Console, warn};
use crate::cli::output_place::refuse_file_name;
use crate::cli::process::{Interrupts, stamp};
use crate::cli::progress::Bar;
use crate::cli::train_options;
use crate::report::leaderboard::command;
use crate::report::standing;
use crate::report::text::unknown_cells;

/// A third of the members continues, twice.
const HALVING: [usize; 2] = [3, 3];

/// Runs a sweep. `matches` are the options of the subcommand, `line` the command line after the subcommand.
///
/// # Errors
/// Errors of the options, the data, the device and the output.
pub fn run(
    options: &Options,
    matches: &ArgMatches,
    line: &[String],
    interrupts: &Interrupts,
    start: Instant,
) -> anyhow::Result<()> {
    check(options)?;
    let files = [("space", &options.space), ("settings", &options.settings)].into_iter();
    let files = files.filter_map(|(option, path)| Some((option, path.as_ref()?)));
    options.train.check_unicode(files, "rename it, or use a link to it")?;
    if let Some(path) = &options.resume {
        let folder = Folder::open(path)?;
        let options = Options::stored(&folder)?.go_on(options, matches)?;
        check(&options)?;
        return train(&options, Some(folder), line, interrupts, start);
    }
    train(options, None, line, interrupts, start)
}

/// Rejects options that do not apply to sweeps.
fn check(options: &Options) -> Result<()> {
    let text = match options {
        Options { train: train_options::Options { profile: Some(_), .. }, .. } => {
            "--profile cannot be combined with `tinytrain sweep`: one run is profiled at a time"
        }
        _ => return Ok(()),
    };
    Err(Error::Config(text.to_owned()))
}

/// Trains the unfinished members, and saves the best model.
fn train(
    options: &Options,
    resumed: Option<Folder>,
    line: &[String],
    interrupts: &Interrupts,
    start: Instant,
) -> anyhow::Result<()> {
    if let (Some(folder), Some(_), Some(folds)) = (&resumed, options.ensemble, options.train.folds) {
        folder.check_fold_models(folds)?;
    }
    let imports = Imports::open(options, resumed.as_ref())?;
    let (mut prepared, mut sources) = PreparedSweep::prepare(options, &imports)?;
    let rows = sources.rows()?;
    let mut folder = match resumed {
        Some(folder) => folder,
        None => Folder::create(&place(options)?, line, &rows)?,
    };
    compare(&folder, &prepared)?;
    folder.check_rows(&rows)?;
    imports.copy(prepared.planned.len(), &mut folder, &rows)?;
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
    interrupts.ask();
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
        folder.keep();
        return Err(interrupts.ended(interrupted(&folder, options, prepared.members.len())).into());
    }
    // All finished trials are saved, so the next signal may end the program immediately.
    interrupts.end_with(interrupted(&folder, options, prepared.members.len()));
    if options.total_time.is_some() {
        // A sweep without enough time can be resumed with more.
        folder.keep();
    }
    finish(options, &prepared, &mut sources, &folder, report)
}

/// Saves and prints the results of a completed sweep.
fn finish(
    options: &Options,
    prepared: &PreparedSweep,
    sources: &mut Sources,
    folder: &Folder,
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
    report.end(folder, &ranked, failed, finished?)
}

/// Writes the members in the order of their scores; returns the members and the number of failures.
fn write_leaderboard(folder: &Folder, are_on_folds: bool) -> Result<(Vec<RankedMember>, usize)> {
    folder.write(LEADERBOARD, &csv(&folder.records, command)?)?;
    let (page, ranked, failed) = standing(folder, are_on_folds)?;
    folder.write(PAGE, &page)?;
    Ok((ranked, failed))
}

/// Returns the message with which a signal ends a sweep.
fn interrupted(folder: &Folder, options: &Options, all: usize) -> String {
    let (ended, path) = (folder.records.len(), folder.path().display());
    // A call may add an ensemble to a sweep that began without one.
    let began = Options::stored(folder).ok().and_then(|began| began.ensemble);
    let wanted = options.ensemble.filter(|_| began != options.ensemble);
    let more = wanted.map(|picks| format!(" --ensemble {picks}")).unwrap_or_default();
    format!(
        "interrupted; {ended} of {all} trials are finished and saved in {path}; continue with tinytrain sweep --resume {path}{more}"
    )
}

/// Returns the folder of a new sweep.
fn place(options: &Options) -> Result<PathBuf> {
    match &options.train.out {
        Some(path) => {
            refuse_file_name(path, "a folder")?;
            Ok(path.clone())
        }
        None => new_folder(&format!("{}-sweep", stamp())),
    }
}

/// Checks that the finished members are the same as now planned.
fn compare(folder: &Folder, PreparedSweep { common, planned, .. }: &PreparedSweep) -> Result<()> {
    // Compares options instead of words, since spellings may differ.
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
