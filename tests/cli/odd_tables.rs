//! Tables and options that go wrong easily: what has no effect, or cannot be learnt, is refused or said.

use crate::program::{Outcome, Workplace};

const TRAIN: [&str; 8] = ["train", "--device", "cpu", "--hidden", "4", "--epochs", "2", "--out"];

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    place.run(&[&TRAIN[..], &["m.safetensors"], arguments].concat())
}

/// Refused in this one line.
#[track_caller]
fn refused(place: &Workplace, arguments: &[&str], line: &str) {
    let outcome = train(place, arguments);
    assert_eq!((outcome.code, outcome.error()), (2, format!("error: {line}").as_str()), "{arguments:?}");
}

/// A table of numbers, weights, groups, text and a class.
fn table() -> String {
    let row = |row: usize| {
        format!("{},{},{},{},{}\n", row * 7 % 10, 1 + row % 3, row % 6, ["x", "y", "z"][row % 3], row % 2)
    };
    "a,w,g,t,class\n".to_owned() + &(0..60).map(row).collect::<String>()
}

#[test]
fn options_without_an_effect_are_refused() {
    let place = Workplace::new();
    place.write("t.csv", table());
    place.write("text.csv", "t,class\n".to_owned() + &"x,0\ny,1\nz,0\n".repeat(20));
    for (options, line) in [
        (
            &["--only", "a", "w", "--weight", "w"][..],
            "--only: expected columns that are inputs, found column w, which holds the weights",
        ),
        (
            &["--only", "a", "class"],
            "--only: expected columns that are inputs, found column class, which holds the target",
        ),
        (
            &["--only", "g", "a", "--group", "g", "--test-fraction", "0.2"],
            "--only: expected columns that are inputs, found column g, which holds the groups",
        ),
        (
            &["--categorical", "g", "--exclude", "g"],
            "--categorical: expected columns that are inputs, found column g, which is left out",
        ),
        (
            &["--categorical", "a", "g", "--only", "a"],
            "--categorical: expected columns that are inputs, found column g, which is none of the only inputs",
        ),
        (
            &["--categorical", "g", "--time", "g", "--test-fraction", "0.2"],
            "--categorical: expected columns that are inputs, found column g, which holds the times",
        ),
        (&["--scale-target", "none"], "--scale-target: expected values to predict, found classes"),
        (&["--scale-target", "standard"], "--scale-target: expected values to predict, found classes"),
        (
            &["--one-hot", "4", "--exclude", "t"],
            "--one-hot: expected a column of categories, found only numbers",
        ),
        (
            &["--auc-by-epoch"],
            "--auc-by-epoch: expected validation or test data to measure it over, found none",
        ),
    ] {
        refused(&place, &[&["--data", "t.csv"][..], options].concat(), line);
        refused(&place, &[&["--data", "t.csv", "--quiet"][..], options].concat(), line);
    }
    for options in [["--embeddings", "pbld"], ["--scale", "robust"], ["--clip", "smooth"]] {
        let line = format!("{}: expected a column of numbers, found only categories", options[0]);
        refused(&place, &[&["--data", "text.csv"][..], &options].concat(), &line);
    }
    for options in
        [&["--weight", "0"][..], &["--group", "0", "--test-fraction", "0.2"], &["--delimiter", ";"]]
    {
        let line = format!("{}: expected a table, found images, which have no columns", options[0]);
        refused(&place, options, &line);
    }
    // What a preset says is not said by the user, nor when a run goes on with its settings.
    let preset = ["--data", "text.csv", "--preset", "table", "--epochs", "3"];
    place.succeed(&[&["train", "--device", "cpu", "--hidden", "4", "--out", "run"][..], &preset].concat());
    place.succeed(&["train", "--resume", "run", "--epochs", "4"]);
    place.succeed(&["train", "--config", "run/config.toml", "--epochs", "1", "--out", "again"]);
    for options in [
        &["--weight", "w", "--exclude", "w"][..],
        &["--categorical", "t", "g", "--only", "t", "g"],
        &["--scale", "none", "--embeddings", "none"],
    ] {
        place.succeed(&[&TRAIN[..], &["m.safetensors", "--data", "t.csv"], options].concat());
    }
}

#[test]
fn targets_that_cannot_be_learnt_are_refused() {
    let place = Workplace::new();
    let table = |value: &dyn Fn(usize) -> String| {
        let row = |row: usize| format!("{},{}\n", row * 7 % 10, value(row));
        "a,price\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    place.write("one.csv", table(&|_| "2.5".to_owned()));
    place.write("tiny.csv", table(&|row| format!("{}e-40", 1 + row % 30)));
    place.write("nothing.csv", table(&|row| format!("{}e-50", 1 + row % 30)));
    place.write("class.csv", table(&|_| "yes".to_owned()));
    for (file, expected) in [
        ("one", "values to predict that differ, found only 2.5"),
        (
            "nothing",
            "values to predict that differ, found only 0 (as numbers nearer to it than 1e-45 are read, too)",
        ),
        (
            "tiny",
            "values that 32-bit floats tell apart (multiply them by a factor), found values from 1e-40 to 3e-39",
        ),
    ] {
        let data = format!("{file}.csv");
        for scale in ["standard", "none"] {
            let options =
                ["--data", &data, "--target", "price", "--task", "regression", "--scale-target", scale];
            refused(&place, &options, &format!("{file}.csv, column 2 (price): expected {expected}"));
        }
    }
    let line = "class.csv, column 2 (price): expected labels of two or more classes, found only label yes";
    refused(&place, &["--data", "class.csv", "--target", "price"], line);
}

/// Rows of one class have no AUC: a line says why.
#[test]
fn held_out_rows_of_one_class_are_said() {
    let place = Workplace::new();
    let row = |row: usize| {
        format!("{},{},{}\n", row * 7 % 10, row, if row < 40 { ["no", "yes"][row % 2] } else { "no" })
    };
    place.write("t.csv", "a,day,class\n".to_owned() + &(0..60).map(row).collect::<String>());
    place.write("no.csv", "a,day,class\n".to_owned() + &(40..60).map(row).collect::<String>());
    let line = "the test rows are all of one class, no: they have no AUC, and their other figures say little";
    let common = ["--data", "t.csv", "--time", "day", "--test-fraction", "0.25"];
    let outcome = train(&place, &[&common[..], &["--quiet"]].concat());
    assert_eq!((outcome.code, outcome.stderr.trim_end()), (0, format!("warning: {line}").as_str()));
    let objects = train(&place, &[&common[..], &["--format", "json"]].concat()).objects();
    let said: Vec<_> = objects.iter().filter(|object| object["event"] == "one_class").collect();
    assert_eq!((said.len(), &said[0]["set"], &said[0]["class"]), (1, &"test".into(), &"no".into()));
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--data", "no.csv"];
    let outcome = place.run(&eval);
    let line =
        "the rows of no.csv are all of one class, no: they have no AUC, and their other figures say little";
    assert_eq!((outcome.code, outcome.stderr.trim_end()), (0, format!("warning: {line}").as_str()));
}
