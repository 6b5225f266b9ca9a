//! Labels: text, numbers, and networks that learn nothing of them.

use serde_json::json;

use crate::program::{Outcome, Points, Workplace, noise};

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["train", "--device", "cpu", "--hidden", "8", "--out", "m.safetensors", "--data", "t.csv"];
    place.run(&[&common[..], arguments].concat())
}

#[test]
fn labels_keep_their_names() {
    let place = Workplace::new();
    for (labels, classes) in [
        (["class10", "class2", "class1"], vec!["class1", "class2", "class10"]),
        (["True", "False", "False"], vec!["False", "True"]),
        (["-1", "1", "1"], vec!["-1", "1"]),
        (["1", "3", "2"], vec!["1", "2", "3"]),
        (["a,b", "x \\\"y\\\"", "è"], vec!["a,b", "x \\\"y\\\"", "è"]),
    ] {
        let cells = labels.map(|label| format!("\"{}\"", label.replace("\\\"", "\"\"")));
        let classes: Vec<String> = classes.into_iter().map(|class| class.replace("\\\"", "\"")).collect();
        place.write("t.csv", Points::new(300, 4).csv(cells.each_ref().map(String::as_str)));
        let outcome = train(&place, &["--target", "kind", "--epochs", "3", "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(outcome.objects()[0]["classes"], json!(classes));
        assert_eq!(place.model("m.safetensors").entry("classes"), json!(classes).to_string());

        let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--errors"];
        let object = place.succeed(&[&eval[..], &["--format", "json"]].concat()).objects().remove(0);
        assert_eq!(object["classes"], json!(classes));
        for error in object["errors"].as_array().unwrap() {
            for name in [&error["class"], &error["predicted"]] {
                assert!(classes.iter().any(|class| name == class), "{name}");
            }
        }
        let text = place.succeed(&eval).stdout;
        let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("precision")).collect();
        let matrix: Vec<&str> = text.lines().skip_while(|line| !line.contains("confusion matrix")).collect();
        for (index, class) in classes.iter().enumerate() {
            assert!(table[1 + index].trim_start().starts_with(class), "{text}");
            assert!(matrix[1].contains(class), "{text}");
            assert!(matrix[2 + index].trim_start().starts_with(class), "{text}");
        }
    }
}

#[test]
fn a_label_that_training_has_not_seen_is_named() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(60, 4).csv(["low", "mid", "high"]));
    place.write("new.csv", Points::new(60, 5).csv(["low", "mid", "huge"]));
    let outcome = train(&place, &["--test", "new.csv"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.error().contains("new.csv") && outcome.error().contains("label huge"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn values_are_refused_as_labels() {
    let place = Workplace::new();
    let numbers: String = (0..1500).map(|row| format!("{},{}\n", row * 3 % 1009, row % 1001)).collect();
    place.write("t.csv", "x,y\n".to_owned() + &numbers);
    let outcome = train(&place, &["--task", "classification"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("1001 different numbers"), "{}", outcome.stderr);
    assert!(outcome.error().contains("values are predicted by regression"), "{}", outcome.stderr);
    place.write("t.csv", Points::new(60, 4).csv(["1", "2", "2.5"]));
    let outcome = train(&place, &["--target", "kind", "--task", "classification"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("2.5, a fraction"), "{}", outcome.stderr);
}

#[test]
fn a_network_that_has_learnt_nothing_is_warned_of() {
    let place = Workplace::new();
    // Nine rows in ten are of one class, and no input tells which.
    let mut noise = noise(1);
    let row = |row: u32| format!("{},{}\n", noise(), if row.is_multiple_of(10) { "rare" } else { "common" });
    place.write("t.csv", "x,kind\n".to_owned() + &(0..400).map(row).collect::<String>());
    let dead = ["--hidden", "none", "--epochs", "5", "--preset", "plain"];
    let dead = |arguments: &[&str]| {
        let common = ["train", "--device", "cpu", "--out", "m.safetensors", "--data", "t.csv"];
        place.succeed(&[&common[..], &dead, arguments].concat())
    };
    for arguments in [&[][..], &["--test-fraction", "0.25"], &["--quiet"], &["--validation-fraction", "0.25"]]
    {
        let outcome = dead(&[arguments, &["--format", "json"]].concat());
        let warning = outcome.objects().last().unwrap()["warning"].as_str().unwrap().to_owned();
        assert!(warning.contains("predicts \"common\" for every one of the"), "{warning}");
        let text = dead(arguments);
        assert!(text.error().starts_with(&format!("warning: {warning}")), "{}", text.stderr);
    }
    let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"];
    let text = place.succeed(&eval).stdout;
    assert!(text.contains("accuracy 90.00 %, balanced accuracy 50.00 %"), "{text}");
    let object = place.succeed(&[&eval[..], &["--format", "json"]].concat()).objects().remove(0);
    assert_eq!((&object["accuracy"], &object["balanced_accuracy"]), (&0.9.into(), &0.5.into()));

    place.write("t.csv", Points::new(300, 4).csv(["low", "mid", "high"]));
    let good = train(&place, &["--epochs", "20", "--format", "json"]);
    assert_eq!((good.stderr.as_str(), &good.objects().last().unwrap()["warning"]), ("", &json!(null)));
}
