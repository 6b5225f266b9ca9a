//! `tinytrain sweep`.

mod arguments;
mod board;
mod drawing;
mod finish;
mod folder;
mod leaderboard;
mod options;
mod outer;
mod page;
mod planned;
mod prepared;
mod record;
mod report;
mod spaces;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::{ArgMatches, Parser};
use tinytrain::engine::Device;
use tinytrain::sweep::{Halving, Member, Plan, Sweep};
use tinytrain::{Error, Result};

use self::arguments::Template;
use self::finish::Finish;
use self::folder::Folder;
pub use self::options::Options;
use self::options::{Action, Merge};
use self::planned::Planned;
use self::prepared::Prepared;
use self::report::Report;
use crate::cli::args::Format;
use crate::cli::given;
use crate::cli::interrupt::Interrupts;
use crate::cli::output::{Console, warn};
use crate::cli::run_folder::new_folder;
use crate::cli::text::unknown_cells;

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
        return merged(merge);
    }
    given::refuse_unspellable::<Options>(matches, &[], "")?;
    check(options)?;
    if let Some(path) = &options.resume {
        let folder = Folder::open(path)?;
        let (began, stored) = stored(&folder)?;
        let options = began.go_on(options, matches)?;
        check(&options)?;
        return swept(&options, Template::of(&stored), Some(folder), line, start);
    }
    if options.ask.is_some() || options.tell.is_some() {
        return outer::run(options, Template::of(matches), line);
    }
    swept(options, Template::of(matches), None, line, start)
}

/// The options with which the sweep in a folder began.
fn stored(folder: &Folder) -> Result<(Options, ArgMatches)> {
    let words = folder.command()?;
    let unreadable = |error: clap::Error| {
        let text = crate::cli::output::usage_line(&error.render().to_string());
        Error::Config(format!("{}: {text}", folder.file("sweep.json").display()))
    };
    let matches =
        <Line as clap::CommandFactory>::command().try_get_matches_from(words).map_err(unreadable)?;
    let line = <Line as clap::FromArgMatches>::from_arg_matches(&matches).map_err(unreadable)?;
    Ok((line.options, matches))
}

/// Refuses what a sweep has no use for.
fn check(options: &Options) -> Result<()> {
    let (train, held_out) = (&options.train, &options.train.held_out);
    let folds = train.folds.is_some();
    let refused = [
        ("--profile", train.profile.is_some(), "one run is profiled at a time"),
        ("--ensemble", options.ensemble.is_some() && folds, "folds have no validation rows in common"),
        ("--test", held_out.test.is_some() && folds, "each fold tests on the rows that it holds out"),
        (
            "--test-fraction",
            held_out.test_fraction.is_some() && folds,
            "each fold tests on the rows that it holds out",
        ),
        (
            "--shard",
            options.shard.is_some() && options.halving,
            "halving compares all members with one another",
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
fn swept(
    options: &Options,
    template: Template,
    resumed: Option<Folder>,
    line: &[String],
    start: Instant,
) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch().context("cannot watch for signals")?;
    let Prepared { common, tried, planned, members, mut sources, device, mut notices } =
        Prepared::of(options, template, "training")?;
    let mut folder = match resumed {
        Some(folder) => folder,
        None => Folder::create(&place(options)?, line)?,
    };
    compare(&folder, &planned)?;
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
        threads: options.train.training.threads,
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
        finish::interrupted(&folder)?;
        let (ended, all) = (folder.records.len(), planned.len());
        let path = folder.path().display();
        let message = format!(
            "interrupted; {ended} of {all} members have ended and are saved in {path}; tinytrain sweep --resume {path} goes on"
        );
        return Err(interrupts.ended(message).into());
    }
    let mut finish = Finish { members: &members, device: &device, common: &common, sources: &mut sources };
    let finished = finish.finish(&folder, options.ensemble, &planned)?;
    report.end(&folder, finished)
}

/// The folder of a new sweep.
fn place(options: &Options) -> Result<PathBuf> {
    match &options.train.out {
        Some(path) => Ok(path.clone()),
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
        if same.is_some_and(|planned| planned.line != record.arguments) {
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

/// Puts shards together.
fn merged(merge: &Merge) -> anyhow::Result<()> {
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
    let whole = |folder: &Folder| {
        let words = folder.command()?;
        let mut whole = Vec::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            if ["--shard", "--out"].contains(&word.as_str()) {
                words.next();
            } else if !word.starts_with("--shard=") && !word.starts_with("--out=") {
                whole.push(word);
            }
        }
        Ok::<_, Error>(whole)
    };
    let command = whole(&shards[0])?;
    for shard in &shards[1..] {
        if whole(shard)? != command {
            let text = format!(
                "{}: expected a shard of the sweep in {}, found another sweep",
                shard.path().display(),
                shards[0].path().display()
            );
            return Err(Error::Config(text).into());
        }
    }
    let mut known = HashSet::new();
    for shard in &shards {
        if let Some(record) = shard.records.iter().find(|record| !known.insert(record.member)) {
            let text = format!(
                "{}: expected members that no other folder has, found member {}",
                shard.path().display(),
                record.member
            );
            return Err(Error::Config(text).into());
        }
    }
    let mut folder = Folder::create(&merge.out, &command)?;
    shards.iter().try_for_each(|shard| folder.take(shard))?;
    let (mut options, matches) = stored(&folder)?;
    options.ensemble = merge.ensemble.or(options.ensemble);
    (options.train.quiet, options.train.format) = (merge.quiet, merge.format);
    let Prepared { common, planned, members, mut sources, device, .. } =
        Prepared::of(&options, Template::of(&matches), "evaluating")?;
    compare(&folder, &planned)?;
    let report = Report::new(&options, &planned, &members, Console::new(merge.quiet, 1), Instant::now());
    let mut finish = Finish { members: &members, device: &device, common: &common, sources: &mut sources };
    let finished = finish.finish(&folder, options.ensemble, &planned)?;
    report.end(&folder, finished)
}

/// Whether a device is the processor, where members are trained at once.
fn is_cpu(device: &Device) -> bool {
    matches!(device, Device::Cpu)
}

/// Whether results go to programs.
fn is_json(options: &Options) -> bool {
    options.train.format == Format::Json
}

/// A path as a word.
fn word(path: &Path) -> String {
    crate::cli::text::shell_word(path)
}
