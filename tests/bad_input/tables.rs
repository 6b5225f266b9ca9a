//! CSV tables.

use crate::check::{refused, stopped};
use crate::program::{Workplace, gzip};

/// Returns the arguments of `train` on a table whose first column is the target, on the CPU engine.
fn train(file: &str) -> Vec<&str> {
    [&crate::check::train(file)[..], &["--target", "0", "--task", "classification"]].concat()
}

#[test]
fn missing_values_are_refused_in_every_file() {
    let place = Workplace::new();
    place.write("t.csv", "class,left,right\n0,1,2\n1,3,\n");
    place.write("whole.csv", "class,left,right\n0,1,2\n1,3,4\n");
    for (file, held_out) in
        [("t.csv", &[][..]), ("whole.csv", &["--test", "t.csv"]), ("whole.csv", &["--validation", "t.csv"])]
    {
        let parts = ["t.csv, row 3, column 3 (right)", "--missing error refuses missing values"];
        refused(&place, &[&train(file)[..], &["--missing", "error"], held_out].concat(), &parts);
    }
}

#[test]
fn faults_in_later_blocks_come_when_they_are_reached() {
    let rows = "0,1\n1,2\n".repeat(4500);
    for (last, parts) in [
        ("1,inf\n", ["t.csv, row 9001, column 2", "found \"inf\""]),
        ("1\n", ["t.csv, row 9001", "found 1"]),
        ("1.5,1\n", ["t.csv, row 9001, column 1", "1.5, a fraction"]),
        ("1,\"2\n", ["t.csv, row 9001", "a quote that is closed"]),
    ] {
        let place = Workplace::new();
        place.write("t.csv", rows.clone() + last);
        refused(&place, &train("t.csv"), &parts);
        // With bytes, training starts before all rows are read.
        if !last.starts_with("1.5") {
            stopped(&place, &[&train("t.csv")[..], &["--scale", "bytes"]].concat(), 2, &parts);
        }
    }
    let whole = gzip(rows.as_bytes());
    let place = Workplace::new();
    place.write("t.csv.gz", &whole[..whole.len() - 4]);
    stopped(&place, &[&train("t.csv.gz")[..], &["--scale", "bytes"]].concat(), 2, &["t.csv.gz", "early end"]);
}

#[test]
fn test_sets_that_do_not_fit() {
    let place = Workplace::new();
    place.write("t.csv", "0,1,20\n1,2,30\n".repeat(10));
    place.write("wide.csv", "0,1,2,3\n");
    place.write("class.csv", "0,1,2\n7,1,2\n");
    place.write("bad.csv", "0,1,2\n1,1,many\n");
    let test = |file| [&train("t.csv")[..], &["--test", file]].concat();
    refused(
        &place,
        &test("wide.csv"),
        &["wide.csv", "expected 3 columns as in the training table", "found 4"],
    );
    refused(&place, &test("missing.csv"), &["missing.csv"]);
    refused(&place, &test("."), &["expected the IDX files"]);
    refused(&place, &test("class.csv"), &["class.csv", "labels of the training data (0, 1)", "label \"7\""]);
    refused(&place, &test("bad.csv"), &["bad.csv, row 2, column 3", "expected a number"]);
}

#[test]
fn a_name_with_a_line_end_stays_on_the_line() {
    let place = Workplace::new();
    refused(&place, &train("no\nsuch\u{1b}[31mfile"), &["no\\nsuch\\u{1b}[31mfile"]);
}

#[test]
fn a_learning_rate_that_is_far_too_great_is_a_numerical_fault() {
    let place = Workplace::with_data();
    let arguments = ["train", "--device", "cpu", "--data", "data", "--lr", "1e30", "--out", "new/m"];
    stopped(&place, &arguments, 3, &["step 2 (epoch 1, batch 2)", "learning rate 1e30", "a smaller --lr"]);
}

/// Losses are computed before a step, so no loss shows that the last step ruins the weights.
#[test]
fn a_last_step_that_ruins_the_weights() {
    let place = Workplace::new();
    for name in ["two.csv", "other.csv"] {
        place.write(name, "0,1\n1,2\n");
    }
    let run = ["--test", "other.csv", "--preset", "plain", "--epochs", "1", "--lr", "1e38", "--out", "new/m"];
    let arguments = [&train("two.csv")[..], &run].concat();
    stopped(&place, &arguments, 3, &["after epoch 1", "learning rate 1e38", "a smaller --lr"]);
}

#[test]
fn an_output_that_is_the_input() {
    let place = Workplace::new();
    place.write("two", "0,1\n1,2\n");
    let arguments = [&train("two")[..], &["--out", "two"]].concat();
    refused(&place, &arguments, &["--out: ", "two, which holds the data"]);
    // The file's ending is not a model's.
    place.write("two.csv", "0,1\n1,2\n");
    let arguments = [&train("two.csv")[..], &["--out", "two.csv"]].concat();
    refused(
        &place,
        &arguments,
        &["--out: expected a folder, or a file named *.safetensors, found two.csv; "],
    );
}
