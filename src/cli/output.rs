//! The only module that prints.

mod console;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use ::console::{Style, Term, colors_enabled, set_colors_enabled, set_colors_enabled_stderr};
use clap::ColorChoice;
use serde_json::Value;

pub use self::console::Console;
use crate::output::Destination;
use crate::report::text::{printable, printable_json, shell_word};

/// Returns the line for an error: settings by the names of their options, and an option that may help.
fn error_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let Some(cause) = error.chain().find_map(|cause| cause.downcast_ref::<Error>()) else { return text };
    let hyphens = if matches!(cause, Error::Setting { .. }) { "--" } else { "" };
    let remedy = cause.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    // The context continues the text of the library's error.
    text.strip_prefix(&cause.to_string())
        .map_or_else(|| text.clone(), |rest| format!("{hyphens}{cause}{remedy}{rest}"))
}

/// Writes to standard output, unbuffered.
///
/// # Errors
/// [`Error::Output`].
pub fn print(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    let _printing = Printing::new();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Returns data for standard output: unchanged for other programs, with control characters escaped for a
/// terminal.
pub fn shown(data: Vec<u8>) -> Vec<u8> {
    if !io::stdout().is_terminal() {
        return data;
    }
    let text = String::from_utf8_lossy(&data);
    text.split('\n').map(printable).collect::<Vec<String>>().join("\n").into_bytes()
}

/// Look of a text on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Plain,
    /// The best of several results.
    Best,
    Good,
    Doubtful,
    Bad,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Best => Style::new().bold(),
            Self::Good => Style::new().green(),
            Self::Doubtful => Style::new().yellow(),
            Self::Bad => Style::new().red(),
        }
    }
}

/// Sets whether output has colours; `Auto` is for terminals, unless NO_COLOR is set.
pub fn set_color(choice: ColorChoice) {
    if choice != ColorChoice::Auto {
        let is_on = choice == ColorChoice::Always;
        set_colors_enabled(is_on);
        set_colors_enabled_stderr(is_on);
    }
}

/// Returns the width of the terminal in which images may be drawn on standard output, if any.
pub fn width_for_images() -> Option<usize> {
    let (_, columns) = Term::stdout().size_checked().unwrap_or((0, 80));
    colors_enabled().then_some(columns.into())
}

/// Number of threads that are printing.
static PRINTING: AtomicUsize = AtomicUsize::new(0);

/// Returns whether a thread prints, or is blocked by a reader that does not read.
pub fn is_printing() -> bool {
    PRINTING.load(Ordering::Relaxed) > 0
}

/// Guard, held while printing.
struct Printing;

impl Printing {
    fn new() -> Self {
        PRINTING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        PRINTING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Prints a line of text on standard output; unprintable characters are escaped.
///
/// # Errors
/// [`Error::Output`].
pub fn print_line(line: &str) -> Result<()> {
    print_parts(&[(Look::Plain, line)])
}

/// Prints a line of parts on standard output; unprintable characters are escaped.
///
/// # Errors
/// [`Error::Output`].
pub fn print_parts(parts: &[(Look, &str)]) -> Result<()> {
    let part = |(look, text): &(Look, &str)| look.style().apply_to(printable(text)).to_string();
    print((parts.iter().map(part).collect::<String>() + "\n").as_bytes())
}

/// Prints the cells of a line of a table on standard output; unprintable characters are escaped.
///
/// # Errors
/// [`Error::Output`].
pub fn print_cells<'a>(cells: impl Iterator<Item = (Look, &'a str)>) -> Result<()> {
    let mut parts: Vec<(Look, &str)> = cells.flat_map(|cell| [cell, (Look::Plain, "  ")]).collect();
    while let Some((look, text)) = parts.pop() {
        if !text.trim_end().is_empty() {
            parts.push((look, text.trim_end()));
            break;
        }
    }
    print_parts(&parts)
}

/// Prints lines of text on standard output; unprintable characters are escaped.
///
/// # Errors
/// [`Error::Output`].
pub fn print_lines(lines: &[String]) -> Result<()> {
    lines.iter().try_for_each(|line| print_line(line))
}

/// Prints JSON on one line; unprintable characters are escaped as JSON escapes.
///
/// # Errors
/// [`Error::Output`].
pub fn print_json(json: &str) -> Result<()> {
    print_line(&printable_json(json))
}

/// Prints an object on one line, its fields in this order.
///
/// # Errors
/// [`Error::Output`].
pub fn print_object(fields: &[(&str, Value)]) -> Result<()> {
    print_line(&object(fields))
}

/// Returns an object in JSON, its fields in this order, with all characters printable.
pub fn object(fields: &[(&str, Value)]) -> String {
    // A `serde_json::Map` would sort the fields.
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
    printable_json(&format!("{{{}}}", fields.join(",")))
}

/// Returns whether the reader of standard output has closed it.
fn is_unread(error: &Error) -> bool {
    matches!(error, Error::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints the cause of the program's end: help on standard output, errors as one line on standard error.
pub fn print_error(error: &anyhow::Error) {
    // Failures are ignored, since there is no other output; the exit code stays.
    let _ = match error.downcast_ref::<clap::Error>() {
        Some(usage) if is_help(usage) => usage.print(),
        Some(usage) => {
            let line = usage_line(&usage.render().to_string());
            labelled(Look::Bad, "error:", line.trim_start_matches("error: "))
        }
        None if error.downcast_ref().is_some_and(is_unread) => Ok(()),
        None => labelled(Look::Bad, "error:", &error_line(error)),
    };
}

/// Prints the error that ends the program during its work, replacing a progress bar.
pub fn print_end(message: &str) {
    if io::stderr().is_terminal() {
        let _ = io::stderr().lock().write_all(b"\r\x1b[2K");
    }
    let _ = labelled(Look::Bad, "error:", message);
}

/// Prints a notice on standard error.
pub fn note(line: &str) {
    let _ = notice(line);
}

/// Writes a file and prints its name on standard error: standard output is for results.
///
/// # Errors
/// Errors of the file.
pub fn write(destination: &Destination, contents: &[u8]) -> Result<()> {
    destination.write(contents)?;
    wrote(destination.path());
    Ok(())
}

/// Prints the name of a written file or folder.
pub fn wrote(path: &Path) {
    note(&format!("wrote {}", shell_word(path)));
}

/// Prints a warning on standard error.
pub fn warn(line: &str) {
    // Failures are ignored, since results do not depend on warnings.
    let _ = labelled(Look::Doubtful, "warning:", line);
}

fn is_help(usage: &clap::Error) -> bool {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(usage.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}

/// Returns the first paragraph of clap's message, its tips, and the hint at the help.
pub fn usage_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim);
    let paragraph: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let tips: String =
        lines.filter_map(|line| line.strip_prefix("tip: ")).map(|tip| format!("; {tip}")).collect();
    format!("{}{tips}; see --help", paragraph.join(" "))
}

/// Prints a line of text on standard error; unprintable characters are escaped.
fn notice(line: &str) -> io::Result<()> {
    let _printing = Printing::new();
    io::stderr().lock().write_all((printable(line) + "\n").as_bytes())
}

/// Prints a line of text after a label on standard error; unprintable characters are escaped.
fn labelled(look: Look, label: &str, line: &str) -> io::Result<()> {
    let _printing = Printing::new();
    let label = look.style().for_stderr().apply_to(label);
    io::stderr().lock().write_all(format!("{label} {}\n", printable(line)).as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::train::Config;
    use anyhow::Context;

    use super::*;

    #[test]
    fn objects_keep_their_order_and_quote_what_needs_it() {
        let fields = [("event", "a \"b\"\n".into()), ("a", 1.5.into()), ("z", Value::Null)];
        assert_eq!(object(&fields), r#"{"event":"a \"b\"\n","a":1.5,"z":null}"#);
    }

    #[test]
    fn objects_are_printable_and_read_back_the_same() {
        let name = "a\u{202e}b\u{9b}\n";
        let text = object(&[("model", name.into())]);
        assert_eq!(text, r#"{"model":"a\u202eb\u009b\n"}"#);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["model"], name);
    }

    #[test]
    fn a_usage_message_is_one_line_with_its_tips() {
        let message = "error: unexpected argument\n'--a' found\n\n  tip: try b\n  tip: or c\n\nUsage: d\n";
        assert_eq!(usage_line(message), "error: unexpected argument '--a' found; try b; or c; see --help");
        assert_eq!(usage_line("error: x\n\nUsage: d\n"), "error: x; see --help");
    }

    fn said(error: Error) -> String {
        error_line(&error.into())
    }

    #[test]
    fn settings_have_the_names_of_their_options() {
        let bad = |config: Config| said(config.validate().unwrap_err());
        let valid = Config::default;
        assert_eq!(bad(Config { epochs: 0, ..valid() }), "--epochs: expected 1 or more, found 0");
        assert_eq!(bad(Config { batch_size: 0, ..valid() }), "--batch-size: expected 1 or more, found 0");
        assert_eq!(
            bad(Config { learning_rate: -1.0, ..valid() }),
            "--lr: expected a finite number above 0, found -1"
        );
        assert_eq!(
            bad(Config { hidden: vec![3, 0], ..valid() }),
            "--hidden: expected layer sizes of 1 or more, found 0"
        );
    }

    #[test]
    fn advice_follows_what_is_said() {
        let error = || Error::NonFiniteModel { epoch: 3, learning_rate: 7.5 };
        let plain = said(error());
        assert!(plain.contains("learning rate 7.5; try a smaller --lr, or"), "{plain}");
        let context = format!("{}; the model stays at m", error());
        let saved = error_line(&Err::<(), _>(error()).context(context).unwrap_err());
        assert_eq!(saved, format!("{plain}; the model stays at m"));
        assert_eq!(error_line(&Err::<(), _>(error()).context("other words").unwrap_err()), "other words");
        assert!(said(Error::Device("none".to_owned())).starts_with("none; use --device cpu"));
        for (setting, option) in
            [("target", "--target"), ("header", "--header yes"), ("include", "--include")]
        {
            let question =
                said(Error::Undecided { path: "t".into(), setting, question: "which?".to_owned() });
            assert!(question.starts_with("t: which?; ") && question.contains(option), "{question}");
        }
        assert_eq!(said(Error::Config("as it is".to_owned())), "as it is");
        assert_eq!(error_line(&anyhow::anyhow!("as it is")), "as it is");
    }
}
