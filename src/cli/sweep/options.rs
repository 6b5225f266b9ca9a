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

/// Train many networks on the same data, and keep the best of them.
///
/// Each member of a sweep has settings of its own, drawn at random from a space of settings or taken from a grid; all other options
/// are those of `tinytrain train`. The members are judged by the validation data (20 % of the training rows, if nothing else
/// is said), or by all folds.
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
    /// How many settings are tried. [default: 64; 1,000 with --total-time]
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub trials: Option<usize>,
    /// Ends the sweep after so much time, such as 60s or 5m: members that are being trained then are broken off, evaluated and
    /// saved.
    #[arg(long, help_heading = SEARCH, value_name = "TIME", value_parser = args::duration, allow_hyphen_values = true)]
    pub total_time: Option<Duration>,
    /// The settings to try, in TOML: options of `train` by their names, such as `lr = { log = [1e-4, 1e-1] }`,
    /// `dropout = { range = [0.0, 0.3] }`, `hidden = [[64], [256, 256]]`. [default: settings that suit the preset; --verbose prints them]
    #[arg(long, help_heading = SEARCH, value_name = "FILE")]
    pub space: Option<PathBuf>,
    /// Try all combinations of the space, not some at random.
    #[arg(long, help_heading = SEARCH, conflicts_with = "trials")]
    pub grid: bool,
    /// Train each of the settings N times, from other first weights each time.
    #[arg(long, help_heading = SEARCH, value_name = "N", default_value_t = 1, value_parser = args::count, allow_hyphen_values = true)]
    pub seeds: usize,
    /// Train all members for a ninth of their epochs, the best third of them up to a third, and the best third of these to the end
    /// (successive halving).
    #[arg(long, help_heading = SEARCH)]
    pub halving: bool,
    /// Put together an ensemble from the best members: N times the one is picked that helps most by the loss on the validation data, from four
    /// random parts of them, the same one again if need be, and predictions are averaged (Caruana and others, 2004). It is saved as ensemble.safetensors, a model
    /// file like any other. With --folds the rows that each fold holds out take the place of the validation data, and the members that were picked are
    /// trained once more, on all rows.
    #[arg(long, help_heading = SEARCH, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub ensemble: Option<usize>,
    /// Go on with the sweep in this folder, with the options that it began with; members that have ended are not trained again.
    /// Beside it stand only --total-time, --ensemble, --threads, --format, --quiet and --verbose.
    #[arg(long, help_heading = SEARCH, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Train only every N-th member, from the I-th on: the other shards are trained elsewhere, and `tinytrain sweep merge` puts
    /// them together.
    #[arg(long, help_heading = TOOLS, value_name = "I/N", value_parser = args::parse::<Shard>)]
    pub shard: Option<Shard>,
    /// Train the members that this file tells of, JSON objects of settings, one a line; `-` is standard input.
    #[arg(long, help_heading = TOOLS, value_name = "FILE", conflicts_with_all = ["space", "grid", "trials"])]
    pub settings: Option<PathBuf>,
    /// Print the settings of N members as JSON lines, to be trained by something else, and train nothing; those of the next call
    /// are the next ones.
    #[arg(long, help_heading = TOOLS, value_name = "N", value_parser = args::count, requires = "out",
          conflicts_with_all = ["settings", "grid", "trials", "tell", "seeds", "shard", "halving", "ensemble", "total_time"])]
    pub ask: Option<usize>,
    /// Take the results of members that were asked for, JSON lines such as {"member": 3, "accuracy": 0.97, "loss": 0.1}, into the
    /// leaderboard; `-` is standard input.
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

    /// How many settings are drawn at random.
    pub fn trials(&self) -> usize {
        self.trials.unwrap_or(TRIALS[usize::from(self.total_time.is_some())])
    }

    /// Whether the number of members is fixed; otherwise time decides.
    pub fn are_counted(&self) -> bool {
        let is_open = self.total_time.is_some() && self.trials.is_none() && !self.grid;
        !is_open || self.settings.is_some()
    }

    /// What all shards of a sweep that one of them began with these options have in common.
    ///
    /// # Errors
    /// [`Error::Config`] for options that are no text.
    pub fn of_all_shards(&self) -> Result<impl PartialEq + use<>> {
        let mut train = config_file::table(&self.train)?;
        train.retain(|name, _| !["out", "threads"].contains(&name));
        let files = (self.space.clone(), self.settings.clone());
        Ok((self.trials(), self.grid, self.seeds, self.halving, files, train))
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
        self.trials = Some(self.trials());
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
    /// Put the shards of a sweep together: their leaderboards, histories and models, and the best of all.
    Merge(Merge),
}

#[derive(Debug, Args)]
pub struct Merge {
    /// Folders of the shards.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// The folder of the whole.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// As for the sweep itself; its data are read again for it. With --folds the shards need --ensemble, too: it saves the models of
    /// the folds.
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub ensemble: Option<usize>,
    /// How results are written: lines for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print no progress and no notices but warnings.
    #[arg(long)]
    pub quiet: bool,
}
