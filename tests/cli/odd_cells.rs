//! Cells in unusual notation: numbers with units or other marks, quotes, additions of spreadsheets.

use crate::odd_tables::{class, number, refused, rows, train};
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
    // A classification target, too; as regression values the numbers are read.
    let share = |row: usize| format!("{} %", row % 4);
    place.write("target.csv", "a,share\n".to_owned() + &rows(&[&number, &share], ""));
    let outcome = train(&place, &["--data", "target.csv", "--target", "share", "--quiet"]);
    assert!(
        outcome.stderr.contains("column share holds numbers with a sign or a unit, such as \"0 %\""),
        "{}",
        outcome.stderr
    );
    let outcome = train(&place, &["--data", "target.csv", "--target", "share", "--task", "regression"]);
    let line =
        "target share holds numbers with a sign or a unit, such as \"0 %\", which are read as plain numbers";
    assert!(outcome.code == 0 && outcome.stderr.contains(line), "{}", outcome.stderr);
}

/// Otherwise they would silently be categories, or ignored as text that differs in nearly all rows.
#[test]
fn quoted_decimal_commas_between_commas_are_numbers_or_warned_of() {
    let place = Workplace::new();
    let fraction = |row: usize| format!("\"{},{}5\"", row % 9, row * 7 % 60);
    let point = |row: usize| format!("{}.5", row % 6);
    place.write("t.csv", "a,b,class\n".to_owned() + &rows(&[&fraction, &number, &class], ""));
    let inspected = place.succeed(&["inspect", "t.csv"]).stdout;
    assert!(inspected.contains("--decimal ,") && !inspected.contains("categories"), "{inspected}");
    // Without any unambiguous fraction they may be lists of two numbers.
    let pair = |row: usize| format!("\"{},{}\"", row % 9 + 1, row * 7 % 60 + 10);
    place.write("pairs.csv", "a,b,class\n".to_owned() + &rows(&[&pair, &number, &class], ""));
    let asked = "pairs.csv: is \"1,10\" a fraction, or are these two numbers?; use --decimal . or --decimal , to name the \
                 decimal mark";
    refused(&place, &["--data", "pairs.csv"], asked);
    let read = place.succeed(&["inspect", "pairs.csv", "--decimal", ","]).stdout;
    assert!(read.contains("1.1 to "), "{read}");
    // With numbers with a point among them, no decimal mark fits both.
    place.write("both.csv", "a,b,class\n".to_owned() + &rows(&[&fraction, &point, &class], ""));
    let line = "warning: column a holds numbers with another decimal mark, such as \"0,05\", which are treated as text; use --decimal , if all numbers are written like this";
    let warned = train(&place, &["--data", "both.csv"]);
    assert!(warned.code == 0 && warned.stderr.contains(line), "{}", warned.stderr);
}

#[test]
fn quotes_after_backslashes_are_refused() {
    let place = Workplace::new();
    for (cell, found) in [
        (r#""say \"a\" twice""#, r#"say \\a\\\" twice\""#),
        (r#""C:\"x""#, r#"C:\\x\""#),
        (r#""C:\"x"#, r"C:\\x"),
    ] {
        // Together with other cells, and with a quote inside a cell that does not begin with it.
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
fn output_of_spreadsheets_is_read_or_explained() {
    let place = Workplace::new();
    let body = rows(&[&number, &class], "");
    // The delimiter on a separate line, which counts as a line.
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
    // Delimiters at the ends of all rows, with values after them in later rows.
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
    place.write("later.csv", format!("{one}1,no,5\n"));
    let read = place.succeed(&["inspect", "later.csv", "--format", "json"]).objects().remove(0);
    assert_eq!(read["columns"].as_array().map(Vec::len), Some(2), "{read}");
}

#[test]
fn numbers_with_a_sign_or_a_unit_are_values_to_predict() {
    let place = Workplace::new();
    let percent = |row: usize| format!("{}.{}%", row % 90, row % 10);
    let dollars = |row: usize| format!("\"${},834,175.{:02}\"", row % 9 + 1, row);
    let losses = |row: usize| format!("\"-${},834.5\"", row % 50 + 1);
    let euros = |row: usize| format!("\"{}.{:03},50 €\"", row % 9 + 1, row);
    for (cell, least, greatest) in [
        (&percent as &dyn Fn(usize) -> String, 0.0, 59.9),
        (&dollars, 1_834_175.0, 9_834_175.5),
        (&losses, -50_834.5, -1834.5),
        (&euros, 1000.5, 9053.5),
    ] {
        place.write("t.csv", "a,price\n".to_owned() + &rows(&[&number, &cell], ""));
        let outcome = train(&place, &["--data", "t.csv", "--target", "price"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("target price holds numbers with a sign or a unit, such as "),
            "{}",
            outcome.stderr
        );
        let predicted = place.succeed(&["predict", "--model", "m.safetensors", "t.csv"]).stdout;
        let values: Vec<f64> = predicted.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        let width = greatest - least;
        assert!(values.iter().all(|value| (least - width..greatest + width).contains(value)), "{predicted}");
        place.succeed(&["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"]);
    }
    // Another unit is an error.
    place.write("t.csv", "a,price\n".to_owned() + &rows(&[&number, &percent], "") + "1,5 kg\n");
    let line = "t.csv, row 62, column 2 (price): expected a value to predict: a number, found \"5 kg\"";
    refused(&place, &["--data", "t.csv", "--target", "price"], line);
}

#[test]
fn a_single_text_among_different_numbers_is_an_error() {
    let place = Workplace::new();
    let line = |numbers: usize, row: usize| {
        format!(
            "t.csv, row {row}, column 2 (b): expected a number, as in {numbers} other rows, found \"x\"; use --categorical to treat the column as text, --missing-marker to name a text that stands for a missing value, or --exclude to ignore the column"
        )
    };
    for (count, odd) in [(65, 20), (65, 64), (10, 5), (150, 120), (1000, 0)] {
        let row = |row: usize| {
            let cell = if row == odd { "x".to_owned() } else { format!("{}.5", row * 3) };
            format!("{},{cell},{}\n", row % 7, ["no", "yes"][row % 2])
        };
        place.write("t.csv", "a,b,class\n".to_owned() + &(0..count).map(row).collect::<String>());
        if odd > 0 {
            refused(&place, &["--data", "t.csv"], &line(count - 1, odd + 2));
        }
        let missing = train(&place, &["--data", "t.csv", "--missing-marker", "x"]);
        assert_eq!(missing.code, 0, "{}", missing.stderr);
        assert_eq!(train(&place, &["--data", "t.csv", "--categorical", "b"]).code, 0);
    }
    // Repeated numbers are codes, also among frequent text.
    for cell in [
        &(|row: usize| ["4", "f", "4", "r", "4"][row % 5].to_owned()) as &dyn Fn(usize) -> String,
        &|row| if row == 30 { "x".to_owned() } else { (row % 3).to_string() },
        &|row| if row % 3 == 0 { format!("A{}", row % 4) } else { (row % 25).to_string() },
    ] {
        place.write("t.csv", "a,b,class\n".to_owned() + &rows(&[&number, cell, &class], ""));
        let outcome = train(&place, &["--data", "t.csv"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("column b holds numbers and text"), "{}", outcome.stderr);
    }
    // Text and numbers with few repetitions, such as ticket numbers, are ignored, wherever the text occurs.
    for first in [0, 120] {
        let cell = |row: usize| {
            if row >= first && row.is_multiple_of(3) { format!("A/{row}") } else { (row * 17).to_string() }
        };
        let row = |row: usize| format!("{},{},{}\n", row % 7, cell(row), ["no", "yes"][row % 2]);
        place.write("t.csv", "a,b,class\n".to_owned() + &(0..200).map(row).collect::<String>());
        let outcome = train(&place, &["--data", "t.csv"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("left out column b: nearly every value is different"),
            "{}",
            outcome.stderr
        );
        assert_eq!(place.model("m.safetensors").columns(), "[\"a\"]");
    }
}

#[test]
fn codes_are_categories() {
    let place = Workplace::new();
    let zip = |row: usize| format!("{:05}", 1000 + row % 12 * 900);
    let long = |row: usize| (1_152_921_504_606_846_970 + row as u64 % 5).to_string();
    place.write("t.csv", "a,zip,code,class\n".to_owned() + &rows(&[&number, &zip, &long, &class], ""));
    let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    let categories = |column: usize| -> Vec<String> {
        let list = found["columns"][column]["categories"].as_array().unwrap();
        let mut names: Vec<String> =
            list.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(categories(1)[..2], ["01000", "01900"]);
    assert_eq!(
        categories(2),
        (0..5).map(|code| (1_152_921_504_606_846_970u64 + code).to_string()).collect::<Vec<_>>()
    );
    let outcome = train(&place, &["--data", "t.csv"]);
    let line = "columns zip, code hold codes with leading zeros or more than 15 digits, such as \"01000\", which are categories as with --categorical; write plain numbers to use their values";
    assert!(outcome.code == 0 && outcome.stderr.contains(line), "{}", outcome.stderr);
    // A column of this name with zeros that occur late.
    let late = |row: usize| {
        format!(
            "{},{},{}\n",
            row % 7,
            if row < 150 { 94110 + row % 4 } else { 94110 },
            ["no", "yes"][row % 2]
        )
    };
    let text = "a,zip,class\n".to_owned() + &(0..160).map(late).collect::<String>() + "1,02134,no\n";
    place.write("t.csv", text);
    let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    assert_eq!(found["columns"][1]["type"], "categories");
    // Rounded numbers are reported.
    let date = |row: usize| (20_000_101 + row % 20 * 10_000).to_string();
    place.write("t.csv", "a,date,class\n".to_owned() + &rows(&[&number, &date, &class], ""));
    let outcome = train(&place, &["--data", "t.csv"]);
    let line = "whole numbers beyond 16,777,216 are rounded to 24 bits: in date (for example 20000101 is read as 20000100); use --categorical to tell them apart, or write dates as 2026-11-22";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    // Rows of one person should be held out together.
    for (name, cell) in [
        ("patient", &(|row: usize| format!("p{}", row / 40)) as &dyn Fn(usize) -> String),
        ("user_id", &|row| (row / 30).to_string()),
        ("SubjectID", &|row| (row % 9).to_string()),
    ] {
        place.write("t.csv", format!("a,{name},class\n") + &rows(&[&number, cell, &class], ""));
        let outcome = train(&place, &["--data", "t.csv"]);
        let line = format!(
            "1 column may hold identifiers, which do not generalize: {name}; use --exclude to ignore them, --group to hold out"
        );
        assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
    }
}

#[test]
fn columns_without_a_value_are_left_out() {
    let place = Workplace::new();
    let empty = |row: usize| ["", "NA", "?"][row % 3].to_owned();
    place.write("t.csv", "a,m,class\n".to_owned() + &rows(&[&number, &empty, &class], ""));
    let long: String = (0..300).map(|row| format!("{},,{}\n", row % 7, ["no", "yes"][row % 2])).collect();
    place.write("long.csv", "a,m,class\n".to_owned() + &long);
    for file in ["t.csv", "long.csv"] {
        let outcome = train(&place, &["--data", file]);
        let line = "left out column m: every value is missing; use --exclude to silence this line";
        assert!(outcome.code == 0 && outcome.stderr.contains(line), "{}", outcome.stderr);
        assert_eq!(place.model("m.safetensors").columns(), "[\"a\"]");
        place.write("one.csv", "a,m\n3,\n");
        place.write("two.csv", "a,m\n3,7\n");
        let predicted = ["one.csv", "two.csv"]
            .map(|file| place.succeed(&["predict", "--model", "m.safetensors", file]).stdout);
        assert_eq!(predicted[0], predicted[1]);
    }
    // A value in a late row makes the column an input.
    place.write("late.csv", "a,m,class\n".to_owned() + &long + "1,5,no\n");
    assert_eq!(train(&place, &["--data", "late.csv"]).code, 0);
    assert_eq!(place.model("m.safetensors").columns(), "[\"a\",\"m\"]");
}

/// `NA` is also a continent: a marker as frequent as a category is reported, and can become a category.
#[test]
fn markers_as_frequent_as_categories_are_reported() {
    let place = Workplace::new();
    let continents = ["AF", "AS", "EU", "NA", "SA"];
    let row = |row: usize| format!("{},{},{}\n", row * 7 % 31, continents[row % 5], ["p", "q"][row % 5 / 3]);
    place.write("t.csv", "size,continent,y\n".to_owned() + &(0..100).map(row).collect::<String>());
    let train = [
        "train", "--data", "t.csv", "--target", "y", "--device", "cpu", "--preset", "plain", "--epochs", "1",
    ];
    let line = "cells such as \"NA\" are missing values, but about as frequent as the categories of continent; use --missing-markers \"\",? if they are a category";
    let said = place.succeed(&[&train[..], &["--out", "a"]].concat()).stderr;
    assert!(said.lines().any(|it| it == line), "{said}");
    let said = place.succeed(&[&train[..], &["--missing-markers", ",?", "--out", "b"]].concat()).stderr;
    assert!(!said.contains("missing values"), "{said}");
    // A few missing cells are not a category.
    let rare = |number: usize| if number % 50 == 3 { row(number) } else { row(number).replace("NA", "SA") };
    place.write("t.csv", "size,continent,y\n".to_owned() + &(0..100).map(rare).collect::<String>());
    let said = place.succeed(&[&train[..], &["--out", "c"]].concat()).stderr;
    assert!(!said.contains("missing values"), "{said}");
}
