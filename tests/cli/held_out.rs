//! Validation and test rows: their selection, their effect, and how evaluation finds them again.

use std::fs::File;

use serde_json::Value;

use crate::program::{Outcome, Points, SavedModel, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["train", "--device", "cpu", "--hidden", "8", "--out", "m.safetensors", "--format", "json"];
    place.run(&[&common[..], arguments].concat())
}

#[track_caller]
fn trained(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    let outcome = train(place, arguments);
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome.objects()
}

#[track_caller]
fn evaluated(place: &Workplace, arguments: &[&str]) -> Value {
    let common = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    place.succeed(&[&common[..], arguments].concat()).objects().remove(0)
}

/// Returns a folder with `t.csv` for training and `v.csv` with another 150 rows.
fn with_tables() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(500, 4).csv(NAMES));
    place.write("v.csv", Points::new(150, 9).csv(NAMES));
    place
}

/// Returns the accuracies of the epochs on these rows.
fn accuracies(objects: &[Value], rows: &str) -> Vec<f64> {
    let epochs = objects.iter().filter(|object| object["event"] == "epoch");
    epochs.map(|epoch| epoch[rows].as_f64().unwrap()).collect()
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn each_class_gives_its_share_and_eval_finds_the_rows_again() {
    let place = with_tables();
    let arguments =
        ["--data", "t.csv", "--test-fraction", "0.2", "--validation-fraction", "0.1", "--epochs", "3"];
    let objects = trained(&place, &arguments);
    let points = Points::new(500, 4);
    // Classes are in the order of their names.
    let counts = [2, 0, 1].map(|class| points.classes.iter().filter(|other| **other == class).count() as f64);
    let held_out = |share: f64| counts.map(|count| (count * share).round() as u64);
    let (test, validation) = (held_out(0.2), held_out(0.1));
    let expected = 500 - test.iter().sum::<u64>() - validation.iter().sum::<u64>();
    assert_eq!(objects[0]["rows"], expected);
    let evaluated = evaluated(&place, &[]);
    let matrix: Vec<Vec<u64>> = serde_json::from_value(evaluated["confusion"].clone()).unwrap();
    let rows: Vec<u64> = matrix.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(rows, test);
    let summary = objects.last().unwrap();
    assert_eq!(evaluated["accuracy"], summary["test_accuracy"]);
    assert!(evaluated["data"].as_str().unwrap().contains("t.csv"), "{evaluated}");

    // Different rows are detected.
    place.write("t.csv", Points::new(499, 4).csv(NAMES));
    let outcome = place.run(&["eval", "--model", "m.safetensors", "--device", "cpu"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("500 rows") && outcome.error().contains("--data"), "{}", outcome.stderr);

    // The same rows in another order, or with one other value, are detected, too; the original ones are found
    // again.
    let table = points.csv(NAMES);
    let (header, rows) = table.split_once('\n').unwrap();
    let turned: Vec<&str> = rows.lines().rev().collect();
    let changed = table.replacen("-0.", "-10.", 200);
    for text in [format!("{header}\n{}\n", turned.join("\n")), changed] {
        place.write("t.csv", text);
        let outcome = place.run(&["eval", "--model", "m.safetensors", "--device", "cpu"]);
        let expected = "error: t.csv: expected the 500 rows of training, found others, or in another order: the held-out rows can no longer be identified; use --data to evaluate all rows of a file";
        assert_eq!((outcome.code, outcome.error()), (2, expected));
    }
    place.write("t.csv", table);
    assert_eq!(self::evaluated(&place, &[])["accuracy"], evaluated["accuracy"]);
}

#[test]
fn a_test_file_that_has_changed_is_refused() {
    let place = with_tables();
    // A run folder also records the rows of its scores.
    place.succeed(&[
        "train", "--data", "t.csv", "--test", "v.csv", "--epochs", "1", "--device", "cpu", "--quiet",
        "--out", "run",
    ]);
    let eval =
        |data: &[&str]| place.run(&[&["eval", "--model", "run", "--device", "cpu"][..], data].concat());
    assert_eq!(eval(&[]).code, 0);
    let table = Points::new(150, 9).csv(NAMES);
    let (shorter, _) = table.trim_end().rsplit_once('\n').unwrap();
    for text in [table.replacen("-0.", "-10.", 50), shorter.to_owned() + "\n"] {
        place.write("v.csv", text);
        let expected = "error: v.csv: expected the rows that the model was tested on, found others, or in another order; use --data to evaluate all rows of a file";
        assert_eq!((eval(&[]).code, eval(&[]).error()), (2, expected));
        assert_eq!(eval(&["--data", "v.csv"]).code, 0);
    }
    place.write("v.csv", table);
    assert_eq!(eval(&[]).code, 0);
}

/// Tables with weights, groups, text and missing cells, too.
#[test]
fn held_out_rows_are_found_again_whatever_else_a_table_holds() {
    let place = Workplace::new();
    let row = |row: usize| {
        let number = if row.is_multiple_of(11) { String::new() } else { format!("{}.5", row * 7 % 23) };
        let text = ["x", "y", "zz", ""][row * 5 % 4];
        format!("{number},{text},{},{},{}\n", 1 + row % 3, row / 3, ["p", "q"][row % 2])
    };
    place.write("t.csv", "a,b,w,g,class\n".to_owned() + &(0..200).map(row).collect::<String>());
    for options in [
        &["--weight", "w", "--exclude", "g"][..],
        &["--group", "g", "--exclude", "w"],
        &["--time", "g", "--weight", "w"],
        &["--exclude", "w", "g", "--class-weights", "balanced", "--categorical", "a"],
        &["--target", "w", "--task", "regression", "--weight", "g", "--exclude", "class"],
    ] {
        let arguments = [&["--data", "t.csv", "--test-fraction", "0.3", "--epochs", "2"], options].concat();
        let objects = trained(&place, &arguments);
        let (found, summary) = (evaluated(&place, &[]), objects.last().unwrap());
        assert!(found["samples"].as_u64().unwrap() >= 50, "{found}");
        for (measure, test) in [("accuracy", "test_accuracy"), ("rmse", "test_rmse")] {
            assert_eq!(found[measure], summary[test], "{options:?}");
        }
    }
}

#[test]
fn eval_finds_the_test_file_and_the_training_file() {
    let place = with_tables();
    let objects = trained(&place, &["--data", "t.csv", "--test", "v.csv", "--epochs", "3"]);
    let found = evaluated(&place, &[]);
    assert_eq!((&found["data"], &found["samples"]), (&"v.csv".into(), &150.into()));
    assert_eq!(found["accuracy"], objects.last().unwrap()["test_accuracy"]);
    trained(&place, &["--data", "t.csv", "--epochs", "3"]);
    let found = evaluated(&place, &[]);
    assert_eq!((&found["data"], &found["samples"]), (&"t.csv".into(), &500.into()));
}

#[test]
fn the_best_model_or_the_last_is_kept() {
    let place = with_tables();
    // The steps are so large that accuracy fluctuates; with some seeds the last epoch is not the best.
    let common = ["--data", "t.csv", "--validation", "v.csv", "--epochs", "12", "--lr", "2", "--seed"];
    let ends_badly = |seed: &String| {
        let validation =
            accuracies(&trained(&place, &[&common[..], &[seed.as_str()]].concat()), "validation_accuracy");
        *validation.last().unwrap() < greatest(&validation)
    };
    let seed = (1..20).map(|seed: u32| seed.to_string()).find(ends_badly).unwrap();
    let common = [&common[..], &[seed.as_str()]].concat();
    for keep in [&[][..], &["--keep", "best"], &["--keep", "last"]] {
        let objects = trained(&place, &[&common[..], keep].concat());
        let validation = accuracies(&objects, "validation_accuracy");
        let last = *validation.last().unwrap();
        let expected = if keep.contains(&"last") { last } else { greatest(&validation) };
        assert_eq!(evaluated(&place, &["--data", "v.csv"])["accuracy"], expected);
        let summary = objects.last().unwrap();
        assert_eq!(summary["validation_accuracy"], expected);
        let kept = summary["kept_epoch"].as_u64().unwrap() as usize;
        assert_eq!(validation[kept - 1], expected);
        assert_eq!(objects[kept]["kept"], true);
    }
}

#[test]
fn test_rows_choose_nothing() {
    let place = with_tables();
    let common = ["--data", "t.csv", "--validation-fraction", "0.2", "--epochs", "6", "--lr", "2"];
    let network = |arguments: &[&str]| -> (SavedModel, Value) {
        let objects = trained(&place, &[&common[..], arguments].concat());
        (place.model("m.safetensors"), objects.last().unwrap()["test_accuracy"].clone())
    };
    let (alone, _) = network(&[]);
    let (tested, accuracy) = network(&["--test", "v.csv"]);
    // The same rows with other labels.
    place.write("v.csv", Points::new(150, 9).csv(["mid", "high", "low"]));
    let (mislabelled, other) = network(&["--test", "v.csv"]);
    assert_ne!(accuracy, other);
    assert!(alone.tensors == tested.tensors && tested.tensors == mislabelled.tensors);
}

#[test]
fn patience_ends_a_run() {
    let place = with_tables();
    let common = ["--data", "t.csv", "--validation-fraction", "0.2", "--patience", "3", "--epochs", "400"];
    let objects = trained(&place, &common);
    let summary = objects.last().unwrap();
    let (epochs, kept) = (summary["epochs"].as_u64().unwrap(), summary["kept_epoch"].as_u64().unwrap());
    assert!(epochs < 400 && epochs == kept + 3, "{summary}");
    let common =
        [&["train", "--device", "cpu", "--hidden", "8", "--out", "m.safetensors"][..], &common].concat();
    let text = place.succeed(&common).stdout;
    let expected = format!("(best epoch {kept} of {epochs}, stopped early");
    assert!(text.contains(&expected), "{text}");
    for option in [["--patience", "3"], ["--keep", "best"]] {
        let outcome =
            train(&place, &[&["--data", "t.csv", "--validation-fraction", "0"], &option[..]].concat());
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().contains(option[0]) && outcome.error().contains("--validation-fraction"));
    }
}

/// Rows of twenty persons on a hundred days, in random order; `a` determines the class except in the last
/// twenty days.
fn persons() -> String {
    let row = |row: usize| {
        let (person, day) = (row * 7 % 20, row * 37 % 100);
        let class = row % 3 % 2;
        let a = if day < 80 { class } else { 1 - class };
        format!("{a}.5,{},p{person},2026-{:02}-{:02},{class}\n", row % 5, 1 + day / 28, 1 + day % 28)
    };
    "a,b,person,day,class\n".to_owned() + &(0..1000).map(row).collect::<String>()
}

#[test]
fn groups_stay_together_and_times_are_divided_by_order() {
    let place = Workplace::new();
    place.write("t.csv", persons());
    let run = |options: &[&str]| {
        let common = [
            "train",
            "--data",
            "t.csv",
            "--device",
            "cpu",
            "--hidden",
            "4",
            "--epochs",
            "3",
            "--preset",
            "plain",
            "--out",
            "m.safetensors",
        ];
        place.succeed(&[&common[..], &["--format", "json"], options].concat()).objects()
    };
    let evaluated = || {
        let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
        let found = place.succeed(&eval).objects()[0].clone();
        (found["samples"].as_u64().unwrap(), found["accuracy"].as_f64().unwrap())
    };
    // The person and the day are not inputs; `eval` finds the same rows again.
    let objects = run(&["--group", "person", "--exclude", "day", "--test-fraction", "0.2"]);
    assert_eq!(objects[0]["layers"][0], 2);
    assert_eq!(place.model("m.safetensors").setting("group"), "person");
    let summary = objects.last().unwrap();
    assert_eq!(evaluated(), (200, summary["test_accuracy"].as_f64().unwrap()));
    let objects = run(&["--time", "day", "--exclude", "person", "--test-fraction", "0.2"]);
    let summary = objects.last().unwrap();
    // Training has no rows of the last days, in which `a` means the opposite.
    assert!(summary["test_accuracy"].as_f64().unwrap() < 0.1, "{summary}");
    assert_eq!(evaluated(), (200, summary["test_accuracy"].as_f64().unwrap()));
    let random = run(&["--exclude", "person", "day", "--test-fraction", "0.2"]);
    assert!(random.last().unwrap()["test_accuracy"].as_f64().unwrap() > 0.6);
    for (options, expected) in [
        (&["--group", "person"][..], "--group: expected rows to hold out"),
        (&["--time", "day"], "--time: expected rows to hold out"),
        (&["--group", "nobody", "--test-fraction", "0.2"], "a column of groups"),
        (&["--time", "person", "--test-fraction", "0.2"], "row 2, column 3 (person): expected a time"),
        (&["--time", "day", "--group", "person", "--test-fraction", "0.2"], "--group"),
    ] {
        let common = ["train", "--data", "t.csv", "--device", "cpu", "--validation-fraction", "0"];
        let outcome = place.run(&[&common[..], options].concat());
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().contains(expected), "{expected}: {}", outcome.stderr);
    }
}

#[test]
fn an_accuracy_or_a_time_ends_a_run() {
    let place = with_tables();
    let common = ["--data", "t.csv", "--validation-fraction", "0.2"];
    let accurate = ["--epochs", "400", "--target-accuracy", "0.8"];
    let objects = trained(&place, &[&common[..], &accurate].concat());
    let accuracies: Vec<f64> =
        objects.iter().filter_map(|object| object["validation_accuracy"].as_f64()).collect();
    let epochs = objects.last().unwrap()["epochs"].as_u64().unwrap() as usize;
    assert!(
        epochs < 400 && accuracies[..epochs - 1].iter().all(|accuracy| *accuracy < 0.8),
        "{accuracies:?}"
    );
    assert!(accuracies[epochs - 1] >= 0.8);
    let run = [&["train", "--device", "cpu", "--out", "m.safetensors"][..], &common].concat();
    let text = place.succeed(&[&run[..], &accurate].concat()).stdout;
    assert!(text.contains(", target accuracy reached"), "{text}");
    // A million epochs would take hours.
    let text = place
        .succeed(&[&run[..], &["--epochs", "1000000", "--patience", "none", "--max-time", "2s"]].concat())
        .stdout;
    assert!(text.contains(", time limit reached"), "{text}");
    assert_eq!(place.run(&["eval", "--model", "m.safetensors", "--device", "cpu"]).code, 0);
    for (option, value, expected) in [
        ("--max-time", "0s", "a time such as 60s"),
        ("--max-time", "soon", "a time such as 60s"),
        ("--target-accuracy", "2", "from 0 to 1"),
    ] {
        let outcome = train(&place, &["--data", "t.csv", option, value]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().contains(option) && outcome.error().contains(expected), "{}", outcome.stderr);
    }
}

#[test]
fn a_share_too_small_for_a_row_is_refused() {
    let place = with_tables();
    for option in ["--test-fraction", "--validation-fraction"] {
        let outcome = train(&place, &["--data", "t.csv", option, "0.001"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        let error = outcome.error();
        assert!(error.contains(option) && error.contains("at least one row"), "{error}");
    }
    let outcome = train(&place, &["--data", "t.csv", "--test-fraction", "0"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("--test-fraction: expected a number between 0 and 1, found 0"));
}

#[test]
fn standard_input_is_a_table() {
    let place = with_tables();
    let piped = |arguments: &[&str]| {
        let input = File::open(place.path("t.csv")).unwrap();
        let output = place.command(arguments).stdin(input).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let run = ["train", "--device", "cpu", "--hidden", "8", "--epochs", "3", "--test-fraction", "0.2"];
    place.succeed(&[&run[..], &["--data", "t.csv", "--out", "m.safetensors"]].concat());
    piped(&[&run[..], &["--data", "-", "--out", "piped"]].concat());
    assert!(place.model("m.safetensors").tensors == place.model("piped").tensors);
    let eval = |data| ["eval", "--model", "m.safetensors", "--device", "cpu", "--data", data];
    let read = place.succeed(&eval("t.csv")).stdout;
    assert_eq!(
        piped(&eval("-")),
        read.replace("t.csv", "standard input").replace(" of standard input, on", " of -, on")
    );
    let predict = |data| ["predict", "--model", "m.safetensors", "--device", "cpu", data];
    assert_eq!(piped(&predict("-")), place.succeed(&predict("t.csv")).stdout);
    // Rows from a pipe cannot be read again.
    let outcome = place.run(&["eval", "--model", "piped", "--device", "cpu"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("--data"), "{}", outcome.stderr);
}

#[test]
fn rows_without_labels_cannot_be_evaluated() {
    let place = with_tables();
    trained(&place, &["--data", "t.csv", "--epochs", "1"]);
    let unlabelled: String = Points::new(20, 3)
        .csv(NAMES)
        .lines()
        .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
        .collect();
    for text in [unlabelled.clone(), unlabelled.split_once('\n').unwrap().1.to_owned()] {
        place.write("u.csv", text);
        let outcome = place.run(&["eval", "--model", "m.safetensors", "--device", "cpu", "--data", "u.csv"]);
        assert_eq!(outcome.code, 2);
        assert!(
            outcome.error().contains("u.csv") && outcome.error().contains("labels"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn uncomputable_rows_are_reported() {
    let place = with_tables();
    place.write("huge.csv", Points::new(50, 3).csv(NAMES) + "3e38,-3e38,3e38,low\n-3e38,3e38,3e38,high\n");
    let outcome =
        train(&place, &["--data", "t.csv", "--preset", "plain", "--test", "huge.csv", "--epochs", "2"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let error = outcome.error();
    assert!(error.contains("huge.csv") && error.contains("although all weights are finite"), "{error}");
    assert!(error.ends_with("the model after epoch 2 is kept at m.safetensors"), "{error}");
    assert!(evaluated(&place, &["--data", "v.csv"])["accuracy"].as_f64().unwrap() > 0.5);
    for format in ["text", "json"] {
        let eval =
            ["eval", "--model", "m.safetensors", "--device", "cpu", "--data", "huge.csv", "--format", format];
        let outcome = place.run(&eval);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (3, ""));
        assert!(outcome.error().contains("huge.csv"), "{}", outcome.stderr);
    }
}
