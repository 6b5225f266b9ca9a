//! Text that a terminal takes as it stands.

use std::time::Duration;

use jiff::SignedDuration;

/// Whether a character may reach the terminal as it is: no control character, no separator of lines or paragraphs, and
/// none that changes the direction of what follows.
pub fn is_printable(letter: char) -> bool {
    !letter.is_control()
        && !matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A line of text, with escapes as in Rust (`\n`, `\u{202e}`) for what is not printable.
pub fn printable(text: &str) -> String {
    escaped(text, |letter| letter.escape_default().to_string())
}

/// JSON, with `\uXXXX` for what is not printable: it means the same. Only strings may hold such characters.
pub fn printable_json(json: &str) -> String {
    escaped(json, |letter| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

/// A time as options take it, to milliseconds: `1h 5m`.
pub fn time_text(time: Duration) -> String {
    let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    format!("{:#}", SignedDuration::from_millis(milliseconds))
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    text.chars()
        .map(|letter| if is_printable(letter) { letter.to_string() } else { escape(letter) })
        .collect()
}
