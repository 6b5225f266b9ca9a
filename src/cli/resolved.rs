//! What a call of `tinytrain train` asks for, with what it takes from the folder of a run or from its settings.

use std::path::Path;

use clap::ArgMatches;
use tinytrain::train::Checkpoint;
use tinytrain::{Error, Result};

use super::config_file;
use super::given::{self, Given, given};
use super::run_folder::{self, CONFIG, RunFolder};
use super::run_options::TrainOptions;

/// What may stand beside `--resume`: what decides when a run ends, what trains, and how results are written.
const BESIDE_RESUME: [&str; 13] = [
    "resume",
    "epochs",
    "max-time",
    "patience",
    "target-accuracy",
    "device",
    "threads",
    "checkpoint-every",
    "fallback",
    "tensorboard",
    "format",
    "quiet",
    "verbose",
];

/// What a call asks for.
pub struct Resolved {
    /// Its options, and those that it takes from a file.
    pub options: TrainOptions,
    /// The same as they were written.
    pub given: Given,
    /// The run that goes on, from a checkpoint unless it was killed before it had one.
    pub resumed: Option<(RunFolder, Option<Checkpoint>)>,
}

impl Resolved {
    /// Of a command line; nothing where it needs no file.
    ///
    /// # Errors
    /// Those of the files, and of options that do not go with them.
    pub fn of(options: &TrainOptions, matches: &ArgMatches) -> Result<Option<Self>> {
        let own = given::<TrainOptions>(matches);
        if let Some(file) = &options.run.config {
            let (options, given) = merged(file, &own)?;
            return Ok(Some(Self { options, given, resumed: None }));
        }
        let Some(run) = &options.run.resume else { return Ok(None) };
        if let Some((option, _)) = own.iter().find(|(name, _)| !BESIDE_RESUME.contains(&name.as_str())) {
            let text = format!("--{option}: expected none beside --resume: a run goes on as it began");
            return Err(Error::Config(text));
        }
        let folder = RunFolder::open(run)?;
        let checkpoint = run_folder::checkpoint(run)?;
        let (options, given) = merged(&folder.file(CONFIG), &own)?;
        Ok(Some(Self { options, given, resumed: Some((folder, checkpoint)) }))
    }
}

/// The options of a file and those of the command line, which win.
fn merged(file: &Path, own: &Given) -> Result<(TrainOptions, Given)> {
    let mut all = config_file::options(file)?;
    all.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
    let own = own.iter().filter(|(name, _)| !["config", "resume"].contains(&name.as_str()));
    all.extend(own.cloned());
    given::parsed(&given::words(&all), &file.display().to_string())
}
