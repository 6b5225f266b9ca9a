//! Output of long work, such as training: lines, notices, a log file, and a progress bar.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;

use serde::Serialize;
use serde_json::Value;

use super::{Look, is_unread, notice, object, print_parts, warn};
use crate::cli::progress::Progress;
use crate::error::{Error, Result};
use crate::report::text::{printable, printable_json};

/// Output of a run: lines on standard output, and, unless quiet, notices and a progress bar on standard
/// error.
pub struct Console {
    quiet: bool,
    /// Whether standard output is closed.
    muted: Cell<bool>,
    /// Name of the work that continues without standard output, if any.
    persistent: Option<&'static str>,
    /// Log file, which receives every line with its time.
    log: Option<File>,
    progress: Progress,
}

impl Console {
    /// Creates a console without output so far.
    pub fn new(quiet: bool, epochs: usize) -> Self {
        Self {
            quiet,
            muted: Cell::new(false),
            persistent: None,
            log: None,
            progress: Progress::new(!quiet, epochs),
        }
    }

    /// Marks work of this name as leaving files: it continues if the reader closes standard output, and
    /// prints nothing more there.
    #[must_use]
    pub fn of_lasting(self, work: &'static str) -> Self {
        Self { persistent: Some(work), ..self }
    }

    /// Logs every line to this file, too.
    pub fn log_to(&mut self, file: File) {
        self.log = Some(file);
    }

    fn log(&self, line: &str) {
        if let Some(mut file) = self.log.as_ref() {
            let time = crate::clock::now();
            // Failures are ignored: a run does not end because its log cannot be written.
            let _ = file.write_all(format!("{time:.3} {}\n", printable(line)).as_bytes());
        }
    }

    /// Prints a line on standard output.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn line(&self, line: &str) -> Result<()> {
        self.line_with(Look::Plain, line)
    }

    /// Prints a line of this look on standard output.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn line_with(&self, look: Look, line: &str) -> Result<()> {
        self.log(line);
        if self.muted.get() {
            return Ok(());
        }
        match (self.progress.bar.suspend(|| print_parts(&[(look, line)])), self.persistent) {
            (Err(error), Some(work)) if is_unread(&error) => {
                self.muted.set(true);
                self.notice(&format!("standard output is closed; {work} continues without it"));
                Ok(())
            }
            (printed, _) => printed,
        }
    }

    /// Prints a serializable object on standard output.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn json(&self, object: &impl Serialize) -> Result<()> {
        let json = serde_json::to_string(object).map_err(|error| Error::Output(error.into()))?;
        self.line(&printable_json(&json))
    }

    /// Prints an object of these fields on standard output.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn object(&self, fields: &[(&str, Value)]) -> Result<()> {
        self.line(&object(fields))
    }

    /// Prints a notice on standard error.
    pub fn notice(&self, line: &str) {
        self.log(line);
        if !self.quiet {
            // Failures are ignored: a run does not end because standard error is closed.
            let _ = self.progress.bar.suspend(|| notice(line));
        }
    }

    /// Prints a warning on standard error, even if quiet.
    pub fn warn(&self, line: &str) {
        self.log(line);
        self.progress.bar.suspend(|| warn(line));
    }

    /// Returns the progress bar.
    pub fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}
