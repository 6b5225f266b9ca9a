//! Text that is safe on a terminal: names of files and columns may hold line ends, commands to the terminal, and
//! characters that turn the direction of the text around.

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

fn escaped(text: &str, escape: impl Fn(char) -> String) -> String {
    text.chars()
        .map(|letter| if is_printable(letter) { letter.to_string() } else { escape(letter) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
