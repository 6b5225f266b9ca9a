//! Measures of predicted values and classes.

use serde_json::Value;

use crate::program::{Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Two targets of very different units: `cm` = 100 a, `km` = a / 1000.
fn lengths(rows: usize) -> String {
    let row = |row: usize| {
        let (a, noise) = ((row * 7 % 13) as f64, (row * 5 % 11) as f64 / 11.0);
        format!("{a},{noise},{},{}\n", 100.0 * a + noise, (a + noise) / 1000.0)
    };
    "a,b,cm,km\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

/// Trains on `t.csv` with `v.csv` as test data, and returns the summary of the kept model.
fn summary(place: &Workplace, arguments: &[&str]) -> Value {
    let common = ["train", "--data", "t.csv", "--test", "v.csv", "--hidden", "none", "--device", "cpu"];
    let more = ["--epochs", "4", "--out", "m.safetensors", "--format", "json"];
    place.succeed(&[&common[..], &more, arguments].concat()).objects().pop().unwrap()
}

fn evaluated(place: &Workplace, arguments: &[&str]) -> Value {
    let common = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    place.succeed(&[&common[..], arguments].concat()).objects().remove(0)
}

#[track_caller]
fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found}"));
    assert!((found / expected - 1.0).abs() < 1e-6, "{found}, expected {expected}");
}

#[test]
fn targets_are_measured_in_their_own_units() {
    let place = Workplace::new();
    place.write("t.csv", lengths(150));
    place.write("v.csv", lengths(40));
    let summary = summary(&place, &["--target", "cm", "km"]);
    let found = evaluated(&place, &[]);
    assert_eq!(found["targets"], serde_json::json!(["cm", "km"]));
    let predicted =
        place.succeed(&["predict", "--model", "m.safetensors", "--device", "cpu", "v.csv"]).stdout;
    let rows: Vec<Vec<f64>> = lengths(40)
        .lines()
        .zip(predicted.lines())
        .skip(1)
        .map(|(row, values)| [row, values].join(",").split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let mut pooled = 0.0;
    for target in 0..2 {
        let errors = || rows.iter().map(|row| row[4 + target] - row[2 + target]);
        let squared = errors().map(|error| error * error).sum::<f64>() / 40.0;
        pooled += squared / 2.0;
        near(&found["rmse_by_target"][target], squared.sqrt());
        near(&found["mae_by_target"][target], errors().map(f64::abs).sum::<f64>() / 40.0);
        near(&summary["test_rmse_by_target"][target], squared.sqrt());
        let interval = &found["intervals_by_target"][target]["rmse"];
        assert!(
            interval[0].as_f64().unwrap() <= squared.sqrt()
                && squared.sqrt() <= interval[1].as_f64().unwrap()
        );
    }
    near(&found["rmse"], pooled.sqrt());
    near(&summary["test_rmse"], pooled.sqrt());
    // The text shows no combined error of centimetres and kilometres.
    let text = place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu"]).stdout;
    for target in ["cm", "km"] {
        assert!(text.lines().any(|line| line.starts_with(target) && line.contains("RMSE")), "{text}");
    }
    let (_, table) = text.split_once("target").unwrap();
    assert_eq!(table.matches("RMSE").count(), 2, "{text}");
    assert!(table.contains("mean of all  R2"), "{text}");
    let train = ["train", "--data", "t.csv", "--target", "cm", "--device", "cpu", "--metric", "auc"];
    let outcome = place.run(&train);
    let expected = "error: --metric: expected r2, rmse or mae, found auc";
    assert_eq!((outcome.code, outcome.stderr.lines().last()), (2, Some(expected)));
    // The target decides the loss.
    let by = ["--metric", "rmse", "--validation-fraction", "0.2", "--epochs", "1", "--out", "r.safetensors"];
    place.succeed(&[&train[..7], &by].concat());
}

#[test]
fn one_row_has_no_r2() {
    let place = Workplace::new();
    place.write("t.csv", lengths(150));
    place.write("v.csv", lengths(1));
    let summary = summary(&place, &["--target", "cm", "--exclude", "km"]);
    assert_eq!((&summary["test_r2"], summary["test_rmse"].is_number()), (&Value::Null, true));
    let found = evaluated(&place, &[]);
    assert_eq!((&found["r2"], &found["r2_by_target"]), (&Value::Null, &serde_json::json!([null])));
    assert!(found["mae"].is_number());
    let text = place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu"]).stdout;
    assert!(text.contains("RMSE") && !text.contains("R2") && !text.contains("NaN"), "{text}");
}

#[test]
fn an_unknown_label_is_reported_with_its_place() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(100, 1).csv(NAMES));
    place.write("v.csv", Points::new(20, 2).csv(NAMES) + "1,5000,0,huge\n");
    let train =
        ["train", "--data", "t.csv", "--epochs", "1", "--device", "cpu", "--quiet", "--out", "m.safetensors"];
    place.succeed(&train);
    let outcome = place.run(&["eval", "--model", "m.safetensors", "--data", "v.csv", "--device", "cpu"]);
    assert_eq!(outcome.code, 2);
    let expected = "error: v.csv, row 22, column 4 (kind): expected labels of the training data (high, low, mid), found \
                    label \"huge\"";
    assert_eq!(outcome.error(), expected);
}

#[test]
fn weights_that_leave_no_row_are_refused() {
    let place = Workplace::new();
    place.write("t.csv", "a,w,class\n".to_owned() + &"1,0,x\n2,0,y\n3,0,x\n".repeat(20));
    for (option, found) in [
        (
            ["--weight", "w"],
            "t.csv: expected a row that counts in the loss, found only weights of 0, of 60 rows",
        ),
        (["--class-weights", "0,0"], "--class-weights: expected a number above 0 among them, found none"),
    ] {
        let outcome = place.run(&[&["train", "--data", "t.csv", "--device", "cpu"][..], &option].concat());
        assert_eq!((outcome.code, outcome.error()), (2, format!("error: {found}").as_str()));
    }
    assert!(!place.entries().iter().any(|path| path.ends_with("runs")));
}

/// Classes are balanced by the sum of row weights, not by the number of rows.
#[test]
fn balanced_classes_count_by_the_weights_of_their_rows() {
    let place = Workplace::new();
    let row = |row: usize| match row % 3 {
        0 => format!("{},2,x\n", row % 7),
        _ => format!("{},0.5,y\n", row % 5),
    };
    place.write("t.csv", "a,w,class\n".to_owned() + &(0..90).map(row).collect::<String>());
    // 30 rows of 2 and 60 of 0.5: 90 / (2 x 60) and 90 / (2 x 30).
    let losses = ["balanced", "0.75,1.5", "1,1"].map(|weights| {
        let arguments = ["train", "--data", "t.csv", "--weight", "w", "--device", "cpu", "--format", "json"];
        let arguments =
            [&arguments[..], &["--out", "m.safetensors", "--epochs", "3", "--class-weights", weights]];
        let objects = place.succeed(&arguments.concat()).objects();
        objects.iter().rfind(|object| object["event"] == "epoch").unwrap()["train_loss"].clone()
    });
    assert_eq!(losses[0], losses[1]);
    assert_ne!(losses[0], losses[2]);
    assert!(losses[0].is_number());
}

#[test]
fn training_and_eval_report_the_same_for_the_kept_model() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(300, 4).csv(NAMES));
    place.write("v.csv", Points::new(150, 9).csv(NAMES));
    place.write("w.csv", Points::new(120, 5).csv(NAMES));
    // The steps are so large that the last epoch is not the best.
    let common = ["train", "--data", "t.csv", "--test", "v.csv", "--validation", "w.csv", "--hidden", "8"];
    let more =
        ["--epochs", "9", "--lr", "3", "--out", "m.safetensors", "--device", "cpu", "--format", "json"];
    let more = [&more[..], &["--test-every-epoch"]].concat();
    let train = |seed: &str, options: &[&str]| {
        place.succeed(&[&common[..], &more, &["--seed", seed], options].concat()).objects()
    };
    let ends_badly = |seed: &String| train(seed, &[]).last().unwrap()["kept_epoch"] != 9;
    let seed = (1..20).map(|seed: u32| seed.to_string()).find(ends_badly).unwrap();
    let objects = train(&seed, &[]);
    let summary = objects.last().unwrap();
    for (set, file) in [("test", "v.csv"), ("validation", "w.csv")] {
        let found = evaluated(&place, &["--data", file]);
        for measure in ["accuracy", "balanced_accuracy", "log_loss", "auc"] {
            near(&summary[format!("{set}_{measure}")], found[measure].as_f64().unwrap());
        }
        assert_eq!(summary[format!("{set}_rmse")], Value::Null);
    }
    let kept = summary["kept_epoch"].as_u64().unwrap() as usize;
    assert_eq!((&objects[kept]["event"], &objects[kept]["test_auc"]), (&"epoch".into(), &Value::Null));
    assert_eq!(objects[kept]["test_balanced_accuracy"], summary["test_balanced_accuracy"]);
    // An epoch is measured before its model is divided by a temperature.
    let by_epoch = train(&seed, &["--metric", "auc", "--no-temperature"]);
    let (epochs, summary) = (&by_epoch[1..10], by_epoch.last().unwrap());
    let kept = summary["kept_epoch"].as_u64().unwrap() as usize;
    for set in ["test_auc", "validation_auc"] {
        assert_eq!(by_epoch[kept][set], summary[set]);
    }
    let all: Vec<f64> = epochs.iter().map(|epoch| epoch["validation_metric"].as_f64().unwrap()).collect();
    assert!(epochs.iter().all(|epoch| epoch["validation_metric"] == epoch["validation_auc"]));
    assert_eq!(all.iter().position(|auc| *auc == all.iter().copied().fold(0.0, f64::max)), Some(kept - 1));

    // Rows of a single class have no AUC.
    let one = Points::new(150, 9).csv(NAMES);
    let one: Vec<&str> = one.lines().filter(|line| line.ends_with("kind") || line.ends_with("low")).collect();
    place.write("v.csv", one.join("\n"));
    let objects = train(&seed, &[]);
    assert_eq!(objects.last().unwrap()["test_auc"], Value::Null);
    assert_eq!(objects.last().unwrap()["test_balanced_accuracy"], objects.last().unwrap()["test_accuracy"]);
}

#[test]
fn rows_that_are_all_right_have_an_interval() {
    let place = Workplace::new();
    let row = |row: usize| {
        format!(
            "{},{}\n",
            if row.is_multiple_of(2) { -1.0 } else { 1.0 } * (5.0 + row as f64 / 100.0),
            ["no", "yes"][row % 2]
        )
    };
    place.write("t.csv", "x,kind\n".to_owned() + &(0..69).map(row).collect::<String>());
    let train = [
        "train",
        "--data",
        "t.csv",
        "--epochs",
        "40",
        "--device",
        "cpu",
        "--quiet",
        "--out",
        "m.safetensors",
    ];
    place.succeed(&train);
    let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--format", "json"];
    let found = place.succeed(&eval).objects().remove(0);
    assert_eq!(found["accuracy"], 1.0);
    for measure in ["accuracy", "balanced_accuracy", "macro_f1", "auc", "average_precision"] {
        let [low, high] = [0, 1].map(|end| found["intervals"][measure][end].as_f64().unwrap());
        // Wilson, 1927.
        assert!((low - 0.947_263).abs() < 1e-4 && high == 1.0, "{measure}: {low} to {high}");
    }
}
