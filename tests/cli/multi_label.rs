//! `--task multi-label`: several targets of 0 or 1, each predicted by its probability.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::program::{Outcome, Workplace, noise};

/// Returns rows with three numbers and two labels: `wet` of the sum of the first two, `hot` of the third.
fn table(rows: usize, seed: u64, labels: [&str; 2]) -> String {
    let mut noise = noise(seed);
    let mut text = String::from("a,b,c,wet,hot\n");
    for _ in 0..rows {
        let [a, b, c] = [(); 3].map(|()| noise());
        let [wet, hot] = [a + b > 1.0, c > 0.3].map(|is| labels[usize::from(is)]);
        writeln!(text, "{a:.4},{b:.4},{c:.4},{wet},{hot}").unwrap();
    }
    text
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", table(600, 1, ["0", "1"]));
    place.write("v.csv", table(200, 2, ["0", "1"]));
    place
}

fn train(place: &Workplace, options: &[&str]) -> Outcome {
    let common =
        ["train", "--data", "t.csv", "--task", "multi-label", "--target", "wet", "hot", "--device", "cpu"];
    place.run(&[&common[..], options].concat())
}

const PLAIN: [&str; 10] =
    ["--preset", "plain", "--hidden", "16", "--optimizer", "adam", "--lr", "0.01", "--epochs", "20"];

#[track_caller]
fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found}"));
    assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
}

/// Measures of `eval` and of the summary are those of the labels and probabilities that `predict` writes.
#[test]
fn labels_are_predicted_with_their_probabilities() {
    let place = place();
    let options = ["--validation-fraction", "0.2", "--test", "v.csv", "--out", "m", "--format", "json"];
    let outcome = train(&place, &[&PLAIN[..], &options].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let lines = outcome.objects();
    assert_eq!(lines[0]["metric"], "log-loss");
    let epochs = || lines.iter().filter(|line| line["event"] == "epoch");
    let loss = |line: &Value| line["validation_log_loss"].as_f64().unwrap();
    let best = epochs().min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap();
    let summary = lines.last().unwrap();
    assert_eq!((&summary["kept_epoch"], &best["train_accuracy"]), (&best["epoch"], &Value::Null));
    assert_eq!(
        (&best["validation_log_loss"], &best["validation_rmse"]),
        (&best["validation_loss"], &Value::Null)
    );

    let predict = |options: &[&str]| {
        place.succeed(&[&["predict", "--model", "m", "--device", "cpu", "v.csv"], options].concat())
    };
    let text = predict(&[]).stdout;
    assert_eq!(text.lines().next(), Some("wet,hot,p(wet),p(hot)"));
    let numbers = |line: &str| -> Vec<f64> { line.split(',').map(|cell| cell.parse().unwrap()).collect() };
    let predicted: Vec<Vec<f64>> = text.lines().skip(1).map(numbers).collect();
    let truth: Vec<Vec<f64>> =
        table(200, 2, ["0", "1"]).lines().skip(1).map(|line| numbers(line)[3..].to_vec()).collect();
    assert_eq!(predicted.len(), truth.len());
    let objects = predict(&["--format", "json"]).objects();
    let (mut right, mut both, mut losses) = ([0.0; 2], 0.0, 0.0);
    for ((row, truth), object) in predicted.iter().zip(&truth).zip(&objects) {
        let is_right = [0, 1].map(|label| row[label] == truth[label]);
        both += f64::from(is_right == [true; 2]);
        for (label, name) in ["wet", "hot"].into_iter().enumerate() {
            let share = object["probabilities"][name].as_f64().unwrap();
            assert_eq!(object["labels"][name], json!(u32::from(share > 0.5)));
            assert!((share - row[2 + label]).abs() < 1e-6 && row[label] == f64::from(share > 0.5));
            right[label] += f64::from(is_right[label]);
            losses -= if truth[label] == 1.0 { share } else { 1.0 - share }.ln();
        }
    }
    let eval =
        |options: &[&str]| place.run(&[&["eval", "--model", "m", "--device", "cpu"], options].concat());
    let found = eval(&["--format", "json"]).objects().remove(0);
    assert_eq!(found["targets"], json!(["wet", "hot"]));
    near(&found["accuracy"], (right[0] + right[1]) / 400.0);
    near(&found["exact_match"], both / 200.0);
    near(&found["log_loss"], losses / 400.0);
    near(&found["loss"], losses / 400.0);
    near(&summary["test_loss"], losses / 400.0);
    near(&summary["test_accuracy"], (right[0] + right[1]) / 400.0);
    for (label, right) in right.into_iter().enumerate() {
        near(&found["values_by_target"][label]["accuracy"], right / 200.0);
        assert!(right > 185.0, "{right} of 200");
    }
    assert!(found["auc"].as_f64().unwrap() > 0.98 && found["macro_f1"].as_f64().unwrap() > 0.9, "{found}");
    let text = eval(&[]).stdout;
    for line in
        ["wet          accuracy", "hot          AUC", "all          labels all right", "mean of all  F1"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    for (options, expected) in [
        (&["--threshold", "0.3"][..], "--threshold: expected a model of two classes, found one of labels"),
        (&["--errors"], "this model predicts several labels"),
    ] {
        let outcome = eval(options);
        assert!(outcome.code == 2 && outcome.error().contains(expected), "{}", outcome.stderr);
    }
    let history = std::fs::read_to_string(place.path("m/history.csv")).unwrap();
    assert!(
        history.lines().nth(1).unwrap().split(',').filter(|cell| !cell.is_empty()).count() > 5,
        "{history}"
    );
}

#[test]
fn the_preset_for_tables_learns_labels() {
    let place = place();
    let outcome = train(&place, &["--test", "v.csv", "--epochs", "40", "--out", "m"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("val acc") && !outcome.stdout.contains("train acc"),
        "{}",
        outcome.stdout
    );
    let found =
        place.succeed(&["eval", "--model", "m", "--device", "cpu", "--format", "json"]).objects().remove(0);
    assert!(found["accuracy"].as_f64().unwrap() > 0.95, "{found}");
    let importance = ["importance", "--model", "m", "--data", "v.csv", "--device", "cpu", "--format", "json"];
    let found = place.succeed(&importance).objects().remove(0);
    assert_eq!(found["metric"], "accuracy");
    assert!(found["columns"][2]["importance"].as_f64().unwrap() > 0.05, "{found}");
}

#[test]
fn folds_sweeps_and_reports_know_labels() {
    let place = place();
    let outcome = train(&place, &[&PLAIN[..], &["--folds", "3", "--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let mean = &outcome.objects().pop().unwrap()["mean"];
    assert!(
        mean["test_accuracy"].as_f64().unwrap() > 0.9 && mean["test_auc"].as_f64().unwrap() > 0.95,
        "{mean}"
    );
    let sweep =
        ["sweep", "--data", "t.csv", "--test", "v.csv", "--task", "multi-label", "--target", "wet", "hot"];
    let few =
        ["--trials", "4", "--ensemble", "4", "--device", "cpu", "--out", "s", "--validation-fraction", "0.2"];
    let objects = place.succeed(&[&sweep[..], &few, &PLAIN, &["--format", "json"]].concat()).objects();
    let ensemble = &objects.last().unwrap()["ensemble"];
    for name in ["accuracy", "test_accuracy"] {
        assert!(ensemble[name].as_f64().unwrap() > 0.9, "{ensemble}");
    }
    let found = place.evaluated("s/ensemble.safetensors", "v.csv");
    assert_eq!(found["accuracy"], ensemble["test_accuracy"]);
    assert_eq!(train(&place, &[&PLAIN[..], &["--test", "v.csv", "--out", "r"]].concat()).code, 0);
    place.succeed(&["report", "r", "--out", "r.html"]);
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    assert!(page.contains("Measures by label") && page.contains("labels all right"));
}

#[test]
fn labels_are_0_or_1() {
    let place = place();
    for (labels, code) in [(["false", "TRUE"], 0), (["0.0", "1.0"], 0), (["no", "yes"], 2), (["0", "2"], 2)] {
        place.write("t.csv", table(300, 3, labels));
        let outcome = train(&place, &["--epochs", "1", "--out", "m.safetensors"]);
        assert_eq!(outcome.code, code, "{labels:?}: {}", outcome.stderr);
    }
    let lines = |cells: &str| table(300, 3, ["0", "1"]) + "0.1,0.2,0.3," + cells + "\n";
    for (cells, expected) in [
        (
            "1,0.5",
            r#"t.csv, row 302, column 5 (hot): expected a label of 0 or 1 (or false or true), found "0.5""#,
        ),
        (
            "-1,0",
            r#"t.csv, row 302, column 4 (wet): expected a label of 0 or 1 (or false or true), found "-1""#,
        ),
        (",0", "expected a value to predict (every row needs one)"),
    ] {
        place.write("t.csv", lines(cells));
        let outcome = train(&place, &["--epochs", "1", "--out", "m.safetensors"]);
        assert!(outcome.code == 2 && outcome.error().contains(expected), "{}", outcome.stderr);
    }
    // Rows to evaluate on are checked, too.
    let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"];
    assert_eq!(place.run(&eval).code, 2);
    place.write("t.csv", lines("1,0"));
    for (options, expected) in [
        (&["--loss", "mse"][..], "--task multi-label needs --loss binary-cross-entropy, found --loss mse"),
        (
            &["--scale-target", "standard"],
            "--scale-target: expected values to predict, found labels of 0 or 1",
        ),
        (
            &["--class-names", "a,b"],
            "--class-names: expected classes, found labels of 0 or 1 (--task multi-label)",
        ),
        (&["--metric", "r2"], "--metric: expected accuracy"),
        (&["--label-smoothing", "0.1"], "--label-smoothing"),
    ] {
        let outcome = train(&place, options);
        assert!(outcome.code == 2 && outcome.error().contains(expected), "{options:?}: {}", outcome.stderr);
    }
    let inspect = ["inspect", "t.csv", "--task", "multi-label", "--target", "wet", "hot", "--format", "json"];
    assert_eq!(place.succeed(&inspect).objects()[0]["task"], "multi-label");
}
