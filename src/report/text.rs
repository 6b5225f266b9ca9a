//! Numbers and tables as text.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::data::{Column, Schema, UnknownCells, UnknownKind};
use crate::evaluate::{EvaluationRows, Warning};
pub use crate::printable::{is_printable, printable, printable_json};
use console::{measure_text_width, pad_str, truncate_str};
use indicatif::HumanCount;

/// Formats a number with thousands separators: 60,000.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Rounds to five significant digits.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// Formats a number with at most this number of decimals, and at most five significant digits.
pub fn number(value: f64, decimals: usize) -> String {
    let value = if value.abs() < 1.0 { value } else { rounded(value) };
    let room = [10.0, 100.0, 1e3, 1e4].iter().filter(|bound| value.abs() < **bound).count();
    format!("{value:.*}", decimals.min(room))
}

/// Formats rows per second.
pub fn rate(value: f64) -> String {
    grouped(rounded(value) as u64)
}

/// Formats a number with at most four decimals, or in powers of ten if it is too large or would round to 0.
pub fn loss(value: f64) -> String {
    match value.abs() {
        0.0 | 5e-5..1e6 => number(value, 4),
        size if size.is_finite() => format!("{value:.4e}"),
        _ => value.to_string(),
    }
}

/// Formats a fraction of 1 in percent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Formats seconds with at most two decimals.
pub fn seconds(duration: Duration) -> String {
    format!("{} s", number(duration.as_secs_f64(), 2))
}

/// Formats a number with `singular` or `plural`.
pub fn counted(number: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { singular } else { plural })
}

/// Returns notices about cells with values that no training row has: a line for each kind.
pub fn unknown_cells(cells: &UnknownCells, schema: Option<&Schema>, rows: &str) -> Vec<String> {
    let line = |(kind, one, several, what, treatment): (UnknownKind, &str, &str, &str, &str)| {
        let columns = cells.columns(kind);
        let all: u64 = columns.iter().map(|(_, cells)| cells).sum();
        let name = |(column, _): &(usize, u64)| match schema.and_then(|schema| schema.inputs.get(*column)) {
            Some(column) => column_name(column),
            None => column.to_string(),
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        let columns = if names.len() == 1 { "column" } else { "columns" };
        let found = counted(all, one, several);
        (all > 0).then(|| format!("in {rows}, {found} {what} in {columns} {}, {treatment}", listed(&names)))
    };
    let lines = [
        (UnknownKind::Category, "cell holds", "cells hold", "an unknown category", "treated as no category"),
        (
            UnknownKind::MissingCategory,
            "cell misses",
            "cells miss",
            "a category",
            "unlike all training rows; treated as no category",
        ),
        (
            UnknownKind::MissingNumber,
            "cell misses",
            "cells miss",
            "a value",
            "unlike all training rows; replaced by the median",
        ),
    ];
    lines.into_iter().filter_map(line).collect()
}

/// Joins the first names of a list.
fn listed(names: &[String]) -> String {
    const MOST: usize = 5;
    let more = if names.len() > MOST { format!(", ... ({} in all)", names.len()) } else { String::new() };
    names[..names.len().min(MOST)].join(", ") + &more
}

/// Returns the notice about rows that are all of one class.
pub fn one_class(class: &str, rows: &str) -> String {
    format!("{rows} are all of one class, {class}: the AUC is undefined, and other measures mean little")
}

/// Formats a path as a word of a shell.
pub fn shell_word(path: &Path) -> String {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        // Otherwise commands would parse it as an option.
        return quoted(Path::new(".").join(path).as_os_str());
    }
    quoted(path.as_os_str())
}

/// Formats a word for a shell; unprintable words use `$'...'`, which bash, zsh and all except the oldest
/// other shells support.
pub fn quoted(word: &OsStr) -> String {
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || "/._-+,:@".contains(letter) || (cfg!(windows) && letter == '\\')
    };
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        _ if cfg!(windows) => format!("\"{}\"", word.to_string_lossy()),
        Some(text) if text.chars().all(is_printable) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{}'", word.as_encoded_bytes().escape_ascii()),
    }
}

/// Formats a command line of the program for a shell.
pub fn command_line(command: &str, arguments: &[String]) -> String {
    let word = |word: &String| match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => format!(" {option}={}", quoted(value.as_ref())),
        _ => format!(" {}", quoted(word.as_ref())),
    };
    format!("tinytrain {command}{}", arguments.iter().map(word).collect::<String>())
}

/// Alignment of a column: text to the left, numbers to the right.
pub use console::Alignment as Align;

/// Truncates a text to `most` columns.
pub fn shortened(text: &str, most: usize) -> String {
    truncate_str(text, most, "...").into_owned()
}

/// Maximum number of characters shown of a table's cell.
const MOST_CHARACTERS: usize = 200;

/// Rows of cells under column names.
pub struct Table {
    pub names: Vec<String>,
    /// Alignment of each column: text to the left, numbers to the right.
    pub align: Vec<Align>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table; a `>` before a column's name aligns it to the right.
    pub fn new(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let is_right = |name: &str| if name.starts_with('>') { Align::Right } else { Align::Left };
        Self {
            names: columns.iter().map(|name| name.trim_start_matches('>').to_owned()).collect(),
            align: columns.iter().map(|name| is_right(name)).collect(),
            rows: rows.into_iter().collect(),
        }
    }

    /// Creates a table with these columns, all with the same alignment.
    pub fn alike(names: Vec<String>, align: Align, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { align: vec![align; names.len()], names, rows: rows.into_iter().collect() }
    }

    /// Returns the lines, with two spaces between columns. Long cells are truncated.
    pub fn lines(&self) -> Vec<String> {
        self.padded().iter().map(|cells| cells.join("  ").trim_end().to_owned()).collect()
    }

    /// Returns the cells of all lines, as wide as their columns. Long cells are truncated.
    pub fn padded(&self) -> Vec<Vec<String>> {
        let shown = |cell: &String| match cell.char_indices().nth(MOST_CHARACTERS) {
            Some((end, _)) => printable(&(cell[..end].to_owned() + "...")),
            None => printable(cell),
        };
        let rows = || [&self.names].into_iter().chain(&self.rows);
        // Escapes are wider than the characters they replace.
        let rows: Vec<Vec<String>> = rows().map(|row| row.iter().map(shown).collect()).collect();
        let widths =
            |column: usize| rows.iter().filter_map(move |row| Some(measure_text_width(row.get(column)?)));
        let widths: Vec<usize> =
            (0..self.align.len()).map(|column| widths(column).max().unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let columns = row.iter().zip(&widths).zip(&self.align);
            columns.map(|((cell, width), align)| pad_str(cell, *width, *align, None).into_owned()).collect()
        };
        rows.iter().map(line).collect()
    }
}

/// Maximum number of categories and classes whose rows a text shows.
pub const SHOWN: usize = 6;

/// Returns the name of a column, or its index.
pub fn column_name(column: &Column) -> String {
    column.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| column.position.to_string())
}

/// Formats a number as a 32-bit float, which is the precision of values read.
pub fn short(value: f64) -> String {
    (value as f32).to_string()
}

/// Returns warnings about the rows on which a model is evaluated.
pub fn evaluation_warnings(rows: &EvaluationRows) -> Vec<String> {
    let name = &rows.name;
    let text = |warning: &Warning| match warning {
        Warning::WithoutTarget(count) => {
            vec![format!("{name}: {} without a target left out", counted(*count as u64, "row", "rows"))]
        }
        Warning::Unknown { cells, schema } => unknown_cells(cells, schema.as_deref(), name),
        Warning::Trained { holds_out } => {
            let others =
                if *holds_out { "; leave out --data to use the rows held out for testing" } else { "" };
            vec![format!(
                "the model was trained on rows of {name}, so scores on new rows may be worse{others}"
            )]
        }
    };
    rows.warnings.iter().flat_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_cells_are_cut() {
        let rows = [200, 201, 70_000].map(|length| vec!["é".repeat(length), "x".to_owned()]);
        let lines = Table::new(&["", ">"], rows).lines();
        let all = "é".repeat(200);
        assert_eq!(lines[1..], [format!("{all}     x"), format!("{all}...  x"), format!("{all}...  x")]);
    }

    #[test]
    fn numbers_are_readable() {
        let texts = [0, 999, 1000, 266_610, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "266,610", "1,234,567"]);
        assert_eq!(
            [0.123_45, 2e9, 0.0, 0.001, -4e-13].map(loss),
            ["0.1235", "2.0000e9", "0.0000", "0.0010", "-4.0000e-13"]
        );
        assert_eq!([f64::NAN, f64::INFINITY].map(loss), ["NaN", "inf"]);
        assert_eq!(
            [9.999_96, 99.999_6, -123.456, 12_345.67, 123_456.7, 999_999.0].map(loss),
            ["10.000", "100.00", "-123.46", "12346", "123460", "1000000"]
        );
        assert_eq!(
            [0.004, 59.996, 999.99, 1234.56].map(|it| number(it, 2)),
            ["0.00", "60.00", "999.99", "1234.6"]
        );
        assert_eq!([0.4, 98_765.4, 1_234_567.0].map(rate), ["0", "98,765", "1,234,600"]);
        assert_eq!(percent(0.98123), "98.12 %");
        assert_eq!([counted(1, "row", "rows"), counted(2000, "row", "rows")], ["1 row", "2,000 rows"]);
    }

    #[cfg(unix)]
    #[test]
    fn words_are_quoted_where_they_must_be() {
        let words =
            ["runs/a-b/model.safetensors", "ä", "my model", "it's", r"a\b", "-x", "~", "a\n'\u{202e}\\b"]
                .map(|text| shell_word(Path::new(text)));
        let expected = [
            "runs/a-b/model.safetensors",
            "ä",
            "'my model'",
            r"'it'\''s'",
            r"'a\b'",
            "./-x",
            "'~'",
            r"$'a\n\'\xe2\x80\xae\\b'",
        ];
        assert_eq!(words, expected);
    }

    /// Returns a word as parsed by this shell.
    #[cfg(unix)]
    fn read_by(shell: &str, word: &str) -> Vec<u8> {
        let output =
            std::process::Command::new(shell).args(["-c", &format!("printf %s {word}")]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {word}");
        output.stdout
    }

    #[cfg(unix)]
    #[test]
    fn shells_read_the_same_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let printable = [
            "a",
            "a b",
            "it's",
            r"a\b",
            r"\\n\",
            "$HOME",
            "`x`",
            "*",
            "~",
            "#a",
            "!",
            "a=b",
            "ä 日本",
            "\"",
            "%s",
        ];
        for text in printable {
            let word = shell_word(Path::new(text));
            for shell in ["sh", "bash"] {
                assert_eq!(read_by(shell, &word), text.as_bytes(), "{shell}: {word}");
            }
        }
        let others: [&[u8]; 7] = [
            b"a\xffb",
            b"\xffab 'c' \\d",
            b"line\nend\n",
            b"\x1b[31m\x7f\t",
            "\u{202e}abc\u{2069}d".as_bytes(),
            b"\xe2\x80",
            b"ab\xc3(\xa9\x01!9",
        ];
        for bytes in others {
            let word = shell_word(Path::new(OsStr::from_bytes(bytes)));
            assert!(word.chars().all(is_printable), "{word}");
            assert_eq!(read_by("bash", &word), bytes, "{word}");
        }
        for (bytes, same) in [(&b"-x"[..], &b"./-x"[..]), (b"-\xff", b"./-\xff"), (b"--help", b"./--help")] {
            let word = shell_word(Path::new(OsStr::from_bytes(bytes)));
            assert_eq!(read_by("bash", &word), same, "{word}");
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = |columns: [&str; 2], row: [&str; 2]| {
            Table::new(&columns, [row.map(String::from).to_vec()]).lines()
        };
        assert_eq!(lines(["name", ">n"], ["ä", "10"]), ["name   n", "ä     10"]);
        assert_eq!(lines(["\t", "n"], ["ab", "1"]), ["\\t  n", "ab  1"]);
        assert_eq!(lines(["日本", ">n"], ["e\u{301}", "10"]), ["日本   n", "e\u{301}     10"]);
    }

    #[test]
    fn a_text_takes_no_more_columns_than_it_may() {
        let texts = ["日本語", "日本語の", "abcdefg", "é日本語"].map(|text| shortened(text, 6));
        assert_eq!(texts, ["日本語", "日...", "abc...", "é日..."]);
    }

    const UNPRINTABLE: &str = "\u{0}\n\r\t\u{1b}\u{7f}\u{80}\u{9b}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\
                               \u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

    #[test]
    fn every_unprintable_character_is_escaped() {
        for letter in UNPRINTABLE.chars() {
            let text = printable(&format!("a{letter}b"));
            assert!(text.is_ascii() && text.starts_with("a\\") && text.ends_with('b'), "{text}");
        }
        assert_eq!(printable("a\nb\u{1b}[0m\u{202e}"), "a\\nb\\u{1b}[0m\\u{202e}");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        let text = "runs/ä \"日本\" 'it’s' 🙂 \\n {x}";
        assert_eq!((printable(text), printable_json(text)), (text.to_owned(), text.to_owned()));
    }

    #[test]
    fn json_reads_back_the_same() {
        let json = printable_json(&serde_json::to_string(UNPRINTABLE).unwrap());
        assert!(json.is_ascii() && json.contains("\\u202e") && json.contains("\\u007f"), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), UNPRINTABLE);
    }
}
