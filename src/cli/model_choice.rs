//! The model that `--model` selects: a file, or a model in the folder of a run or a sweep.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::train::{load_model, model_path};
use clap::{Args, ValueEnum};

use super::output::note;
use crate::report::text::shell_word;
use crate::runs::{CHECKPOINT, CONFIG, MODEL};
use crate::sweep::{BEST, is_sweep};

/// Choice of a model in a folder.
#[derive(Debug, Args)]
pub struct ModelChoice {
    /// Model of a run's folder: best (the one that the run keeps) or last (the weights of the last checkpoint).
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::Best)]
    which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Best,
    Last,
}

impl ModelChoice {
    /// Reads the model at `path` and returns it with its file. For a sweep, selects the best model and prints
    /// a line about it.
    ///
    /// # Errors
    /// Errors of the file; [`Error::Config`] if the folder has no such model.
    pub fn load(&self, path: &Path) -> Result<(Model, PathBuf)> {
        let lacks = |expected: &str, found: String| {
            Error::Config(format!("{}: expected {expected}, found {found}", path.display()))
        };
        let file = match self.which {
            Which::Best if is_sweep(path) => {
                let best = path.join(BEST);
                if !best.exists() {
                    return Err(lacks(
                        "a sweep with a best model",
                        format!("no {BEST}, which it writes at its end"),
                    ));
                }
                note(&format!("using the best model of the sweep: {}", best.display()));
                best
            }
            Which::Best if path.join(CONFIG).exists() && !model_path(path).exists() => {
                let found = format!(
                    "no {MODEL}: the run stopped before its first checkpoint; use tinytrain train --resume {} to continue it",
                    shell_word(path)
                );
                return Err(lacks("the folder of a run with a model", found));
            }
            Which::Best => model_path(path),
            Which::Last => {
                let checkpoint = path.join(CHECKPOINT);
                if !checkpoint.exists() {
                    return Err(lacks(
                        "the folder of a run for --which last",
                        format!("no {CHECKPOINT}: the run stopped before its first checkpoint"),
                    ));
                }
                checkpoint
            }
        };
        Ok((load_model(&file)?, file))
    }
}
