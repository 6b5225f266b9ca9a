//! Numbers and tables as people read them.

use std::path::Path;
use std::time::Duration;

/// With a comma before every three digits: 60,000.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four digits after the point; powers of ten where there are too many before it.
pub fn loss(value: f64) -> String {
    if value.abs() < 1e6 { format!("{value:.4}") } else { format!("{value:.4e}") }
}

/// A share of 1 in percent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Seconds with two digits after the point.
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// `singular`, or `plural` with its number.
pub fn counted(number: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { singular } else { plural })
}

/// A path as a shell takes it.
pub fn shell_word(path: &Path) -> String {
    let mut text = path.to_string_lossy();
    if text.starts_with('-') {
        // Else a command would take it for an option.
        text = format!("./{text}").into();
    }
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@\\".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else if cfg!(windows) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// To which side a column leans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table's lines, two spaces between its columns; the first row is the header.
pub fn table(rows: &[Vec<String>], align: &[Align]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..align.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .zip(align)
            .map(|((cell, width), align)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let texts = [0, 999, 1000, 266_610, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "266,610", "1,234,567"]);
        assert_eq!([loss(0.123_45), loss(2e9)], ["0.1235", "2.0000e9"]);
        assert_eq!(percent(0.98123), "98.12 %");
        assert_eq!([counted(1, "row", "rows"), counted(2000, "row", "rows")], ["1 row", "2,000 rows"]);
    }

    #[cfg(unix)]
    #[test]
    fn paths_can_be_copied_into_a_shell() {
        let words =
            ["runs/a-b/model.safetensors", "my model", "it's"].map(|text| shell_word(Path::new(text)));
        assert_eq!(words, ["runs/a-b/model.safetensors", "'my model'", r"'it'\''s'"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["name", "n"], ["ä", "10"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&rows, &[Align::Left, Align::Right]), ["name   n", "ä     10"]);
    }
}
