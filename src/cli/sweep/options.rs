//! Options of `tinytrain sweep`.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::sweep::Shard;
use crate::train::Config;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Subcommand};

use crate::cli::args::{self, Format};
use crate::cli::{config_file, train_options};

const SEARCH: &str = "Search";
const TOOLS: &str = "Other tools and machines";

/// The default number of trials, and the one with a time limit.
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
#[command(args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Examples:\n  tinytrain sweep --data table.csv --target class --trials 64 --ensemble 16\n  \
                        tinytrain sweep --data table.csv --space space.toml --halving --total-time 10m --out sweep\n  \
                        tinytrain sweep --resume sweep\n  \
                        tinytrain sweep merge shard1 shard2 --out sweep"
)]
pub struct Options {
    #[command(subcommand)]
    pub action: Option<Action>,
    /// Number of settings to try. [default: 64; 1,000 with --total-time; 1 with --seeds]
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
    /// Each pick is the trial that improves the validation loss most, on four random parts of the validation
    /// data (Caruana and others, 2004). The ensemble is saved as ensemble.safetensors, a model file like any
    /// other. With --folds the held-out rows of each fold are the validation data, and the trials that were
    /// picked are trained once more, on all rows.
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub ensemble: Option<usize>,
    /// Continue the sweep in this folder with the options it was started with; finished trials are kept.
    ///
    /// Only --total-time, --ensemble, --threads, --format, --quiet and --verbose can be combined with it.
    #[arg(long, help_heading = SEARCH, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Train only every N-th trial, starting at the I-th. `tinytrain sweep merge` combines the shards.
    #[arg(long, help_heading = TOOLS, value_name = "I/N", value_parser = args::parse::<Shard>)]
    pub shard: Option<Shard>,
    /// Train the trials in this file, one JSON object of settings per line; `-` is standard input.
    #[arg(long, help_heading = TOOLS, value_name = "FILE", conflicts_with_all = ["space", "grid", "trials"])]
    pub settings: Option<PathBuf>,
    /// Print the settings of N trials as JSON lines for another program to train, and train nothing.
    ///
    /// The next call prints the next trials.
    #[arg(long, help_heading = TOOLS, value_name = "N", value_parser = args::count, requires = "out",
          conflicts_with_all = ["settings", "grid", "trials", "tell", "seeds", "shard", "halving", "ensemble", "total_time"])]
    pub ask: Option<usize>,
    /// Add results of trials to the leaderboard; `-` is standard input.
    ///
    /// JSON lines such as {"member": 3, "accuracy": 0.97, "loss": 0.1}.
    #[arg(long, help_heading = TOOLS, value_name = "FILE", requires = "out",
          conflicts_with_all = ["settings", "grid", "trials", "seeds", "shard", "halving", "ensemble", "total_time"])]
    pub tell: Option<PathBuf>,
    #[command(flatten)]
    pub train: train_options::Options,
}

impl Options {
    /// Whether results go to programs.
    pub fn is_json(&self) -> bool {
        self.train.format == Format::Json
    }

    /// Whether the network that the options describe is trained several times, and no settings are tried.
    pub fn repeats_one(&self) -> bool {
        let has_trials =
            self.trials.is_some() || self.space.is_some() || self.grid || self.settings.is_some();
        self.seeds.is_some() && !has_trials
    }

    /// How often each of the settings is trained.
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(1)
    }

    /// How many settings are drawn at random.
    pub fn trials(&self) -> usize {
        self.trials.unwrap_or(TRIALS[usize::from(self.total_time.is_some())])
    }

    /// Whether the number of members is fixed; otherwise time decides.
    pub fn are_counted(&self) -> bool {
        let is_open = self.total_time.is_some() && self.trials.is_none() && !self.grid;
        !is_open || self.settings.is_some() || self.repeats_one()
    }

    /// What all shards of a sweep that one of them began with these options have in common.
    ///
    /// # Errors
    /// [`Error::Config`] for options that are no text.
    pub fn of_all_shards(&self) -> Result<impl PartialEq + use<>> {
        let mut train = config_file::table(&self.train)?;
        train.retain(|name, _| !["out", "threads"].contains(&name));
        let files = (self.space.clone(), self.settings.clone());
        Ok(((!self.repeats_one()).then(|| self.trials()), self.grid, self.seeds, self.halving, files, train))
    }

    /// The seed from which settings are drawn.
    pub fn seed(&self) -> u64 {
        self.train.training.settings.seed.unwrap_or(Config::default().seed)
    }

    /// The options of a sweep that began with these, and goes on by a call with those.
    ///
    /// # Errors
    /// [`Error::Config`] for an option of the call by which members would be others than they began as.
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
        // As many as when it began, whether time ended it or not.
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

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Merge the shards of a sweep: leaderboards, histories and models.
    Merge(Merge),
}

#[derive(Debug, Args)]
pub struct Merge {
    /// Folders of the shards.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder for the merged sweep.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// As for the sweep, whose data are read again.
    ///
    /// With --folds the shards need --ensemble too, which saves the models of the folds.
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub ensemble: Option<usize>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print only warnings, and one line at the end.
    #[arg(long)]
    pub quiet: bool,
}
