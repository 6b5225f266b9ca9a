//! CSV tables.

use crate::check::{refused, stopped, train};
use crate::program::{Workplace, gzip};

/// Trains on a table that cannot be read. `parts` says what is told besides the file.
#[track_caller]
fn unreadable(table: impl AsRef<[u8]>, parts: &[&str]) {
    let place = Workplace::new();
    place.write("t.csv", table);
    refused(&place, &train("t.csv"), &[&["error: t.csv", "expected "], parts].concat());
    refused(&place, &[&train("t.csv")[..], &["--out", "new/m", "--format", "json"]].concat(), parts);
}

#[test]
fn cells_that_are_no_numbers() {
    for (cell, expected) in [
        ("x", "expected a number, found \"x\""),
        ("", "expected a number, found an empty cell"),
        ("nan", "expected a finite number"),
        ("inf", "expected a finite number"),
        ("-inf", "expected a finite number"),
        ("1e39", "32-bit float"),
        ("1\x002", "expected a number, found \"1\\02\""),
    ] {
        unreadable(
            format!("class,left,right\n0,1,2\n1,3,{cell}\n"),
            &[", row 3, column 3 (right)", expected],
        );
    }
    unreadable(b"class,left\n0,1\n1,\xff\n", &[", row 3, column 2 (left)", "not UTF-8"]);
    unreadable(b"cl\xffss,left\n0,1\n1,2\n", &[", row 1", "UTF-8"]);
}

#[test]
fn rows_of_another_length() {
    unreadable("0,1,2\n1,3\n", &[", row 2", "3 cells", "found 2"]);
    unreadable("0,1,2\n1,3,4,5\n", &[", row 2", "3 cells", "found 4"]);
}

#[test]
fn labels_that_are_no_classes() {
    for label in ["-1", "1.5", "65536", "cat"] {
        let found = format!("found \"{label}\"");
        unreadable(format!("class,x\n0,1\n{label},2\n"), &[", row 3, column 1 (class)", "a label", &found]);
    }
    unreadable("class,x\n3,1\n3,2\n", &["two or more classes", "only label 3"]);
}

#[test]
fn files_that_are_no_tables() {
    unreadable("", &["found an empty file"]);
    unreadable("class,x\n", &["only a header"]);
    unreadable("class\n1\n0\n", &["only one column"]);
    unreadable("class,x\n0,1\n1,\"2\n0,3\n", &[", row 3", "a quote that is closed"]);
    let whole = gzip("0,1\n1,2\n".repeat(300).as_bytes());
    unreadable(&whole[..whole.len() / 2], &["whole gzip data", "early end"]);
    unreadable(&whole[..whole.len() - 3], &["whole gzip data", "early end"]);
    let mut damaged = whole.clone();
    let check_sum = damaged.len() - 8;
    damaged[check_sum] ^= 1;
    unreadable(damaged, &["whole gzip data", "checksum"]);
}

#[test]
fn faults_in_later_blocks_come_when_they_are_reached() {
    let rows = "0,1\n1,2\n".repeat(4500);
    for (last, parts) in [
        ("1,x\n", ["t.csv, row 9001, column 2", "found \"x\""]),
        ("1\n", ["t.csv, row 9001", "found 1"]),
        ("1.5,1\n", ["t.csv, row 9001, column 1", "found \"1.5\""]),
        ("1,\"2\n", ["t.csv, row 9001", "a quote that is closed"]),
    ] {
        let place = Workplace::new();
        place.write("t.csv", rows.clone() + last);
        stopped(&place, &train("t.csv"), 2, &parts);
    }
    let whole = gzip(rows.as_bytes());
    let place = Workplace::new();
    place.write("t.csv.gz", &whole[..whole.len() - 4]);
    stopped(&place, &train("t.csv.gz"), 2, &["t.csv.gz", "early end"]);
}

#[test]
fn label_columns_that_are_not_there() {
    let place = Workplace::new();
    place.write("t.csv", "class,x\n0,1\n1,2\n");
    for column in ["nothing", "2", "-1"] {
        let arguments = [&train("t.csv")[..], &["--label-column", column]].concat();
        refused(&place, &arguments, &["t.csv", "a label column", column, "class, x"]);
    }
    refused(
        &place,
        &[&train("t.csv")[..], &["--label-column", ""]].concat(),
        &["--label-column", "expected"],
    );
}

#[test]
fn test_sets_that_do_not_fit() {
    let place = Workplace::new();
    place.write("t.csv", "0,1,20\n1,2,30\n".repeat(10));
    place.write("wide.csv", "0,1,2,3\n");
    place.write("class.csv", "0,1,2\n7,1,2\n");
    place.write("bad.csv", "0,1,2\n1,1,?\n");
    let test = |file| [&train("t.csv")[..], &["--test", file]].concat();
    refused(&place, &test("wide.csv"), &["wide.csv", "expected 2 feature values", "found 3"]);
    refused(&place, &test("missing.csv"), &["missing.csv"]);
    refused(&place, &test("."), &["expected the IDX files"]);
    stopped(&place, &test("class.csv"), 2, &["class.csv", "labels from 0 to 1", "label 7"]);
    stopped(&place, &test("bad.csv"), 2, &["bad.csv, row 2, column 3", "expected a number"]);
}

#[test]
fn a_name_with_a_line_end_stays_on_the_line() {
    let place = Workplace::new();
    refused(&place, &train("no\nsuch\u{1b}[31mfile"), &["no\\nsuch\\u{1b}[31mfile"]);
}

#[test]
fn a_learning_rate_that_is_far_too_great_is_a_numerical_fault() {
    let place = Workplace::with_data();
    let arguments = [&train("data")[..], &["--lr", "1e30", "--out", "new/m"]].concat();
    stopped(&place, &arguments, 3, &["step 2 (epoch 1, batch 2)", "learning rate 1e30", "a smaller --lr"]);
}

/// Losses are those before a step, so the last step can ruin the weights unseen.
#[test]
fn a_last_step_that_ruins_the_weights() {
    let place = Workplace::new();
    place.write("two.csv", "0,1\n1,2\n");
    let run = ["--test", "two.csv", "--epochs", "1", "--lr", "1e38", "--out", "new/m"];
    let arguments = [&train("two.csv")[..], &run].concat();
    stopped(&place, &arguments, 3, &["after epoch 1", "learning rate 1e38", "a smaller --lr"]);
}

#[test]
fn an_output_that_is_the_input() {
    let place = Workplace::new();
    place.write("two.csv", "0,1\n1,2\n");
    let arguments = [&train("two.csv")[..], &["--out", "two.csv"]].concat();
    refused(&place, &arguments, &["--out: ", "two.csv, which holds the data"]);
}
