//! Files in formats other than text tables and IDX, recognised by content, with a way to convert them to a table.

/// The remedy for images in a format that is read.
const IN_FOLDERS: &str = "name a folder that contains one folder of images for each class";

/// The first bytes of a format, its name, and the remedy.
const BY_BYTES: [(&[u8], &str, &str); 16] = [
    (b"PK\x03\x04", "a ZIP archive, such as a workbook (.xlsx)", "unpack it, or save the table as CSV"),
    (b"BZh", "a file packed by bzip2", "unpack it by bunzip2, or pack it by gzip or zstd"),
    (b"\xfd7zXZ\0", "a file packed by xz", "unpack it by unxz, or pack it by gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image", IN_FOLDERS),
    (b"\xff\xd8\xff", "a JPEG image", IN_FOLDERS),
    (b"GIF8", "a GIF image", "save images as PNG or JPEG, in one folder for each class"),
    (b"\x93NUMPY", "a single numpy array (.npy)", "save it with its labels by numpy.savez(FILE, X=X, y=y)"),
    (b"\x89HDF\r\n", "an HDF5 file", "pandas writes it as CSV by read_hdf and to_csv(FILE, index=False)"),
    (b"MATLAB 5.0", "a MATLAB file", "save its arrays by numpy.savez(FILE, X=X, y=y)"),
    (b"SQLite format 3\0", "an SQLite database", "save the table as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old workbook (.xls)", "save the table as CSV"),
    (b"ARROW1\0\0", "an Arrow file", "pandas writes it as CSV by read_feather and to_csv(FILE, index=False)"),
    (b"%PDF-", "a PDF file", "save the table as CSV"),
    (b"\x80\x04\x95", "a pickle", "pandas writes it as CSV by read_pickle and to_csv(FILE, index=False)"),
];

/// Length of the longest of these beginnings, in bytes.
pub(crate) const LONGEST_START: usize = 16;

/// Maximum number of lines examined.
const LINES: usize = 20;

/// The format of a file by its first bytes, and the remedy.
pub(crate) fn by_bytes(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = BY_BYTES.iter().find(|(magic, ..)| start.starts_with(magic));
    known.map(|(_, name, remedy)| (*name, *remedy))
}

/// The format of text by its first lines, if it is not a table, and the remedy.
pub(crate) fn by_text(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = String::from_utf8_lossy(&start[..start.len().min(1 << 16)]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
    let first = *lines.first()?;
    let behind = |mark: char| first.strip_prefix(mark).map(|rest| rest.trim_start().chars().next());
    match (behind('{'), behind('[')) {
        (Some(Some('"' | '}')), _) if lines.get(1).is_none_or(|line| line.starts_with('{')) => {
            return Some((
                "JSON lines",
                "pandas writes them as CSV by read_json(FILE, lines=True) and to_csv(FILE, index=False)",
            ));
        }
        (Some(None | Some('"' | '}')), _) | (_, Some(None | Some('{' | '['))) => {
            return Some(("JSON", "pandas writes it as CSV by read_json and to_csv(FILE, index=False)"));
        }
        _ => {}
    }
    let statement = lines.iter().find(|line| !line.starts_with('%'))?;
    if statement.get(..9).is_some_and(|word| word.eq_ignore_ascii_case("@relation")) {
        return Some(("an ARFF file", "remove all lines up to @data and write the names as a header"));
    }
    // The last line may be incomplete.
    let whole = if lines.len() > 1 { &lines[..lines.len() - 1] } else { &lines[..] };
    (whole.iter().all(|line| is_sparse(line)) && whole.iter().any(|line| line.contains(':'))).then_some((
        "sparse rows as libsvm writes them",
        "scikit-learn reads them by load_svmlight_file; save them by numpy.savez(FILE, X=X.toarray(), y=y)",
    ))
}

/// Whether a line is a number followed by numbers of columns with values: `+1 3:1 11:0.5`.
fn is_sparse(line: &str) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let is_value = |word: &str| {
        word.split_once(':').is_some_and(|(column, value)| {
            (column == "qid" || column.parse::<u32>().is_ok()) && is_number(value)
        })
    };
    words.next().is_some_and(|label| label.split(',').all(is_number)) && words.all(is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_called_by_name() {
        for (start, name) in [
            (&b"BZh91AY"[..], "bzip2"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"\xff\xd8\xff\xe0", "JPEG"),
            (b"PK\x03\x04\x14", "ZIP"),
            (b"\x93NUMPY\x01", "numpy array"),
        ] {
            assert!(by_bytes(start).unwrap().0.contains(name));
        }
        assert_eq!(by_bytes(b"a,b\n1,2\n"), None);
        for (text, name) in [
            ("{\"a\": 1, \"b\": 2}\n{\"a\": 3}\n", "JSON lines"),
            ("[{\"a\": 1}]", "JSON"),
            ("{\n  \"a\": [1, 2]\n}\n", "JSON"),
            ("[[1, 2], [3, 4]]\n", "JSON"),
            ("% iris\n\n@RELATION iris\n@attribute a numeric\n", "an ARFF file"),
            ("-1 3:1 11:1 14:0.5\n+1 5:1\n1\n", "sparse rows as libsvm writes them"),
        ] {
            assert_eq!(by_text(text.as_bytes()).map(|(name, _)| name), Some(name), "{text}");
        }
        for text in ["a,b\n1,2\n", "[x],[y]\n1,2\n", "{a},b\n", "1 2 3\n4 5 6\n", "10:30 5\n", "1\n2\n"] {
            assert_eq!(by_text(text.as_bytes()), None, "{text}");
        }
    }
}
