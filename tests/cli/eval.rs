//! `tinytrain eval`.

use serde_json::{Value, json};

use crate::program::{Rows, Workplace};

const CPU: [&str; 2] = ["--device", "cpu"];

#[test]
fn it_agrees_with_the_end_of_training() {
    let place = Workplace::with_data();
    let trained =
        place.train(&["--data", "data", "--epochs", "2", "--out", "m.safetensors", "--device", "cpu"]);
    let eval = ["eval", "--model", "m.safetensors", "--data", "data", "--format", "json"];
    let outcome = place.succeed(&[&eval[..], &CPU].concat());
    assert_eq!(outcome.stderr, "");
    let object = &outcome.objects()[0];
    assert_eq!(object["accuracy"], trained[3]["test_accuracy"]);
    let loss = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!((loss(&object["loss"]) / loss(&trained[3]["test_loss"]) - 1.0).abs() < 1e-5);
    for measure in ["accuracy", "balanced_accuracy", "macro_f1", "log_loss", "auc"] {
        let (value, interval) = (loss(&object[measure]), &object["intervals"][measure]);
        let (low, high) = (loss(&interval[0]), loss(&interval[1]));
        assert!(low <= value && value <= high && low < high, "{measure}: {value} in {interval}");
    }
    assert!((loss(&object["log_loss"]) / loss(&object["loss"]) - 1.0).abs() < 1e-5);
    assert_eq!((&object["model"], &object["samples"]), (&"m.safetensors".into(), &200.into()));
    assert!(object["data"].as_str().unwrap().ends_with("t10k-images-idx3-ubyte"));
    let matrix: Vec<Vec<u64>> = serde_json::from_value(object["confusion"].clone()).unwrap();
    assert_eq!(matrix.iter().flatten().sum::<u64>(), 200);
    let correct: u64 = (0..4).map(|class| matrix[class][class]).sum();
    assert_eq!(correct as f64 / 200.0, object["accuracy"].as_f64().unwrap());
    let test = Rows::new(200, 2);
    for (class, row) in (0..).zip(&matrix) {
        assert_eq!(
            row.iter().sum::<u64>(),
            test.classes.iter().filter(|label| **label == class).count() as u64
        );
    }

    let text = place.succeed(&[&eval[..5], &CPU].concat()).stdout;
    assert!(text.contains("t10k-images-idx3-ubyte") && text.contains("confusion matrix"), "{text}");
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("recall")).collect();
    for (class, line) in (0..4).zip(&table[1..]) {
        let cells: Vec<&str> = line.split_whitespace().filter(|cell| *cell != "%").collect();
        let (samples, right): (u64, u64) = (matrix[class].iter().sum(), matrix[class][class]);
        let taken: u64 = matrix.iter().map(|row| row[class]).sum();
        let percent = |part: u64, whole: u64| format!("{:.2}", part as f64 / whole as f64 * 100.0);
        let expected = [
            class.to_string(),
            samples.to_string(),
            right.to_string(),
            percent(right, taken),
            percent(right, samples),
            percent(2 * right, samples + taken),
        ];
        assert_eq!(cells, expected, "{text}");
    }
}

#[test]
fn any_data_that_fit_can_be_evaluated() {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", "cpu"]);
    let rows = Rows::new(100, 3);
    place.write("last.csv", rows.csv_label_last());
    place.write_idx("only/train", &rows);
    let eval = |arguments: &[&str]| {
        let common = ["eval", "--model", "m.safetensors", "--format", "json"];
        place.succeed(&[&common[..], &CPU, arguments].concat()).objects().remove(0)
    };
    let table = eval(&["--data", "last.csv", "--label-column", "class"]);
    let folder = eval(&["--data", "only"]);
    assert_eq!((&table["loss"], &table["confusion"]), (&folder["loss"], &folder["confusion"]));
    assert!(folder["data"].as_str().unwrap().ends_with("train-images-idx3-ubyte"));
    // A single class is enough for testing.
    let lines: Vec<String> = rows.csv().lines().take(2).map(str::to_owned).collect();
    place.write("one.csv", lines.join("\n"));
    assert_eq!(eval(&["--data", "one.csv"])["samples"], 1);
}

#[test]
fn many_classes_are_cut_short() {
    let place = Workplace::new();
    let table = |classes: u32| {
        (0..4 * classes).map(|row| format!("n{},{}\n", row % classes, row % 7)).collect::<String>()
    };
    for (classes, matrix) in [(60, true), (1001, false)] {
        place.write("t.csv", table(classes));
        place.train(&[
            "--data",
            "t.csv",
            "--target",
            "0",
            "--epochs",
            "1",
            "--out",
            "m.safetensors",
            "--device",
            "cpu",
        ]);
        let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"];
        let text = place.succeed(&eval).stdout;
        assert!(!text.contains("confusion"), "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("... and ") && last.ends_with(" more"), "{text}");
        assert!(text.lines().count() < 58, "{text}");
        let json = place.succeed(&[&eval[..], &["--format", "json"]].concat()).objects().remove(0);
        assert_eq!(json["confusion"].is_array(), matrix);
    }
    place.write("t.csv", "65535,1\n0,2\n65535,3\n");
    place.train(&[
        "--data",
        "t.csv",
        "--target",
        "0",
        "--epochs",
        "1",
        "--out",
        "m.safetensors",
        "--device",
        "cpu",
    ]);
    let text =
        place.succeed(&["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"]).stdout;
    assert!(text.lines().count() < 22 && text.contains("65535"), "{text}");
}

#[test]
fn it_writes_nothing() {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", "cpu"]);
    let before = place.entries();
    place.succeed(&["eval", "--model", "m.safetensors", "--data", "data", "--device", "cpu"]);
    assert_eq!(place.entries(), before);
}

#[test]
fn errors_are_listed_and_are_the_same_on_every_device() {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", "cpu"]);
    let eval = |arguments: &[&str]| {
        place.succeed(&[&["eval", "--model", "m.safetensors", "--data", "data"], arguments].concat())
    };
    let object = |arguments: &[&str]| eval(&[&["--format", "json"], arguments].concat()).objects().remove(0);
    assert!(object(&CPU).get("errors").is_none());
    let listed = object(&[&CPU[..], &["--errors"]].concat());
    let errors = listed["errors"].as_array().unwrap();
    let matrix: Vec<Vec<u64>> = serde_json::from_value(listed["confusion"].clone()).unwrap();
    let mut found = vec![vec![0; matrix.len()]; matrix.len()];
    let test = Rows::new(200, 2);
    let mut last = 0;
    for error in errors {
        let number = |name: &str| error[name].as_u64().unwrap() as usize;
        assert!(number("sample") > last, "samples ascend");
        last = number("sample");
        assert_eq!(test.classes[last - 1] as usize, number("class"));
        found[number("class")][number("predicted")] += 1;
    }
    for (class, row) in found.iter_mut().enumerate() {
        row[class] = matrix[class][class];
    }
    assert_eq!(found, matrix);

    let device = ["--device", "gpu"];
    assert_eq!(object(&[&device[..], &["--errors", "1"]].concat())["errors"], listed["errors"]);

    let text = eval(&[&CPU[..], &["--errors", "1"]].concat()).stdout;
    let (_, list) = text.split_once("misclassified\n").unwrap();
    let lines: Vec<&str> = list.lines().collect();
    let first = ["sample", "class", "predicted"].map(|name| errors[0][name].to_string());
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["sample", "class", "predicted"]);
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), first);
    assert_eq!(lines[2..], [format!("... and {} more", errors.len() - 1)]);
    let all = eval(&[&CPU[..], &["--errors", "200"]].concat()).stdout;
    let (_, list) = all.split_once("misclassified\n").unwrap();
    assert_eq!(list.lines().count(), errors.len() + 1);
}

/// The confusion matrix, the classes and the metrics follow the threshold; probabilities do not.
#[test]
fn a_threshold_decides_between_two_classes() {
    let place = Workplace::new();
    let mut table = "x,y\n".to_owned();
    for row in 0..200 {
        // A seventh of the rows is positive: most of those with a large x.
        let is_positive = row % 7 == 0 && row % 14 != 7 || row % 50 == 3;
        let x = f64::from(row * 37 % 100) / 50.0 + if is_positive { 0.8 } else { 0.0 };
        table += &format!("{x},{}\n", if is_positive { "yes" } else { "no" });
    }
    place.write("t.csv", &table);
    let data = ["--data", "t.csv", "--target", "y"];
    let train = ["--preset", "plain", "--epochs", "20", "--out", "m.safetensors", "--device", "cpu"];
    place.train(&[&data[..], &train].concat());
    let eval = |arguments: &[&str]| {
        let common = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"];
        place.succeed(&[&common[..], arguments].concat())
    };
    let object = |arguments: &[&str]| eval(&[&["--format", "json"], arguments].concat()).objects().remove(0);
    let number = |found: &Value, name: &str| found[name].as_f64().unwrap();
    let (plain, all, best) = (object(&[]), object(&["--threshold", "0"]), object(&["--threshold", "best"]));
    let positives = all["confusion"][1][1].as_u64().unwrap();
    assert_eq!(all["confusion"], json!([[0, 200 - positives], [0, positives]]));
    assert!((number(&all, "accuracy") - positives as f64 / 200.0).abs() < 1e-9);
    assert_eq!(number(&all, "balanced_accuracy"), 0.5);
    for name in ["log_loss", "auc", "average_precision", "loss"] {
        assert_eq!((&all[name], &best[name]), (&plain[name], &plain[name]), "{name}");
    }
    for other in ["0.1", "0.2", "0.3", "0.5", "0.7"] {
        let found = object(&["--threshold", other]);
        assert_eq!(number(&found, "threshold"), other.parse::<f64>().unwrap());
        assert!(number(&found, "balanced_accuracy") <= number(&best, "balanced_accuracy") + 1e-12, "{other}");
    }
    assert!(number(&best, "balanced_accuracy") > number(&plain, "balanced_accuracy"));
    assert_eq!(object(&["--threshold", "0.5"])["confusion"], plain["confusion"]);
    let text = eval(&["--threshold", "best"]).stdout;
    assert!(text.contains("rows are predicted to be yes from a probability of 0."), "{text}");

    let predict = ["predict", "--model", "m.safetensors", "t.csv", "--device", "cpu", "--threshold", "0.2"];
    let predicted = place.succeed(&predict).stdout.lines().filter(|line| line.starts_with("yes,")).count();
    let matrix = object(&["--threshold", "0.2"])["confusion"].clone();
    let column: u64 = [0, 1].map(|class| matrix[class][1].as_u64().unwrap()).iter().sum();
    assert_eq!(predicted as u64, column);

    let common = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--threshold"];
    let refused = place.run(&[&common[..], &["2"]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("expected best, or a number from 0 to 1"), "{}", refused.stderr);
}
