//! Errors of unreadable tables: the file, the row, the column, expected and found contents.

use std::io::Cursor;
use std::path::Path;

use tinytrain::data::{BLOCK_ROWS, Classes, ReadOptions, Reader, Selection, Split, Target, Transform};

use crate::support::{assert_error, csv_error, gzip, label_first, label_in, open_csv, zstd};

/// Returns a table with a header that is valid except for the last line.
fn with_header(last_line: &str) -> String {
    format!("digit,left,right\n1,2,3\n0,4,5\n{last_line}\n")
}

#[test]
fn cells_that_are_not_finite_numbers() {
    for (cell, expected, found) in [
        ("+nan", "a finite number", r#""+nan""#),
        ("-Infinity", "a finite number", r#""-Infinity""#),
        ("inf", "a finite number", r#""inf""#),
        ("1e39", "a number that a 32-bit float can hold", r#""1e39""#),
        ("-1e39", "a number that a 32-bit float can hold", r#""-1e39""#),
        ("1\0", "a number", r#""1\0""#),
    ] {
        let error = csv_error(with_header(&format!("0,6,{cell}")));
        let found = format!(", found {found}");
        assert_error(&error, &["t.csv, row 4, column 3 (right): expected ", expected, &found]);
        let error = csv_error(format!("1,2\n0,{cell}\n"));
        assert_error(&error, &["t.csv, row 2, column 2: expected ", expected, &found]);
    }
}

#[test]
fn bytes_that_are_not_text() {
    let error = csv_error([with_header("0,6,").as_bytes().trim_ascii_end(), b"\xff\xfe7\n"].concat());
    assert_error(
        &error,
        &["t.csv, row 4, column 3 (right): expected a number (", ", found bytes that are not UTF-8: "],
    );
    // In the first row they would be treated as a header.
    for (table, found) in [
        (&b"1,\xff2\n0,3\n"[..], "found bytes that are not UTF-8: "),
        (b"1,2\0\n0,3\n", r#"found "2\0""#),
        (b"1,\0\0\n0,3\n", r#"found "\0\0""#),
    ] {
        assert_error(&csv_error(table), &["t.csv, row 1, column 2: expected text", found]);
    }
    // UTF-16, as exported by some spreadsheets.
    let utf16: Vec<u8> = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_error(&csv_error(utf16), &["t.csv: expected text in UTF-8, found text in UTF-16"]);
}

#[test]
fn a_first_row_of_unusable_numbers_is_not_a_header() {
    for cell in ["-inf", "+Infinity", "INF"] {
        let error = csv_error(format!("1,{cell}\n0,2\n"));
        assert_error(&error, &["t.csv, row 1, column 2: expected a finite number", cell]);
    }
    assert_error(&csv_error("1,1e39\n0,2\n"), &["t.csv, row 1, column 2: ", "32-bit float"]);
    let mut options = label_first();
    options.columns.refuse_missing = true;
    for (table, column) in [("1,\n0,2\n", 2), (",\n0,2\n", 2), ("1,na\n0,2\n", 2), ("0,1\n1, \n", 2)] {
        let error = open_csv(table, &options).err().unwrap();
        let place = format!("column {column}: expected a number (--missing error refuses missing values)");
        assert_error(&error, &["t.csv, row ", &place]);
    }
    assert_error(&csv_error(",1\n0,2\n"), &["t.csv, row 1, column 1: expected a label"]);
}

#[test]
fn labels_that_are_missing() {
    for label in ["", " "] {
        let error = csv_error(with_header(&format!("{label},6,7")));
        assert_error(
            &error,
            &["t.csv, row 4, column 1 (digit): expected a label (every row", "(1 of 3 rows has no target)"],
        );
    }
    for label in ["nan", "NA", "?"] {
        let error = csv_error(with_header(&format!("{label},6,7")));
        assert_error(&error, &[&format!("t.csv: is \"{label}\" a label of target digit"), "in 1 of 3 rows"]);
    }
    assert_error(
        &csv_error("1,2\n\"a\0\",3\n"),
        &["t.csv, row 2, column 1: expected a label, text in UTF-8"],
    );
}

#[test]
fn labels_that_are_values() {
    let check = |table: String, column: &str| {
        open_csv(table, &label_in(column)).unwrap().check_classes().unwrap_err()
    };
    let fractions = with_header("0.5,6,7");
    assert_error(
        &check(fractions, "digit"),
        &["t.csv, row 4, column 1 (digit): expected labels of classes", "0.5, a fraction"],
    );
    let rows = |count: usize| (0..count).map(|row| format!("{row},7,{}\n", row % 3)).collect::<String>();
    assert_error(
        &check(rows(1001).repeat(3), "0"),
        &["t.csv, column 1: expected labels of classes", "1001 different numbers"],
    );
    assert_error(
        &check(rows(21), "0"),
        &["21 different labels in 21 rows", "values are predicted by regression"],
    );
    open_csv(rows(1000).repeat(3), &label_in("0")).unwrap().check_classes().unwrap();
    open_csv(rows(21).repeat(2), &label_in("0")).unwrap().check_classes().unwrap();
    let names: String = (0..65_537).map(|row| format!("n{row},1\n")).collect();
    assert_error(&csv_error(names), &["t.csv, row 65537, column 1: expected at most 65536 different labels"]);
}

#[test]
fn rows_of_another_length() {
    for (line, found) in [("0,6", "2"), ("0", "1"), ("0,6,7,8", "4"), ("0,6,7,", "4")] {
        let found = format!("expected 3 cells, as many as in the first row, found {found}");
        assert_error(&csv_error(with_header(line)), &["t.csv, row 4: ", &found]);
        assert_error(&csv_error(format!("1,2,3\n0,4,5\n{line}\n")), &["t.csv, row 3: ", &found]);
    }
}

#[test]
fn rows_are_lines_of_the_file() {
    let bad = "0,inf";
    for (table, row) in [
        ("a,b\n1,2\n\n\n0,3\n{}\n", 6),
        ("a,b\r\n1,2\r\n\r\n0,3\r\n{}\r\n", 5),
        ("a,b\r\n1,2\r\n{}", 3),
        ("a,b\n1,2\n{}", 3),
        ("\n\n1,2\n  \n{}\n0,1\n", 5),
        ("\"a\n\nlong\r\nname\",b\n1,2\n{}\n", 6),
        ("\u{feff}a,b\n1,2\n{}\n", 3),
        ("1,2\r0,3\r{}\r", 3),
        ("1,2\r\n0,3\n\"{}\n\n\n", 3),
    ] {
        let bad = if table.contains("\"{}") { "0\",inf" } else { bad };
        let error = csv_error(table.replace("{}", bad));
        assert_error(&error, &[&format!("t.csv, row {row}, column 2")]);
    }
    let far = 3 * BLOCK_ROWS + 17;
    let table: String =
        (1..=far).map(|row| if row == far { "0,x\n".into() } else { format!("{row},1\r\n") }).collect();
    assert_error(
        &csv_error(table),
        &[&format!("t.csv, row {far}, column 2: expected a number, as in {} other", far - 1), "found \"x\""],
    );
}

#[test]
fn quotes_that_are_not_closed() {
    let long = format!("0,\"1\n{}", "1,2\n".repeat(50_000));
    for (table, row) in [
        ("5,0,\"12", 1),
        ("4,0,12\n5,0,\"12", 2),
        ("4,0,12\n5,0,\"12\n", 2),
        ("4,0,12\n5,\"0,12\n6,1,13\n", 2),
        ("4,0,12\n\"5,0,12\n6,1,13\n", 2),
        ("4,0,12\r\n5,0,\"12\"\"\r\n", 2),
        ("4,0,\"12\"\n\"5\",0,\"", 2),
        ("\"a,b,c\n4,0,12\n", 1),
        ("a,b,\"c\n4,0,12\n", 1),
        ("a \"b\",b\",c\n4,0,12\n5,1,\"", 3),
        (long.as_str(), 1),
    ] {
        let message = format!("t.csv, row {row}: expected a quote that is closed, found the end of the file");
        assert_error(&csv_error(table), &[&message]);
    }
    // Quotes that enclose only a part of the file: the error shows the cell.
    let error = csv_error("4,0,12\n5,\"0,12\n6,1,\"13\n");
    assert_error(&error, &["t.csv, row 2: expected 3 cells, as many as in the first row, found 2"]);
    // A quote inside a cell does not start a quotation.
    let reader = open_csv("4,12\n5,1\"2", &label_first()).unwrap();
    assert_eq!(reader.dictionaries()[0].text(2), Some("1\"2"));
}

#[test]
fn tables_with_nothing_to_learn_from() {
    for empty in ["", "\n\n", "\r\n", "  \n\t\n", "\u{feff}"] {
        assert_error(&csv_error(empty), &["t.csv: expected a table, found "]);
    }
    assert_error(&csv_error(gzip(b"")), &["t.csv: expected a table, found an empty file"]);
    for header in ["a,b", "a,b\n", "a,b\r\n\r\n"] {
        assert_error(&csv_error(header), &["t.csv: expected rows of numbers, found only a header"]);
    }
    for narrow in ["1\n0\n", "label\n1\n", "a:b\n1:2\n"] {
        assert_error(&csv_error(narrow), &["expected a target column and at least one", "only one column"]);
    }
}

#[test]
fn a_single_class_is_an_error_in_training_only() {
    for table in ["3,1\n3,2\n", "3,1\n", "label,x\n3.0,1\n3,4"] {
        let reader = open_csv(table, &label_first()).unwrap();
        let expected = ["expected labels of two or more classes", "found only label 3"];
        assert_error(&reader.check_classes().unwrap_err(), &expected);
        assert_eq!(reader.into_dataset(&Transform::None).unwrap().classes(), 1);
    }
}

#[test]
fn label_columns_that_do_not_exist() {
    let error = |table: &str, column: &str| open_csv(table, &label_in(column)).err().unwrap();
    let table = "a,b,c\n1,2,3\n0,2,3\n";
    for column in ["d", "3", "-4", "1.0", ""] {
        let message = error(table, column);
        assert_error(&message, &["t.csv, row 1: expected a target column ", "found the columns a, b, c"]);
        assert!(column.is_empty() || message.to_string().contains(&format!("{column:?}")));
    }
    for column in ["a", "3"] {
        let message = error("1,2,3\n0,2,3\n", column);
        assert_error(
            &message,
            &["t.csv: expected a target column ", column, "found the columns 0 to 2, without names"],
        );
    }
    let wide: Vec<String> = (0..100).map(|column| format!("c{column}")).collect();
    assert_error(&error(&(wide.join(",") + "\n"), "x"), &["found the columns c0, c1,", "... (100 in all)"]);
}

#[test]
fn found_text_is_truncated_and_on_one_line() {
    let error = csv_error(format!("1,2\n0,\"tab\tbell\u{7}\nnext {}\"\n", "long ".repeat(10_000)));
    assert_error(&error, &["t.csv, row 2, column 2", r#""tab\tbell\u{7}\nnext long "#]);
    assert!(error.to_string().len() < 250, "{error}");
    let name = "name\n".repeat(1000);
    let error = csv_error(format!("a,\"{name}\"\n0,inf\n"));
    assert_error(&error, &[r"t.csv, row 1002, column 2 (name\nname\n"]);
    assert!(error.to_string().len() < 250, "{error}");
}

#[test]
fn gzip_that_is_damaged() {
    let table = "0,1\n1,2\n".repeat(2000);
    let whole = gzip(table.as_bytes());
    open_csv(whole.clone(), &label_first()).unwrap();
    // In the header, in the data, in the trailer: at its start, inside, one byte before its end.
    for length in [2, 9, whole.len() / 2, whole.len() - 8, whole.len() - 5, whole.len() - 1] {
        let error = csv_error(&whole[..length]);
        assert_error(&error, &["t.csv: expected whole gzip data, found an early end"]);
    }
    for at in [whole.len() - 1, whole.len() - 8] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert_error(&csv_error(damaged), &["t.csv: expected whole gzip data, found damage: ", "checksum"]);
    }
    for stray in [&b"x"[..], b"stray bytes, more than a gzip header has", b"\0\0\0\0\0\0\0\0\0\0\0\0"] {
        let error = csv_error([&whole[..], stray].concat());
        assert_error(&error, &["t.csv: expected whole gzip data, found "]);
    }
}

#[test]
fn a_zstd_window_beyond_the_limit_is_named() {
    let mut frame = zstd(b"0,1\n1,2\n");
    // As written by `zstd --long=31`.
    frame[5] = 21 << 3;
    assert_error(
        &csv_error(frame),
        &[
            "t.csv: expected zstd data with a window of at most 134217728 bytes",
            "one of 2147483648",
            "--long",
        ],
    );
}

#[test]
fn a_label_unknown_to_a_model_is_reported_with_its_place() {
    let table = "x,class\n1,a\n2,b\n\n3,c\n4,a\n";
    let classes = Classes::named(["a", "b"].map(String::from).to_vec()).unwrap();
    let reader = || open_csv(table, &label_in("class")).unwrap();
    let place =
        "t.csv, row 5, column 2 (class): expected labels of the training data (a, b), found label \"c\"";
    assert_error(&reader().check_labels(&classes).unwrap_err(), &[place]);
    assert_error(&reader().into_dataset_of(&Transform::None, &classes).unwrap_err(), &[place]);
}

#[test]
fn fewer_groups_than_parts_cannot_be_split() {
    let columns = Selection {
        target: Target::Column("class".to_owned()),
        group: Some("g".to_owned()),
        ..Selection::default()
    };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let divide = |groups: [&str; 6], validation, test| {
        let rows: String =
            groups.iter().zip(0..).map(|(group, row)| format!("{row},{group},{}\n", row % 2)).collect();
        let mut reader = open_csv("x,g,class\n".to_owned() + &rows, &options).unwrap();
        reader
            .divide(&Split { validation, test, seed: 1, fold: None })
            .map(|parts| parts.map(|part| part.rows()))
    };
    let error = divide(["p"; 6], 0.0, 0.3).unwrap_err();
    assert_error(
        &error,
        &[
            "test-fraction: expected a fraction that holds out the rows of at least one group",
            "(there is only one)",
        ],
    );
    let error = divide(["p", "p", "p", "q", "q", "q"], 0.3, 0.3).unwrap_err();
    assert_error(&error, &["validation-fraction: expected", "groups are not split (there are 2)"]);
    assert_eq!(divide(["p", "p", "q", "q", "r", "r"], 0.3, 0.3).unwrap(), [2, 2]);
}

/// A missing value is reported as missing among the first rows, and as an invalid pixel after them.
#[test]
fn values_that_are_missing_where_none_may_be() {
    let row = |cell: usize, missing: Option<usize>| {
        let cells = (0..64).map(|column| {
            if missing == Some(column) { String::new() } else { ((7 * cell + column) % 251).to_string() }
        });
        format!("{},{}\n", cell % 3, cells.collect::<Vec<String>>().join(","))
    };
    let header =
        format!("label,{}\n", (0..64).map(|pixel| format!("p{pixel}")).collect::<Vec<String>>().join(","));
    let rows = 2 * BLOCK_ROWS + 63;
    for (first, blanks) in [(17, "\n\n"), (BLOCK_ROWS + 1, "\r\n\n"), (rows - 1, "")] {
        // A second one later has no effect.
        let missing = |number: usize| (number == first || number == first + 257).then_some(number % 64);
        let table: String = (0..rows).map(|number| row(number, missing(number))).collect();
        let table = format!("{header}{blanks}{table}");
        for threads in [1, 3] {
            let read = ReadOptions { threads: Some(threads), ..label_in("label") };
            let place = Path::new("t.csv");
            let source = Cursor::new(table.clone().into_bytes());
            let mut reader = Reader::from_csv(place, source, &read).unwrap();
            let error = reader.refuse_missing().and_then(|()| reader.read_to_end()).unwrap_err();
            let line = first + 2 + blanks.matches('\n').count();
            let place =
                format!("t.csv, row {line}, column {} (p{}): expected a ", first % 64 + 2, first % 64);
            let expected = match first < BLOCK_ROWS {
                true => "value (missing values are only filled in for scaled columns), found an empty cell",
                false => "whole number from 0 to 255, as in the first 4,096 rows, found an empty cell",
            };
            assert_eq!(error.to_string(), place + expected);
        }
    }
}
