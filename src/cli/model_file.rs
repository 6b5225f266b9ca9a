//! Where a run saves its model.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tinytrain::model::Model;
use tinytrain::output::Destination;
use tinytrain::{Error, Result};

/// The folder of all runs that were not told where to save.
const RUNS: &str = "runs";
const NAME: &str = "model.safetensors";

/// The file of a run's model. Nothing exists of it before the first save.
#[derive(Debug)]
pub enum ModelFile {
    /// This one.
    Known(Destination),
    /// One in a new folder of [`RUNS`], made with the first save.
    New {
        /// The folder's name, unless there is one of that name already.
        time: String,
    },
}

impl ModelFile {
    /// The file that `--out` names, or one in a folder named by the time.
    ///
    /// # Errors
    /// [`Error::Write`] when no file can be written there.
    pub fn find(out: Option<&Path>) -> Result<Self> {
        if let Some(path) = out {
            return Ok(Self::Known(Destination::check(path)?));
        }
        let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(':', "-");
        Destination::check(&Path::new(RUNS).join(&time).join(NAME))?;
        Ok(Self::New { time })
    }

    /// Whether the model goes into this file.
    pub fn is(&self, destination: &Destination) -> bool {
        matches!(self, Self::Known(known) if known.is_same(destination))
    }

    /// Saves the model, in place of the one before, and says where.
    ///
    /// # Errors
    /// [`Error::Write`]; the model before is then still there.
    pub fn save(&mut self, model: &Model) -> Result<PathBuf> {
        let bytes = model.to_bytes()?;
        match self {
            Self::Known(destination) => {
                destination.write(&bytes)?;
                Ok(destination.path().to_owned())
            }
            Self::New { time } => {
                let folder = new_folder(time)?;
                let path = folder.join(NAME);
                let destination = Destination::check(&path).and_then(|destination| {
                    destination.write(&bytes)?;
                    Ok(destination)
                });
                if destination.is_err() {
                    // Only empty folders can be removed this way: other runs stay.
                    let _ = fs::remove_dir(&folder).and_then(|()| fs::remove_dir(RUNS));
                }
                *self = Self::Known(destination?);
                Ok(path)
            }
        }
    }
}

/// Makes `runs/<time>`, or `runs/<time>-2` and so on where another run has been faster.
///
/// # Errors
/// [`Error::Write`].
pub fn new_folder(time: &str) -> Result<PathBuf> {
    let runs = Path::new(RUNS);
    let unwritable = |path: &Path, source| Error::Write { path: path.to_owned(), source };
    fs::create_dir_all(runs).map_err(|source| unwritable(runs, source))?;
    let mut number = 1;
    loop {
        let folder = runs.join(if number == 1 { time.to_owned() } else { format!("{time}-{number}") });
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(unwritable(&folder, error)),
        }
    }
}
