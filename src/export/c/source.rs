//! Pieces of C source: names, comments, texts, arrays.

use std::fmt::{Debug, Write};

use crate::printable::is_printable;

/// A valid C name: letters and digits, `_` for everything else, no digit at the start.
pub(in crate::export) fn identifier(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = name.chars().map(letter).collect();
    match name.chars().next() {
        None => "model".to_owned(),
        Some('0'..='9' | '_') => format!("model_{name}"),
        Some(_) => name,
    }
}

/// Text for a comment: without the end of a comment, trigraphs, backslashes, and characters that move the cursor or
/// reverse the text direction.
pub(super) fn comment(text: &str) -> String {
    let letter = |letter: char| match letter {
        '\\' => '/',
        _ if !is_printable(letter) => ' ',
        _ => letter,
    };
    let text: String = text.chars().map(letter).collect();
    text.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")
}

/// Text in quotes: everything except plain ASCII as octal bytes.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Always three digits, so that a following digit is not part of the escape.
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "\""
}

/// Maximum length of a line of numbers.
const WIDTH: usize = 112;

/// `static const KIND NAME[COUNT] = {...};`, each number with enough digits to identify it.
pub(super) fn array<T: Debug>(kind: &str, suffix: &str, name: &str, values: &[T], to: &mut String) {
    to.push_str(&format!("static const {kind} {name}[{}] = {{", values.len()));
    let mut number = String::new();
    let mut column = WIDTH;
    for value in values {
        number.clear();
        // Writing to a string cannot fail.
        let _ = write!(number, "{value:?}{suffix},");
        if column + number.len() + 1 > WIDTH {
            to.push_str("\n   ");
            column = 3;
        }
        to.push(' ');
        to.push_str(&number);
        column += number.len() + 1;
    }
    to.push_str("\n};\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_c() {
        for (name, expected) in [
            ("iris", "iris"),
            ("my model-2", "my_model_2"),
            ("2", "model_2"),
            ("é", "model__"),
            ("", "model"),
        ] {
            assert_eq!(identifier(name), expected);
        }
        for (text, expected) in [
            ("a*/b??/\nc\\", "a* /b? ?/ c/"),
            ("*\\", "* /"),
            ("/*/", "/ * /"),
            ("???\\", "?? ?/"),
            ("\u{202e}é", " é"),
        ] {
            assert_eq!(comment(text), expected, "{text}");
        }
        assert_eq!(literal("é\"?\n1"), "\"\\303\\251\\\"\\?\\0121\"");
        let mut text = String::new();
        array("float", "f", "w", &[0.1f32, -1e-30, 2.0], &mut text);
        assert_eq!(text, "static const float w[3] = {\n    0.1f, -1e-30f, 2.0f,\n};\n");
    }
}
