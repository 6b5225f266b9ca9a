//! All errors of the library, and their exit codes.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::printable::time_text;

/// Result type of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Place in a table; row and column count from 1, and a header counts as a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Row of the file, counted from 1.
    pub row: Option<u64>,
    /// Column of the row, counted from 1.
    pub column: Option<usize>,
    /// Name of the column, if the table has a header.
    pub name: Option<Box<str>>,
}

impl Place {
    /// Creates a place from only a row.
    pub fn row(row: u64) -> Self {
        Self { row: Some(row), ..Self::default() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(row) = self.row {
            write!(f, ", row {row}")?;
        }
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        Ok(())
    }
}

/// Maximum number of characters of a file's text in a message.
const SHOWN: usize = 200;

/// Formats text of a file for a message: on one line, and truncated.
pub fn excerpt(text: &str) -> String {
    let escaped =
        |letter: char| if letter.is_control() { letter.escape_debug().to_string() } else { letter.into() };
    let shown: String = text.chars().take(SHOWN).map(escaped).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}

/// A kind of fault in the data that an option can resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFault {
    /// A column contains text and numbers.
    TextAndNumbers,
    /// A row has no label and no value to predict.
    NoTarget,
    /// A text may mean a missing value.
    MaybeMissing,
    /// The first row may contain column names, which the training table does not have.
    MaybeHeader,
    /// All rows have the same target.
    OneTarget,
    /// Labels are values to predict.
    Values,
    /// Numbers are written with the other decimal mark.
    DecimalMark,
    /// A row differs from the rows with which training has begun.
    LaterRow,
}

/// An error with the file, the place and the expected value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The contents of a file are invalid.
    #[error("{}{place}: expected {expected}, found {found}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// Row and column, if any.
        place: Place,
        /// Expected content.
        expected: String,
        /// Actual content.
        found: String,
    },
    /// A data error with a kind that an option can resolve.
    #[error("{error}")]
    Fault {
        /// Kind of the fault.
        kind: DataFault,
        /// [`Error::Data`].
        error: Box<Error>,
    },
    /// A property of a table is ambiguous and must be set.
    #[error("{}: {question}", path.display())]
    Undecided {
        /// The file.
        path: PathBuf,
        /// Setting to give: `target` or `header`.
        setting: &'static str,
        /// Description of the ambiguity.
        question: String,
    },
    /// A file could not be read at all.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Output cannot be written; without another name, it is standard output.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The system could not start another thread.
    #[error("cannot start the thread that {purpose}: {source}")]
    Thread {
        /// Work of the thread.
        purpose: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A setting is out of range.
    #[error("{setting}: expected {expected}, found {found}")]
    Setting {
        /// Name of the setting: `learning rate`, for example.
        setting: &'static str,
        /// Permitted values.
        expected: String,
        /// Actual value.
        found: String,
    },
    /// Settings conflict with each other or with the machine.
    #[error("{0}")]
    Config(String),
    /// The requested device does not exist or cannot run this model.
    #[error("{0}")]
    Device(String),
    /// The device failed during work.
    #[error("device failed: {0}")]
    Gpu(String),
    /// A kernel was given shapes that do not match.
    #[error("{kernel}: expected {expected}, found {found}")]
    Shape {
        /// Name of the kernel.
        kernel: &'static str,
        /// Required shape.
        expected: String,
        /// Actual shape.
        found: String,
    },
    /// The time limit of a run ended before its first step.
    #[error(
        "the time limit of {} ended before the first step: reading the data and preparing the network took {}",
        time_text(*limit),
        time_text(*taken)
    )]
    NoTime {
        /// Time limit.
        limit: Duration,
        /// Time taken until then.
        taken: Duration,
    },
    /// The loss of a training step is NaN or infinite.
    #[error(
        "the loss became {loss} at step {step} (epoch {epoch}, batch {batch}) with learning rate {learning_rate:?}"
    )]
    NonFiniteLoss {
        /// NaN or an infinity.
        loss: f64,
        /// Training step since the start of the run, counted from 1.
        step: u64,
        /// Epoch, counted from 1.
        epoch: usize,
        /// Batch of the epoch, counted from 1.
        batch: u64,
        /// Base learning rate, which a schedule may have changed for the step.
        learning_rate: f32,
    },
    /// A weight or the validation loss is NaN or infinite after an epoch whose losses were all finite: its
    /// last steps failed.
    #[error(
        "the network holds NaN or infinite numbers after epoch {epoch} with learning rate {learning_rate:?}"
    )]
    NonFiniteModel {
        /// Epoch, counted from 1.
        epoch: usize,
        /// Learning rate.
        learning_rate: f32,
    },
    /// The loss over the test rows is NaN or infinite, although all weights are finite.
    #[error("{}: the loss over these rows is {loss} although all weights are finite: the rows hold very large values, or training diverged", path.display())]
    NonFiniteTest {
        /// The file.
        path: PathBuf,
        /// NaN or an infinity.
        loss: f64,
    },
    /// The network's outputs for a row are NaN or infinite, although all weights are finite.
    #[error("{}: the outputs for sample {sample} are not finite although all weights are: the row holds very large values, or training diverged", path.display())]
    NonFinitePrediction {
        /// The file.
        path: PathBuf,
        /// Row, counted from 1 without a header.
        sample: u64,
    },
    /// No member of a sweep produced a network.
    #[error("no trial produced a model; see {} for the reasons", path.display())]
    NoMember {
        /// File with the results of the members.
        path: PathBuf,
    },
    /// The best member of a sweep could not be trained again, on all rows.
    #[error("training the best trial, {member}, on all rows failed: {reason}")]
    NotRefit {
        /// Number of the member.
        member: usize,
        /// Reason, as text.
        reason: String,
    },
    /// The receiver of a run's events has stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Creates an [`Error::Data`] of a file, or of data with this name in messages.
    pub fn data(
        path: impl Into<PathBuf>,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Data { path: path.into(), place, expected: expected.into(), found: found.into() }
    }

    /// Creates an [`Error::Setting`].
    pub fn setting(setting: &'static str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Setting { setting, expected: expected.into(), found: found.into() }
    }

    /// Returns the exit code: 0 if the reader of the output has closed it, 1 failure of the machine, 2 bad
    /// input or usage, 3 numerical fault.
    pub fn exit_code(&self) -> u8 {
        match self {
            // The reader of the output needs no more.
            Error::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => 0,
            Error::Read { source, .. } | Error::Write { source, .. } if is_machine_fault(source) => 1,
            Error::Data { .. }
            | Error::Fault { .. }
            | Error::Undecided { .. }
            | Error::Read { .. }
            | Error::Write { .. }
            | Error::Setting { .. }
            | Error::Config(_)
            | Error::Device(_)
            | Error::Shape { .. } => 2,
            Error::Gpu(_)
            | Error::Output(_)
            | Error::Thread { .. }
            | Error::NoTime { .. }
            | Error::Interrupted => 1,
            Error::NonFiniteLoss { .. }
            | Error::NonFiniteModel { .. }
            | Error::NonFiniteTest { .. }
            | Error::NonFinitePrediction { .. }
            | Error::NoMember { .. }
            | Error::NotRefit { .. } => 3,
        }
    }

    /// Adds a kind to this error.
    pub(crate) fn with_kind(self, kind: DataFault) -> Self {
        Error::Fault { kind, error: Box::new(self) }
    }

    /// Returns a remedy, as options of the command line, if one is known.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Error::NonFiniteLoss { .. } | Error::NonFiniteModel { .. } => {
                "try a smaller --lr, or check the data for very large values"
            }
            Error::Device(_) => {
                "use --device cpu, or `train --fallback cpu` to switch to it automatically; `tinytrain devices` lists the others"
            }
            Error::NonFiniteTest { .. } => {
                "check the rows; if others fail too, train again with a smaller --lr"
            }
            Error::NonFinitePrediction { .. } => {
                "check the row; if others fail too, train again with a smaller --lr"
            }
            Error::Gpu(_) => "`train --fallback cpu` continues on the CPU engine from the last checkpoint",
            Error::Undecided { setting, .. } => match *setting {
                "target" => "use --target to name it",
                "missing marker" => {
                    "use --missing-markers \"\" if it is a label (empty cells are always missing), or --missing-marker and the text, with --drop-missing-target, if it stands for a missing one"
                }
                "header" => "use --header yes or --header no",
                "first row" => {
                    "use --header no if it is a row of values, else remove it or, except in training, use --header yes"
                }
                "task" => "use --task classification or --task regression",
                "decimal" => "use --decimal . or --decimal , to name the decimal mark",
                _ => "use --include to name the inputs, or --exclude to ignore columns",
            },
            Error::Fault { kind, .. } => match kind {
                DataFault::TextAndNumbers => {
                    "use --categorical to treat the column as text, --missing-marker to name a text that stands for a missing \
                     value, or --exclude to ignore the column"
                }
                DataFault::NoTarget => "use --drop-missing-target to leave them out",
                DataFault::MaybeMissing => "use --missing-marker to name it",
                DataFault::MaybeHeader => "remove the header, or use --header yes with eval or predict",
                DataFault::OneTarget => "use --target to name another column",
                DataFault::Values => "use --task regression to predict them",
                DataFault::DecimalMark => "use --decimal to name the decimal mark of this file",
                DataFault::LaterRow => "use --read-all to read all rows before training",
            },
            _ => return None,
        })
    }
}

/// Returns whether the machine failed at a valid file: its disk is full or broken, or it is out of memory.
fn is_machine_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, QuotaExceeded, StorageFull};
    // EIO is 5 on every Unix; the standard library has no kind for it.
    let is_broken = cfg!(unix) && error.raw_os_error() == Some(5);
    is_broken || matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | OutOfMemory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_broken_disk_is_a_failure_of_the_machine_and_a_wrong_place_bad_input() {
        let write = |source| Error::Write { path: PathBuf::from("m"), source };
        let read = |source| Error::Read { path: PathBuf::from("m"), source };
        for kind in [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::FileTooLarge,
            io::ErrorKind::OutOfMemory,
        ] {
            assert_eq!([write(kind.into()).exit_code(), read(kind.into()).exit_code()], [1, 1], "{kind}");
        }
        for kind in [
            io::ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::InvalidFilename,
        ] {
            assert_eq!([write(kind.into()).exit_code(), read(kind.into()).exit_code()], [2, 2], "{kind}");
        }
        #[cfg(target_os = "linux")]
        for (number, code) in [(5, 1), (12, 1), (27, 1), (28, 1), (122, 1), (2, 2), (13, 2), (30, 2)] {
            assert_eq!(write(io::Error::from_raw_os_error(number)).exit_code(), code, "{number}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_on_one_line() {
        assert_eq!(excerpt("a\n\u{9b}31m \"b\" é"), "a\\n\\u{9b}31m \"b\" é");
        assert_eq!(excerpt(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(excerpt(&"é".repeat(201)), "é".repeat(200) + "…");
    }

    #[test]
    fn a_thread_that_does_not_start_has_its_own_words() {
        let error = Error::Thread { purpose: "reads data", source: io::ErrorKind::WouldBlock.into() };
        assert!(error.to_string().starts_with("cannot start the thread that reads data: "), "{error}");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn settings_are_named_and_options_are_not() {
        let (expected, found) = ("1 or more".to_owned(), "0".to_owned());
        let (epoch, batch, learning_rate) = (1, 3, 0.5);
        for (error, message) in [
            (Error::Setting { setting: "epochs", expected, found }, "epochs: expected 1 or more, found 0"),
            (
                Error::NonFiniteLoss { loss: f64::INFINITY, step: 3, epoch, batch, learning_rate },
                "the loss became inf at step 3 (epoch 1, batch 3) with learning rate 0.5",
            ),
            (
                Error::NonFiniteModel { epoch, learning_rate },
                "the network holds NaN or infinite numbers after epoch 1 with learning rate 0.5",
            ),
        ] {
            assert_eq!(error.to_string(), message);
        }
    }
}
