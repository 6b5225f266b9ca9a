//! `tinytrain train --folds`.

use serde_json::Value;

use crate::program::{Outcome, Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["train", "--device", "cpu", "--hidden", "8", "--epochs", "3", "--format", "json"];
    place.run(&[&common[..], arguments].concat())
}

#[track_caller]
fn trained(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    let outcome = train(place, arguments);
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome.objects()
}

fn numbers(objects: &[Value], name: &str) -> Vec<f64> {
    let folds = objects.iter().filter(|object| object["event"] == "fold");
    folds.map(|fold| fold[name].as_f64().unwrap()).collect()
}

#[test]
fn every_row_tests_once_and_the_seed_decides_where() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(257, 4).csv(NAMES));
    let before = place.entries();
    let objects = trained(&place, &["--data", "t.csv", "--folds", "5", "--validation-fraction", "0.1"]);
    assert_eq!(place.entries(), before, "no model is saved");
    let events: Vec<&str> = objects.iter().map(|object| object["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["fold", "fold", "fold", "fold", "fold", "summary"]);
    assert_eq!(numbers(&objects, "test_rows").iter().sum::<f64>(), 257.0);
    assert!(numbers(&objects, "test_rows").iter().all(|rows| [51.0, 52.0].contains(rows)));
    assert!(numbers(&objects, "rows").iter().all(|rows| (180.0..=190.0).contains(rows)));
    let summary = objects.last().unwrap();
    for measure in ["test_accuracy", "test_balanced_accuracy", "test_log_loss", "test_auc"] {
        let values = numbers(&objects, measure);
        let mean = values.iter().sum::<f64>() / 5.0;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
        assert!((summary["mean"][measure].as_f64().unwrap() - mean).abs() < 1e-12, "{measure}");
        assert!((summary["deviation"][measure].as_f64().unwrap() - deviation).abs() < 1e-12, "{measure}");
    }
    assert_eq!(summary["mean"]["test_rmse"], Value::Null);

    let losses = |seed: &str| {
        numbers(&trained(&place, &["--data", "t.csv", "--folds", "5", "--seed", seed]), "test_loss")
    };
    assert_eq!(losses("3"), losses("3"));
    assert_ne!(losses("3"), losses("4"));
}

/// With times, folds are ranges of the file: the results of a fold equal the results of a separate run that
/// has read nothing else.
#[test]
fn a_fold_knows_nothing_but_its_training_rows() {
    let place = Workplace::new();
    // The last range has different values and categories.
    let row = |row: usize| {
        let late = usize::from(row >= 90);
        let class = row * 7 % 3;
        format!(
            "{row},{},{},{}\n",
            class * 10 + row % 4 + 1000 * late,
            ["x", "y", "z"][row % 2 + late],
            NAMES[class]
        )
    };
    let rows =
        |range: std::ops::Range<usize>| "when,a,b,class\n".to_owned() + &range.map(row).collect::<String>();
    place.write("t.csv", rows(0..120));
    let objects = trained(&place, &["--data", "t.csv", "--folds", "3", "--time", "when"]);
    assert_eq!(numbers(&objects, "rows"), [30.0, 60.0, 90.0]);
    assert_eq!(numbers(&objects, "test_rows"), [30.0; 3]);
    for (fold, end) in [30, 60, 90].into_iter().enumerate() {
        place.write("train.csv", rows(0..end));
        place.write("test.csv", rows(end..end + 30));
        let arguments =
            ["--data", "train.csv", "--test", "test.csv", "--exclude", "when", "--out", "m.safetensors"];
        let alone = trained(&place, &arguments);
        assert_eq!(objects[fold]["test_loss"], alone.last().unwrap()["test_loss"], "fold {fold}");
    }
    let outcome = train(&place, &["--data", "t.csv", "--folds", "3", "--time", "when"]);
    assert!(
        outcome.stderr.contains("in the held-out rows of the folds, 15 cells hold an unknown category in column b, treated as no category"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn groups_and_values_have_folds_too() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{},{}\n", row % 9, row % 7, (row % 7) as f64 * 0.5);
    place.write("t.csv", "who,a,price\n".to_owned() + &(0..99).map(row).collect::<String>());
    let common =
        ["--data", "t.csv", "--target", "price", "--task", "regression", "--group", "who", "--folds"];
    let objects = trained(&place, &[&common[..], &["3"]].concat());
    assert_eq!(numbers(&objects, "test_rows"), [33.0; 3]);
    assert_eq!(objects[3]["mean"]["test_accuracy"], Value::Null);
    let mean = numbers(&objects, "test_r2").iter().sum::<f64>() / 3.0;
    assert!((objects[3]["mean"]["test_r2"].as_f64().unwrap() - mean).abs() < 1e-12);
    let outcome = train(&place, &[&common[..], &["10"]].concat());
    let expected = "error: --folds: expected at most 9, as many as there are groups, found 10";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
}

#[test]
fn people_see_a_table_and_nothing_is_saved() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(65, 4).csv(NAMES));
    let common =
        ["train", "--data", "t.csv", "--device", "cpu", "--hidden", "8", "--epochs", "2", "--folds", "4"];
    let text = place.succeed(&common).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3 + 1 + 4 + 2 + 1, "{text}");
    assert!(lines[3..10].iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines[10].contains("over 4 folds") && lines[10].contains("no model is saved"), "{text}");
    let quiet = place.succeed(&[&common[..], &["--quiet"]].concat()).stdout;
    assert_eq!(lines[10].split_once(" in ").unwrap().0, quiet.trim_end());
    for arguments in [
        &["--out", "m.safetensors"][..],
        &["--test", "t.csv"],
        &["--test-fraction", "0.2"],
        &["--profile", "p"],
    ] {
        let outcome = place.run(&[&common[..], arguments].concat());
        assert_eq!(outcome.code, 2);
        let error = outcome.error();
        assert!(error.starts_with("error: ") && error.contains("--folds"), "{error}");
        assert!(error.contains(arguments[0]), "{error}");
    }
    assert_eq!(place.entries().len(), 1);
}
