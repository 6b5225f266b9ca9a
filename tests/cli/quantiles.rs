//! `--loss quantile`: several quantiles of one target.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::program::{Outcome, Workplace, noise};

/// Returns rows with two numbers and a target, 100 + 20 a + uniform noise that is wider for larger b.
fn table(rows: usize, seed: u64) -> String {
    let mut noise = noise(seed);
    let mut text = String::from("a,b,y\n");
    for _ in 0..rows {
        let [a, b, c] = [(); 3].map(|()| noise());
        writeln!(text, "{a:.4},{b:.4},{:.4}", 100.0 + 20.0 * a + (1.0 + 9.0 * b) * c).unwrap();
    }
    text
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", table(2000, 1));
    place.write("v.csv", table(1000, 2));
    place
}

const PLAIN: [&str; 12] = [
    "--preset",
    "plain",
    "--hidden",
    "32",
    "--optimizer",
    "adam",
    "--lr",
    "0.005",
    "--epochs",
    "30",
    "--loss",
    "quantile",
];

fn train(place: &Workplace, options: &[&str]) -> Outcome {
    let common = ["train", "--data", "t.csv", "--target", "y", "--device", "cpu"];
    place.run(&[&common[..], options].concat())
}

#[track_caller]
fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found}"));
    assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found}, expected {expected}");
}

/// Measures of `eval` are computed by hand from the lines of `predict`, and the share of rows below each quantile is near
/// its level.
#[test]
fn quantiles_are_predicted_in_the_unit_of_the_target() {
    let place = place();
    let options =
        ["--quantiles", "0.05,0.5,0.8", "--validation-fraction", "0.2", "--test", "v.csv", "--out", "m"];
    let outcome = train(&place, &[&PLAIN[..], &options, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let lines = outcome.objects();
    let loss = |line: &Value| line["validation_loss"].as_f64().unwrap();
    let epochs = lines.iter().filter(|line| line["event"] == "epoch");
    let best = epochs.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
    let summary = lines.last().unwrap();
    assert_eq!(summary["kept_epoch"], best["epoch"]);
    assert_eq!(place.model("m/model.safetensors").at("/networks/0/loss"), "quantile:0.05,0.5,0.8");

    let text = place.succeed(&["predict", "--model", "m", "--device", "cpu", "v.csv"]).stdout;
    assert_eq!(text.lines().next(), Some("y_q0.05,y_q0.5,y_q0.8"));
    let cells = |line: &str| -> Vec<f64> { line.split(',').map(|cell| cell.parse().unwrap()).collect() };
    let table = table(1000, 2);
    let rows: Vec<(Vec<f64>, f64)> =
        text.lines().zip(table.lines()).skip(1).map(|(line, row)| (cells(line), cells(row)[2])).collect();
    assert_eq!(rows.len(), 1000);
    assert!(rows.iter().all(|(row, _)| row.is_sorted()), "quantiles do not cross");
    // The interval is wider for larger b.
    let wide = |row: usize| rows[row].0[2] - rows[row].0[0];
    let b = |row: &usize| cells(table.lines().nth(1 + row).unwrap())[1];
    let mean = |rows: Vec<usize>| rows.iter().map(|row| wide(*row)).sum::<f64>() / rows.len() as f64;
    let (narrow, wide) = (0..1000).partition(|row| b(row) < 0.5);
    assert!(mean(wide) > 1.5 * mean(narrow));

    let eval =
        |options: &[&str]| place.succeed(&[&["eval", "--model", "m", "--device", "cpu"], options].concat());
    let found = eval(&["--format", "json"]).objects().remove(0);
    assert_eq!(found["targets"], json!(["y_q0.05", "y_q0.5", "y_q0.8"]));
    for (level, q) in [0.05, 0.5, 0.8].into_iter().enumerate() {
        let of = &found["values_by_target"][level];
        let pinball = |(row, y): &(Vec<f64>, f64)| (q * (y - row[level])).max((q - 1.0) * (y - row[level]));
        near(&of["pinball_loss"], rows.iter().map(pinball).sum::<f64>() / 1000.0);
        let below = rows.iter().filter(|(row, y)| *y <= row[level]).count() as f64 / 1000.0;
        near(&of["rows_below"], below);
        assert!((below - q).abs() < 0.06, "{below} of the rows below the level {q}");
    }
    let squares: f64 = rows.iter().map(|(row, y)| (row[1] - y).powi(2)).sum();
    near(&found["rmse"], (squares / 1000.0).sqrt());
    near(&summary["test_rmse"], (squares / 1000.0).sqrt());
    assert_eq!(found["loss"], summary["test_loss"]);
    let text = eval(&[]).stdout;
    for line in
        ["loss (quantile:0.05,0.5,0.8 of scaled values)", "y_q0.5       RMSE", "y_q0.8       rows below"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn the_preset_folds_sweeps_and_reports_know_quantiles() {
    let place = place();
    let outcome = train(&place, &["--loss", "quantile", "--epochs", "10", "--test", "v.csv", "--out", "m"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("RMSE"), "{}", outcome.stdout);
    let found =
        place.succeed(&["eval", "--model", "m", "--device", "cpu", "--format", "json"]).objects().remove(0);
    assert!(found["r2"].as_f64().unwrap() > 0.7, "{found}");
    // Rows that were held out of the training file are found again.
    let parts = ["--loss", "quantile", "--epochs", "2", "--test-fraction", "0.2", "--out", "parts"];
    assert_eq!(train(&place, &parts).code, 0);
    place.succeed(&["eval", "--model", "parts", "--device", "cpu"]);
    place.succeed(&["report", "parts", "--out", "r.html"]);
    assert!(
        std::fs::read_to_string(place.path("r.html")).unwrap().contains("y_q0.9: predictions by targets")
    );
    let folds = train(&place, &[&PLAIN[..], &["--folds", "3", "--format", "json"]].concat());
    assert!(folds.objects().pop().unwrap()["mean"]["test_r2"].as_f64().unwrap() > 0.7, "{}", folds.stderr);
    let sweep =
        ["sweep", "--data", "t.csv", "--target", "y", "--device", "cpu", "--out", "s", "--format", "json"];
    let few = ["--trials", "4", "--ensemble", "4", "--validation-fraction", "0.2", "--test", "v.csv"];
    let objects = place.succeed(&[&sweep[..], &few, &PLAIN].concat()).objects();
    let ensemble = &objects.last().unwrap()["ensemble"];
    let found = place.evaluated("s/ensemble.safetensors", "v.csv");
    near(&ensemble["test_rmse"], found["rmse"].as_f64().unwrap());
    assert!(found["r2"].as_f64().unwrap() > 0.7, "{found}");
    let init = ["--init-from", "m", "--epochs", "1", "--out", "again"];
    assert_eq!(train(&place, &init).code, 0);
    let outcome = train(&place, &[&init[..], &["--quantiles", "0.5"]].concat());
    assert!(outcome.code == 2 && outcome.error().contains("--quantiles"), "{}", outcome.stderr);
    // A single level.
    assert_eq!(train(&place, &[&PLAIN[..], &["--quantiles", "0.25", "--out", "one"]].concat()).code, 0);
    let eval = ["eval", "--model", "one", "--data", "v.csv", "--device", "cpu"];
    let text = place.succeed(&eval).stdout;
    assert!(text.contains("rows below") && text.contains("pinball loss"), "{text}");
}

#[test]
fn levels_that_are_none_are_refused() {
    let place = place();
    for (options, expected) in [
        (
            &["--loss", "quantile", "--quantiles", "0.9,0.1"][..],
            "--quantiles: expected up to 16 ascending numbers",
        ),
        (&["--loss", "quantile", "--quantiles", "0.1,1"], "--quantiles: expected up to 16 ascending numbers"),
        (&["--quantiles", "0.1,0.9"], "--quantiles: expected --loss quantile, found"),
        (
            &["--loss", "quantile", "--task", "classification"],
            "--task classification needs --loss cross-entropy",
        ),
    ] {
        let outcome = train(&place, options);
        assert!(outcome.code == 2 && outcome.error().contains(expected), "{options:?}: {}", outcome.stderr);
    }
    let two = ["train", "--data", "t.csv", "--target", "y", "b", "--device", "cpu", "--loss", "quantile"];
    let outcome = place.run(&two);
    assert!(
        outcome.code == 2 && outcome.error().contains("--loss: expected another loss than quantile"),
        "{}",
        outcome.stderr
    );
}
