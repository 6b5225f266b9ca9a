//! Cells that are written in odd ways: numbers with units or other marks, quotes, what spreadsheets add.

use std::io::Write;
use std::process::Stdio;

use crate::odd_tables::{TRAIN, class, number, refused, rows, train};
use crate::program::Workplace;

#[test]
fn numbers_with_a_sign_or_a_unit_are_warned_of_once() {
    let place = Workplace::new();
    let price = |row: usize| format!("\"${},{}00\"", row % 5 + 1, row % 9 + 1);
    let text = |row: usize| ["red", "blue", "5 kg"][row % 3].to_owned();
    place.write("t.csv", "a,price,text,class\n".to_owned() + &rows(&[&number, &price, &text, &class], ""));
    let line = "warning: column price holds numbers with a sign or a unit, such as \"$1,100\", which are treated as text; write plain numbers to use their values";
    let said = |options: &[&str]| {
        let outcome =
            train(&place, &[&["--data", "t.csv", "--target", "class", "--quiet"][..], options].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
            .stderr
            .lines()
            .filter(|line| line.contains("numbers with a sign"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&[]), [line]);
    assert_eq!(said(&["--categorical", "price"]), [""; 0]);
    let folds = [
        "train", "--device", "cpu", "--hidden", "4", "--epochs", "2", "--data", "t.csv", "--target", "class",
        "--folds", "2",
    ];
    assert_eq!(place.succeed(&folds).stderr.matches(line).count(), 1);
    let inspected = place.succeed(&["inspect", "t.csv", "--target", "class"]).stdout;
    assert!(inspected.contains(line.strip_prefix("warning: ").unwrap()), "{inspected}");
    // A target, too, where it is taken for classes; as values it is refused.
    let share = |row: usize| format!("{} %", row % 4);
    place.write("target.csv", "a,share\n".to_owned() + &rows(&[&number, &share], ""));
    let outcome = train(&place, &["--data", "target.csv", "--target", "share", "--quiet"]);
    assert!(
        outcome.stderr.contains("column share holds numbers with a sign or a unit, such as \"0 %\""),
        "{}",
        outcome.stderr
    );
    let line = "target.csv, row 2, column 2 (share): expected a value to predict: a number, found \"0 %\"";
    refused(&place, &["--data", "target.csv", "--target", "share", "--task", "regression"], line);
}

/// Without a word they would be categories, or left out as text that differs from row to row.
#[test]
fn quoted_decimal_commas_between_commas_are_numbers_or_warned_of() {
    let place = Workplace::new();
    let fraction = |row: usize| format!("\"{},{}5\"", row % 9, row * 7 % 60);
    let point = |row: usize| format!("{}.5", row % 6);
    place.write("t.csv", "a,b,class\n".to_owned() + &rows(&[&fraction, &number, &class], ""));
    let inspected = place.succeed(&["inspect", "t.csv"]).stdout;
    assert!(inspected.contains("--decimal ,") && !inspected.contains("categories"), "{inspected}");
    // Without any that can only be fractions they may be lists of two.
    let pair = |row: usize| format!("\"{},{}\"", row % 9 + 1, row * 7 % 60 + 10);
    place.write("pairs.csv", "a,b,class\n".to_owned() + &rows(&[&pair, &number, &class], ""));
    let asked = "pairs.csv: is \"1,10\" a fraction, or are these two numbers?; use --decimal . or --decimal , to name the \
                 decimal mark";
    refused(&place, &["--data", "pairs.csv"], asked);
    let read = place.succeed(&["inspect", "pairs.csv", "--decimal", ","]).stdout;
    assert!(read.contains("1.1 to "), "{read}");
    // A number with a point beside them leaves no mark for both.
    place.write("both.csv", "a,b,class\n".to_owned() + &rows(&[&fraction, &point, &class], ""));
    let line = "warning: column a holds numbers with another decimal mark, such as \"0,05\", which are treated as text; use --decimal , if all numbers are written like this";
    let warned = train(&place, &["--data", "both.csv"]);
    assert!(warned.code == 0 && warned.stderr.contains(line), "{}", warned.stderr);
}

#[test]
fn quotes_behind_backslashes_are_refused() {
    let place = Workplace::new();
    for (cell, found) in [
        (r#""say \"a\" twice""#, r#"say \\a\\\" twice\""#),
        (r#""C:\"x""#, r#"C:\\x\""#),
        (r#""C:\"x"#, r"C:\\x"),
    ] {
        // Among others, and beside a quote inside a cell that it does not begin.
        for beside in [r#""C:\""#, r#"t"0"#] {
            let text = |row: usize| match row {
                40 => cell.to_owned(),
                41 => beside.to_owned(),
                _ => r#""C:\""#.to_owned(),
            };
            place.write("t.csv", "a,text,class\n".to_owned() + &rows(&[&number, &text, &class], ""));
            let line = "t.csv, row 42, column 2 (text): expected a quote inside a cell written twice, not behind a backslash, found \"";
            refused(&place, &["--data", "t.csv"], &(line.to_owned() + found + "\""));
        }
    }
}

#[test]
fn what_spreadsheets_write_is_read_or_explained() {
    let place = Workplace::new();
    let body = rows(&[&number, &class], "");
    // The delimiter in a line of its own, which counts as a line.
    let table = "sep=;\r\na;class\r\n".to_owned() + &body.replace(',', ";").replace('\n', "\r\n");
    place.write("sep.csv", &table);
    place.write("mark.csv", format!("\u{feff}{table}"));
    place.write("bad.csv", table.replacen("\r\n7;yes", "\r\n7;yes;x", 1));
    let trained = |file: &str| {
        let outcome = train(&place, &["--data", file, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        (place.model("m.safetensors").tensors, outcome.objects()[0]["rows"].clone())
    };
    place.write("t.csv", "a,class\n".to_owned() + &body);
    let plain = trained("t.csv");
    assert!(trained("sep.csv") == plain && trained("mark.csv") == plain);
    refused(
        &place,
        &["--data", "bad.csv"],
        "bad.csv, row 4: expected 2 cells, as many as in the first row, found 3",
    );
    let parts = place.succeed(&["predict", "--model", "m.safetensors", "sep.csv", "mark.csv"]).stdout;
    assert_eq!(parts.lines().count(), 121);
    // A title above the header.
    place.write("title.csv", "Sales of 2025\n\na,class\n".to_owned() + &body);
    let line = "title.csv, row 1: expected 2 cells, as in the rows below (is the first row a title? Remove all rows above the header), \
                found \"Sales of 2025\"";
    refused(&place, &["--data", "title.csv"], line);
    // Delimiters at the ends of all rows, of which later ones hold something.
    place.write("ends.csv", "a,class,,\n".to_owned() + &rows(&[&number, &class], ",,"));
    assert!(trained("ends.csv") == plain);
    let outcome = train(&place, &["--data", "ends.csv"]);
    let line = "left out columns 2, 3: no name and no value; use --exclude to silence this line";
    assert!(outcome.stderr.lines().any(|found| found == line), "{}", outcome.stderr);
    assert_eq!(
        place.succeed(&["predict", "--model", "m.safetensors", "ends.csv"]).stdout.lines().count(),
        61
    );
    let one = "a,class,\n".to_owned() + &rows(&[&number, &class], ",").repeat(3);
    let later = format!("{one}1,no,5\n");
    let mut command = place.command(&[&TRAIN[..], &["m.safetensors", "--data", "-"]].concat());
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(later.as_bytes()).unwrap();
    let error = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    let line = "row 182, column 3 (): expected no value, as in the first rows (the column has no name; add one to the header), found \"5\"";
    assert!(error.contains(line), "{error}");
}
