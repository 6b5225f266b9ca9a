//! The only place that prints.

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::progress::Progress;

/// Standard output cannot be written to.
#[derive(Debug)]
pub struct Unwritable(pub io::Error);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl std::error::Error for Unwritable {}

/// Prints a line on standard output, at once.
///
/// # Errors
/// [`Unwritable`].
pub fn print_line(line: &str) -> Result<(), Unwritable> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).map_err(Unwritable)
}

/// Prints an object on a line of its own, its fields in this order.
///
/// # Errors
/// [`Unwritable`].
pub fn print_object(fields: &[(&str, Value)]) -> Result<(), Unwritable> {
    print_line(&object(fields))
}

/// An object in JSON, its fields in this order.
pub fn object(fields: &[(&str, Value)]) -> String {
    // A `serde_json::Map` would sort them.
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// Prints what ended the program: help on standard output, all else as one line on standard error.
pub fn print_error(error: &anyhow::Error) {
    // Where nobody can be told, nothing is left to do: the exit code stays.
    let _ = match (error.downcast_ref::<clap::Error>(), error.downcast_ref()) {
        (Some(usage), _) if is_help(usage) => usage.print(),
        (Some(usage), _) => notice(&usage_line(usage)),
        (_, Some(Unwritable(source))) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        _ => notice(&format!("error: {}", one_line(&error.to_string()))),
    };
}

fn is_help(usage: &clap::Error) -> bool {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(usage.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}

/// The first paragraph of clap's message, and where to find more.
fn usage_line(usage: &clap::Error) -> String {
    let text = usage.render().to_string();
    let paragraph: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    format!("{}; see --help", one_line(&paragraph.join(" ")))
}

/// File names may hold line ends, and worse.
fn one_line(text: &str) -> String {
    text.chars()
        .map(
            |letter| {
                if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
            },
        )
        .collect()
}

fn notice(line: &str) -> io::Result<()> {
    io::stderr().lock().write_all(format!("{line}\n").as_bytes())
}

/// What a run prints while it goes on: lines on standard output, and, unless it is to be quiet, notices and a progress
/// bar on standard error.
pub struct Console {
    quiet: bool,
    progress: Progress,
}

impl Console {
    /// A console that has printed nothing yet.
    pub fn new(quiet: bool, epochs: usize) -> Self {
        Self { quiet, progress: Progress::new(!quiet, epochs) }
    }

    /// Prints a line on standard output.
    ///
    /// # Errors
    /// [`Unwritable`].
    pub fn line(&self, line: &str) -> Result<(), Unwritable> {
        self.progress.suspend(|| print_line(line))
    }

    /// Prints an object on standard output.
    ///
    /// # Errors
    /// [`Unwritable`].
    pub fn object(&self, fields: &[(&str, Value)]) -> Result<(), Unwritable> {
        self.line(&object(fields))
    }

    /// Tells something on standard error that is no result.
    pub fn notice(&self, line: &str) {
        if !self.quiet {
            // A run does not end because nobody listens to what it says beside its results.
            let _ = self.progress.suspend(|| notice(&one_line(line)));
        }
    }

    /// The progress bar.
    pub fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_their_order_and_quote_what_needs_it() {
        let fields = [("event", "a \"b\"\n".into()), ("a", 1.5.into()), ("z", Value::Null)];
        assert_eq!(object(&fields), r#"{"event":"a \"b\"\n","a":1.5,"z":null}"#);
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(one_line("a\nb\u{1b}[0m ä"), "a\\nb\\u{1b}[0m ä");
    }
}
