//! `tinytrain sweep`.

mod arguments;
mod drawing;
mod finish;
mod leaderboard;
mod merge;
mod options;
mod outer;
mod overview;
mod page;
mod planned;
mod prepared;
mod refit;
mod report;
mod spaces;

use std::path::PathBuf;
use std::time::Instant;
use tinytrain::sweep::{FileRows, Folder, Halving, Member, Plan, Sweep};

use anyhow::Context;
use clap::{ArgMatches, Parser};
use tinytrain::{Error, Result};

use self::finish::Finish;
pub use self::options::Action;
pub use self::options::Options;
pub use self::overview::Overview;
pub use self::page::page_of;
use self::planned::Planned;
use self::prepared::Prepared;
use self::report::Report;
use crate::cli::config_file;
use crate::cli::interrupt::Interrupts;
use crate::cli::output::{Console, warn};
use crate::cli::output_place::refuse_file_name;
use crate::cli::text::unknown_cells;
use tinytrain::runs::new_folder;

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
        return merge::run(merge);
    }
    check(options)?;
    if let Some(path) = &options.resume {
        let folder = Folder::open(path)?;
        let options = stored(&folder)?.go_on(options, matches)?;
        check(&options)?;
        return swept(&options, Some(folder), line, start);
    }
    if options.ask.is_some() || options.tell.is_some() {
        return outer::run(options, line);
    }
    swept(options, None, line, start)
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
    let train = &options.train;
    let folds = train.folds.is_some();
    let refused = [
        ("--profile", train.profile.is_some(), "one run is profiled at a time"),
        ("--test", train.test.is_some() && folds, "each fold tests on the rows that it holds out"),
        (
            "--test-fraction",
            train.training.settings.test_fraction.is_some() && folds,
            "each fold tests on the rows that it holds out",
        ),
        (
            "--shard",
            options.shard.is_some() && options.halving,
            "halving compares all members with one another; docs/CLUSTER.md says how to halve shards by hand",
        ),
    ];
    match refused.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, why)) => {
            let beside = match option {
                "--profile" => "with `tinytrain sweep`",
                "--shard" => "beside --halving",
                _ => "beside --folds",
            };
            Err(Error::Config(format!("{option}: expected none {beside}: {why}")))
        }
        None => Ok(()),
    }
}

/// Trains what has not ended yet, and writes down the best.
fn swept(options: &Options, resumed: Option<Folder>, line: &[String], start: Instant) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    if let Some(folder) = &resumed {
        check_fold_models(options.ensemble, options.train.folds, std::slice::from_ref(folder))?;
    }
    let Prepared { common, tried, planned, members, mut sources, device, mut notices } =
        Prepared::of(options, "training")?;
    let rows = sources.rows()?;
    let mut folder = match resumed {
        Some(folder) => folder,
        None => Folder::create(&place(options)?, line, Some(rows))?,
    };
    compare(&folder, &planned)?;
    compare_rows(&folder, &rows)?;
    if common.holds_out {
        notices.push(
            "a fifth of the training rows validates; --validation-fraction or --validation says which"
                .to_owned(),
        );
    }
    let unknown = sources.made().map(|data| data.unknown_cells()).max().unwrap_or(0);
    if unknown > 0 {
        warn(&unknown_cells(unknown, "the rows that do not train"));
    }
    let console = Console::new(options.train.quiet, 1).of_lasting("the sweep");
    let mut report = Report::new(options, &planned, &members, console, start);
    report.begin(&notices, &tried, &device, &folder)?;
    let left: Vec<Member> = members.iter().filter(|member| !folder.has(member.number)).cloned().collect();
    let halving = options.halving.then(|| Halving::new(HALVING[0], HALVING[1]));
    let plan = Plan {
        device: device.clone(),
        threads: options.train.training.settings.threads,
        halving,
        first_stage: halving.map_or(0, |halving| stage(halving, &folder, &members)),
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
        finish::interrupted(&folder, options.train.folds.is_some())?;
        return Err(interrupted(&interrupts, &folder, options, planned.len()));
    }
    let mut finish = Finish {
        members: &members,
        device: &device,
        common: &common,
        sources: &mut sources,
        is_seen: !options.train.quiet && !options.is_json(),
        goes_on: &|| !interrupts.has_come(),
    };
    match finish.finish(&folder, options.ensemble, &planned) {
        Err(Error::Interrupted) => Err(interrupted(&interrupts, &folder, options, planned.len())),
        finished => report.end(&folder, finished?),
    }
}

/// What ends a sweep after a signal.
fn interrupted(interrupts: &Interrupts, folder: &Folder, options: &Options, all: usize) -> anyhow::Error {
    let (ended, path) = (folder.records.len(), folder.path().display());
    // A call may want an ensemble where the sweep began without one.
    let began = stored(folder).ok().and_then(|began| began.ensemble);
    let wanted = options.ensemble.filter(|_| began != options.ensemble);
    let more = wanted.map(|picks| format!(" --ensemble {picks}")).unwrap_or_default();
    let message = format!(
        "interrupted; {ended} of {all} members have ended and are saved in {path}; tinytrain sweep --resume {path}{more} goes on"
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
fn compare(folder: &Folder, planned: &[Planned]) -> Result<()> {
    for record in &folder.records {
        let same = planned.iter().find(|planned| planned.number == record.member);
        // As options, not as words: they may have been written otherwise.
        let options = |line: &Vec<String>| -> Result<toml::Table> {
            let line =
                config_file::Line::try_parse_from(line).map_err(|error| Error::Config(error.to_string()))?;
            config_file::table(&line.options)
        };
        if same.is_some_and(|planned| options(&planned.line).ok() != options(&record.arguments).ok()) {
            let text = format!(
                "{}: expected member {} with the settings of now, found others: the space has changed",
                folder.path().display(),
                record.member
            );
            return Err(Error::Config(text));
        }
    }
    Ok(())
}

/// Checks whether the rows are those with which the sweep began: scores on others are none to compare, and rows that validate now
/// may have trained members then.
fn compare_rows(folder: &Folder, rows: &FileRows) -> Result<()> {
    if folder.rows()?.is_some_and(|began| began != *rows) {
        let path = folder.path().display();
        let text = format!(
            "{path}: expected the rows with which the sweep began, found others: the data have changed"
        );
        return Err(Error::Config(text));
    }
    Ok(())
}

/// The stage of halving behind the last one at which members were dropped.
fn stage(halving: Halving, folder: &Folder, members: &[Member]) -> usize {
    let dropped = folder.records.iter().filter(|record| record.end == "dropped");
    let stage = |(number, epochs): (usize, usize)| {
        let member = members.iter().find(|member| member.number == number)?;
        (0..halving.stages()).find(|stage| halving.until(*stage, member.config.epochs) == epochs)
    };
    let stages = dropped.filter_map(|record| stage((record.member, record.epochs)));
    stages.max().map_or(0, |stage| stage + 1)
}
