use std::io::Cursor;

use super::*;

/// The rows of a table that arrives `at_a_time` bytes at a time, with their lines.
fn rows(text: &str, at_a_time: usize) -> (Vec<(String, u64)>, Option<String>) {
    struct Slow(Cursor<Vec<u8>>, usize);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(self.1);
            self.0.read(&mut buffer[..length])
        }
    }
    let source = Slow(Cursor::new(text.as_bytes().to_vec()), at_a_time);
    let mut pieces = Pieces::new(Stream::new(Path::new("t"), source).unwrap(), &[], b',', 1000);
    let mut found = Vec::new();
    loop {
        match pieces.next_row() {
            Ok(Some(piece)) => found.extend(piece.each_row(b',').map(|(start, row)| {
                (String::from_utf8_lossy(&row[..row.len() - 1]).into_owned(), piece.line(start))
            })),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error.to_string())),
        }
    }
}

#[test]
fn rows_end_where_lines_end_outside_quotes() {
    for (text, expected) in [
        ("a,b\n1,2\n", &[("a,b", 1), ("1,2", 2)][..]),
        ("a,b\r\n1,2\r\n\r\n3,4", &[("a,b", 1), ("1,2", 2), ("3,4", 4)]),
        ("a,b\r1,2\r\r3,4\r", &[("a,b", 1), ("1,2", 2), ("3,4", 4)]),
        ("\n  \n\"a\nb\",\"c\"\"\n\"\n1,2", &[("\"a\nb\",\"c\"\"\n\"", 3), ("1,2", 6)]),
        ("a\"b,\"\"\nc,\"\"\"\n\"\n", &[("a\"b,\"\"", 1), ("c,\"\"\"\n\"", 2)]),
        ("\"a\"b\"\nc\n\"  \"\n\"\"\n", &[("\"a\"b\"", 1), ("c", 2), ("\"\"", 4)]),
        ("", &[]),
        ("\n\r\n \n", &[]),
    ] {
        for at_a_time in [1, 2, 3, 1000] {
            let (found, fault) = rows(text, at_a_time);
            let found: Vec<(&str, u64)> = found.iter().map(|(row, line)| (row.as_str(), *line)).collect();
            assert_eq!((found, fault), (expected.to_vec(), None), "{text:?}");
        }
    }
}

#[test]
fn lines_are_counted_over_pieces_of_many_rows() {
    for end in ["\n", "\r\n", "\r"] {
        // One of the cells has two lines.
        let cell = |row| if row == 7 { format!("\"a{end}\"") } else { "a".to_owned() };
        let text: String = (0..9).map(|row| format!("{row},{}{end}", cell(row))).collect();
        let mut pieces =
            Pieces::new(Stream::new(Path::new("t"), Cursor::new(text)).unwrap(), &[], b',', 1000);
        let first = |piece: Option<Piece>| piece.map(|piece| piece.first_line(b','));
        let lines: Vec<Option<u64>> =
            [3, 2, 3, 9, 9].map(|rows| first(pieces.take_from_files(rows).unwrap())).to_vec();
        assert_eq!(lines, [Some(1), Some(4), Some(6), Some(10), None], "{end:?}");
    }
}

/// Counts rows after the first row, which is read separately.
#[test]
fn rows_are_counted_over_blocks() {
    for (end, quote) in [("\n", ""), ("\r\n", ""), ("\r\n", "\""), ("\n", "\"")] {
        let text = format!("{quote}a{quote},1{end}").repeat(3 * BLOCK_ROWS);
        let mut pieces =
            Pieces::new(Stream::new(Path::new("t"), Cursor::new(text)).unwrap(), &[], b',', 1 << 20);
        assert_eq!(pieces.next_row().unwrap().map(|piece| piece.rows), Some(1));
        pieces.begin_rows(&[]);
        let (mut rows, mut line) = (0, 2);
        while let Some(piece) = pieces.next().unwrap() {
            assert_eq!((piece.before, piece.line(0)), (rows as u64, line));
            assert_eq!(piece.each_row(b',').count(), piece.rows, "{end:?}");
            rows += piece.rows;
            line += piece.rows as u64;
        }
        assert_eq!(rows, 3 * BLOCK_ROWS - 1);
    }
}

#[test]
fn what_comes_before_a_fault_is_delivered() {
    for at_a_time in [1, 7, 1000] {
        let (found, fault) = rows("1,2\n3,\"4\n5,6\n", at_a_time);
        assert_eq!(found, [("1,2".to_owned(), 1)]);
        assert!(fault.unwrap().contains("t, row 2: expected a quote that is closed"));
        let (found, fault) = rows(&format!("1,2\n\n{}\n3", "x".repeat(1001)), at_a_time);
        assert_eq!(found, [("1,2".to_owned(), 1)]);
        assert!(fault.unwrap().contains("t, row 3: expected at most 1000 bytes in a row"));
    }
}
