//! Output of a run: a folder, or one file with only the model.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::Destination;

use super::process::stamp;
use crate::report::text::shell_word;
use crate::runs::{CONFIG, MODEL, RUN_FILES, RUNS, RunFolder, new_folder, refuse_used};
use crate::sweep::{Folder, is_sweep};

/// Endings of files that runs and sweeps never write with `--out`: text, tables, archives, and models of
/// other programs.
const OTHERS: &str = "onnx c h npz json csv gz zst pt pth py txt toml pkl joblib h5 keras ckpt tflite bin zip npy parquet html";

/// Rejects a name that looks like a file if a folder would be created.
///
/// # Errors
/// [`Error::Config`], with the `wanted` output and the way to write such a file.
pub fn refuse_file_name(path: &Path, wanted: &str) -> Result<()> {
    let Some(ending) = ending_of(path, OTHERS).filter(|_| !path.is_dir()) else { return Ok(()) };
    let path = shell_word(path);
    let export = |form| {
        format!("use tinytrain export --format {form} --model RUN --out {path} to export a trained model")
    };
    let remedy = match &ending[..] {
        "onnx" => export("onnx"),
        "c" | "h" => export("c"),
        _ => "use tinytrain export to export a trained model to other programs".to_owned(),
    };
    Err(Error::Config(format!("--out: expected {wanted}, found {path}; {remedy}")))
}

/// Returns the ending of a file's name, if it is one of these.
pub fn ending_of(path: &Path, endings: &str) -> Option<String> {
    let ending = path.extension()?.to_string_lossy().to_lowercase();
    endings.split(' ').any(|other| other == ending).then_some(ending)
}

/// Returns the destination for an option's file, which must not belong to a run or a sweep.
///
/// # Errors
/// [`Error::Write`] if nothing can be written there; [`Error::Config`] for a file of a run or a sweep.
pub fn destination(option: &str, path: &Path) -> Result<Destination> {
    let destination = Destination::check(path)?;
    let folder = destination.path().parent().unwrap_or(Path::new(""));
    let name = destination.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_of_run = folder.join(CONFIG).exists()
        && (RUN_FILES.contains(&name) || name.starts_with("events.out.tfevents."));
    let is_of_sweep = is_sweep(folder) && Folder::FILES.contains(&name)
        || folder.file_name().is_some_and(|it| it == "members") && folder.parent().is_some_and(is_sweep);
    let owner = match (is_of_run, is_of_sweep) {
        (true, _) => "run",
        (_, true) => "sweep",
        _ => return Ok(destination),
    };
    let found = path.display();
    Err(Error::Config(format!(
        "{option}: cannot write to {found}, which is a file of a {owner}; choose another name"
    )))
}

/// Output of a run. Nothing is created before training begins.
#[derive(Debug)]
pub enum OutputPlace {
    /// A file for only the model.
    Model(Destination),
    /// A folder to be created: this one, or one in [`RUNS`] with this name.
    Planned {
        /// Value of `--out`.
        path: Option<PathBuf>,
        /// Name without `--out`, unless it exists already.
        name: String,
    },
    /// An existing folder.
    Folder(RunFolder),
}

impl OutputPlace {
    /// Finds the output for `--out`: a file if its name ends with `.safetensors` or it is a file, otherwise a
    /// folder. Without `--out`, a folder named after the time and the data.
    ///
    /// # Errors
    /// [`Error::Write`] if nothing can be written there, [`Error::Config`] for a folder with a run in it.
    pub fn find(out: Option<&Path>, data: &str) -> Result<Self> {
        let name = format!("{}-{data}", stamp());
        if let Some(path) = out {
            refuse_file_name(path, "a folder, or a file named *.safetensors")?;
            let is_model =
                path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"));
            if is_model || path.exists() && !path.is_dir() {
                return Ok(Self::Model(destination("--out", path)?));
            }
            refuse_used(path)?;
        }
        let folder = out.map_or_else(|| Path::new(RUNS).join(&name), Path::to_owned);
        Destination::check(&folder.join(MODEL))?;
        Ok(Self::Planned { path: out.map(Path::to_owned), name })
    }

    /// Returns whether the folder has not been moved or replaced.
    pub fn is_in_place(&self) -> bool {
        !matches!(self, Self::Folder(folder) if folder.check().is_err())
    }

    /// Returns whether `destination` is the model file, the folder, or a file of a run in the folder.
    pub fn is(&self, destination: &Destination) -> bool {
        let folder = match self {
            Self::Model(file) => return file.is_same(destination),
            Self::Planned { path: Some(path), .. } => path,
            Self::Planned { .. } => return false,
            Self::Folder(folder) => folder.path(),
        };
        destination.is_at(folder) || RUN_FILES.iter().any(|name| destination.is_at(&folder.join(name)))
    }

    /// Returns the folder, created if it does not exist, or `None` if only the model is saved.
    ///
    /// # Errors
    /// See [`RunFolder::create`].
    pub fn folder(&mut self) -> Result<Option<&mut RunFolder>> {
        if let Self::Planned { path, name } = self {
            let path = path.clone().map_or_else(|| new_folder(name), Ok)?;
            *self = Self::Folder(RunFolder::create(&path)?);
        }
        Ok(match self {
            Self::Folder(folder) => Some(folder),
            Self::Model(_) | Self::Planned { .. } => None,
        })
    }

    /// Returns the path of the model.
    ///
    /// # Errors
    /// See [`RunFolder::create`].
    pub fn model_path(&mut self) -> Result<PathBuf> {
        if let Self::Model(file) = self {
            return Ok(file.path().to_owned());
        }
        self.folder()?.map(|folder| folder.file(MODEL)).ok_or(Error::Interrupted)
    }

    /// Saves the model, replacing the previous one.
    ///
    /// # Errors
    /// [`Error::Write`]; the previous model then still exists.
    pub fn save(&mut self, model: &Model) -> Result<()> {
        let bytes = model.to_bytes()?;
        match self {
            Self::Model(destination) => destination.write(&bytes),
            _ => match self.folder()? {
                Some(folder) => folder.write(MODEL, &bytes).map(drop),
                None => Err(Error::Interrupted),
            },
        }
    }
}
