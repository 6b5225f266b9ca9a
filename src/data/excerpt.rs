//! Cells and names as text in messages.

/// Maximum number of characters shown of a cell.
const SHOWN_CHARACTERS: usize = 40;

/// Formats a cell for a message: quoted, shortened, on one line.
pub(crate) fn quote(cell: &[u8]) -> String {
    if cell.is_empty() {
        return "an empty cell".to_string();
    }
    let quoted = format!("{:?}", cut(cell));
    match str::from_utf8(cell) {
        Ok(_) => quoted,
        Err(_) => format!("bytes that are not UTF-8: {quoted}"),
    }
}

/// Formats a column's name for a message: shortened, on one line.
pub(crate) fn printable_name(cell: &[u8]) -> String {
    let escape =
        |c: char| if matches!(c, '"' | '\'' | '\\') { c.to_string() } else { c.escape_debug().to_string() };
    cut(cell).chars().map(escape).collect()
}

/// Lists names for a message: all, or the first ones and the number of all.
pub(crate) fn list_some(names: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 8;
    let count = names.len();
    let shown: Vec<String> = names.take(SHOWN).collect();
    if count > SHOWN { format!("{}, ... ({count} in all)", shown.join(", ")) } else { shown.join(", ") }
}

fn cut(cell: &[u8]) -> String {
    // A character takes at most 4 bytes; a cell may be as long as its file.
    let start = &cell[..cell.len().min(4 * (SHOWN_CHARACTERS + 1))];
    let text = String::from_utf8_lossy(start);
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text.into_owned();
    }
    text.chars().take(SHOWN_CHARACTERS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_cells_are_short_and_on_one_line() {
        assert_eq!(quote(b"a\nb\0"), r#""a\nb\0""#);
        assert_eq!(quote("ä".repeat(40).as_bytes()), format!("{:?}", "ä".repeat(40)));
        assert_eq!(quote("ä".repeat(1000).as_bytes()), format!("{:?}", "ä".repeat(40) + "…"));
        assert!(quote(b"\xff1").starts_with("bytes that are not UTF-8: "));
        assert_eq!(quote(b""), "an empty cell");
        assert_eq!(printable_name("5\" 'ä'\n".as_bytes()), "5\" 'ä'\\n");
    }
}
