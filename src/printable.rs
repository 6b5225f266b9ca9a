//! Text that is safe for terminals.

use std::time::Duration;

use jiff::SignedDuration;

/// Returns whether a character is safe for a terminal: not a control character, a separator of lines or
/// paragraphs, or a character that changes text direction.
pub fn is_printable(letter: char) -> bool {
    !letter.is_control()
        && !matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Escapes unprintable characters of a line as in Rust (`\n`, `\u{202e}`).
pub fn printable(text: &str) -> String {
    escaped(text, |letter| letter.escape_default().to_string())
}

/// Escapes unprintable characters of JSON as `\uXXXX`, with the same meaning. Only strings may contain such
/// characters.
pub fn printable_json(json: &str) -> String {
    escaped(json, |letter| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

/// Formats a time as for options, to milliseconds: `1h 5m`.
pub fn time_text(time: Duration) -> String {
    let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    format!("{:#}", SignedDuration::from_millis(milliseconds))
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    text.chars()
        .map(|letter| if is_printable(letter) { letter.to_string() } else { escape(letter) })
        .collect()
}
