//! Options of `tinytrain sweep`.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::sweep::Folder;
use crate::train::Config;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Parser};

use crate::cli::args::{self, Format};
use crate::cli::output::usage_line;
use crate::cli::train_options;

const SEARCH: &str = "Search";
const TOOLS: &str = "Other tools";

/// Default number of trials, and default with a time limit.
const TRIALS: [usize; 2] = [64, 1000];

/// Options of a call that may be combined with `--resume`.
const OF_A_CALL: [&str; 7] = ["resume", "total_time", "ensemble", "threads", "format", "quiet", "verbose"];

/// Search for good settings: train many networks on the same data and keep the best.
///
/// Each trial has its own settings, drawn at random from a space or taken from a grid; all other options are
/// those of `tinytrain train`. Trials are compared on the validation data (by default 20 % of the training
/// rows), or by cross-validation with --folds.
#[derive(Debug, Args)]
#[group(id = "sweep")]
#[command(
    after_help = "Examples:\n  tinytrain sweep --data table.csv --target class --trials 64 --ensemble 16\n  \
                        tinytrain sweep --data table.csv --space space.toml --halving --total-time 10m --out sweep\n  \
                        tinytrain sweep --resume sweep"
)]
pub struct Options {
    /// Number of settings to try. [default: 64; 1,000 with --total-time; 1 with --seeds; 0 with --from
    /// and no --space]
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub trials: Option<usize>,
    /// Stop after this time; trials in progress are cut short, evaluated and saved. Examples: 60s, 5m.
    #[arg(long, help_heading = SEARCH, value_name = "TIME", value_parser = args::duration, allow_hyphen_values = true)]
    pub total_time: Option<Duration>,
    /// TOML file with the settings to try. [default: a space for the preset, which --verbose prints; none with --seeds alone]
    ///
    /// Options of `train` by name, such as `lr = { log = [1e-4, 1e-1] }`, `dropout = { range = [0.0, 0.3] }`,
    /// `hidden = [[64], [256, 256]]`.
    #[arg(long, help_heading = SEARCH, value_name = "FILE")]
    pub space: Option<PathBuf>,
    /// Try all combinations of the space instead of random ones.
    #[arg(long, help_heading = SEARCH, conflicts_with = "trials")]
    pub grid: bool,
    /// Train each of the settings N times, with different seeds. [default: 1]
    ///
    /// Without --trials, --space, --grid and --settings: train the network that the other options describe N times.
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub seeds: Option<usize>,
    /// Successive halving: stop poor trials early.
    ///
    /// All trials train for a ninth of their epochs, the best third of them to a third, and the best third of
    /// these to the end.
    #[arg(long, help_heading = SEARCH)]
    pub halving: bool,
    /// Average the predictions of the best trials; N models are picked one by one, with repetition.
    ///
    /// Each pick is the trial that improves the validation loss most, among random halves of the trials
    /// (Caruana and others, 2004). The ensemble is saved as ensemble.safetensors, a model file like any
    /// other. With --folds the held-out rows of each fold are the validation data, and the trials that were
    /// picked are trained once more, on all rows.
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::picks, allow_hyphen_values = true)]
    pub ensemble: Option<usize>,
    /// Continue the sweep in this folder with the options it was started with; finished trials are kept.
    ///
    /// Only --total-time, --ensemble, --threads, --format, --quiet and --verbose can be combined with it.
    #[arg(long, help_heading = SEARCH, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Take over the finished trials of other sweeps on the same rows, for example of a job array.
    ///
    /// The options that decide the held-out rows must be the same; with --validation, seeds may differ.
    #[arg(long, help_heading = SEARCH, value_name = "DIR", num_args = 1..)]
    pub from: Vec<PathBuf>,
    /// Train the trials in this file, one JSON object of settings per line; `-` is standard input.
    #[arg(long, help_heading = TOOLS, value_name = "FILE", conflicts_with_all = ["space", "grid", "trials"])]
    pub settings: Option<PathBuf>,
    #[command(flatten)]
    pub train: train_options::Options,
}

/// The command line of a sweep, as stored in its folder.
#[derive(Debug, Parser)]
#[command(name = "tinytrain sweep", no_binary_name = true)]
struct Line {
    #[command(flatten)]
    options: Options,
}

impl Options {
    /// Returns the options with which the sweep in a folder began.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Data`] if there are none; [`Error::Config`] for unknown ones.
    pub fn stored(folder: &Folder) -> Result<Self> {
        Line::try_parse_from(folder.command()?).map(|line| line.options).map_err(|error| {
            let text = usage_line(&error.render().to_string());
            Error::Config(format!("{}: {text}", folder.file("sweep.json").display()))
        })
    }

    /// Returns whether results are printed for programs.
    pub fn is_json(&self) -> bool {
        self.train.format == Format::Json
    }

    /// Returns whether the network that the options describe is trained several times, without trying
    /// settings.
    pub fn repeats_one(&self) -> bool {
        let has_trials =
            self.trials.is_some() || self.space.is_some() || self.grid || self.settings.is_some();
        self.seeds.is_some() && !has_trials
    }

    /// Returns the number of times that each of the settings is trained.
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(1)
    }

    /// Returns the number of settings drawn at random.
    pub fn trials(&self) -> usize {
        let only_takes_over = !self.from.is_empty() && self.total_time.is_none() && self.space.is_none();
        let usual = if only_takes_over { 0 } else { TRIALS[usize::from(self.total_time.is_some())] };
        self.trials.unwrap_or(usual)
    }

    /// Returns whether the number of members is fixed; otherwise time decides.
    pub fn are_counted(&self) -> bool {
        let is_open = self.total_time.is_some() && self.trials.is_none() && !self.grid;
        !is_open || self.settings.is_some() || self.repeats_one()
    }

    /// Returns the seed for drawing settings.
    pub fn seed(&self) -> u64 {
        self.train.training.settings.seed.unwrap_or(Config::default().seed)
    }

    /// Returns the options of a sweep that began with `self` and is resumed by `call`.
    ///
    /// # Errors
    /// [`Error::Config`] for an option of the call that would change the members.
    pub fn go_on(mut self, call: &Self, matches: &ArgMatches) -> Result<Self> {
        let command = Self::augment_args(clap::Command::new("sweep"));
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let is_refused = |id: &str| is_given(id) && !OF_A_CALL.contains(&id);
        if let Some(argument) = command.get_arguments().find(|it| is_refused(it.get_id().as_str())) {
            let option = argument.get_long().unwrap_or_default();
            return Err(Error::Config(format!(
                "--{option} cannot be combined with --resume: a sweep continues with its own settings"
            )));
        }
        // The number from the start, whether time ended the sweep or not.
        self.trials = (!self.repeats_one()).then(|| self.trials());
        self.total_time = call.total_time;
        self.ensemble = call.ensemble.or(self.ensemble);
        let threads = &mut self.train.training.settings.threads;
        *threads = call.train.training.settings.threads.or(*threads);
        (self.train.format, self.train.quiet, self.train.verbose) =
            (call.train.format, call.train.quiet, call.train.verbose);
        Ok(self)
    }
}
