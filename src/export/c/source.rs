//! Pieces of C source: names, comments, texts, arrays.

use std::fmt::{Debug, Write};

use crate::printable::is_printable;

/// A name that C takes: letters and digits, `_` for all else, no digit first.
pub(in crate::export) fn identifier(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = name.chars().map(letter).collect();
    match name.chars().next() {
        None => "model".to_owned(),
        Some('0'..='9' | '_') => format!("model_{name}"),
        Some(_) => name,
    }
}

/// Text for a comment: no end of it, no trigraph, no backslash, no character that moves the cursor or turns the text around.
pub(super) fn comment(text: &str) -> String {
    let letter = |letter: char| match letter {
        '\\' => '/',
        _ if !is_printable(letter) => ' ',
        _ => letter,
    };
    let text: String = text.chars().map(letter).collect();
    text.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/")
}

/// Text in quotes: all that is not plain ASCII as its bytes.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Always three digits: a digit behind them is none of theirs.
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "\""
}

/// Columns of a line of numbers.
const WIDTH: usize = 112;

/// `static const KIND NAME[COUNT] = {...};`, a number with as many digits as tell it from all others.
pub(super) fn array<T: Debug>(kind: &str, suffix: &str, name: &str, values: &[T], to: &mut String) {
    to.push_str(&format!("static const {kind} {name}[{}] = {{", values.len()));
    let mut number = String::new();
    let mut column = WIDTH;
    for value in values {
        number.clear();
        // A string takes all that is written.
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
