//! Labels: text, numbers, and networks that cannot learn them.

use serde_json::json;

use crate::program::{Outcome, Points, Workplace, noise};

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["train", "--device", "cpu", "--hidden", "8", "--data", "t.csv"];
    // Folds save nothing.
    let out: &[&str] = if arguments.contains(&"--folds") { &[] } else { &["--out", "m.safetensors"] };
    place.run(&[&common[..], out, arguments].concat())
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
        assert_eq!(
            place.model("m.safetensors").at("/data/classes/names").to_string(),
            json!(classes).to_string()
        );

        let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--errors"];
        let object = place.succeed(&[&eval[..], &["--format", "json"]].concat()).objects().remove(0);
        assert_eq!(object["classes"], json!(classes));
        for error in object["errors"].as_array().unwrap() {
            for name in [&error["class"], &error["predicted"]] {
                assert!(classes.iter().any(|class| name == class), "{name}");
            }
        }
        let text = place.succeed(&eval).stdout;
        let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("recall")).collect();
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
        outcome.error().contains("new.csv") && outcome.error().contains("label \"huge\""),
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
    // Nine rows in ten are of one class, and no input is informative.
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
        assert!(warning.contains("predicts \"common\" for all"), "{warning}");
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

/// Returns rows of a number and one of these labels in turn, followed by rows with the labels `last`.
fn labelled(labels: &[&str], rows: usize, last: &[&str]) -> String {
    let label = |row: usize| labels[row % labels.len()];
    let labels = (0..rows).map(label).chain(last.iter().copied());
    let rows = labels.enumerate().map(|(row, label)| format!("{},{label}\n", row * 7 % 13));
    "x,y\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn numbers_treated_as_classes_are_reported() {
    let place = Workplace::new();
    let line = "the target holds 3 different whole numbers, so they are treated as classes (classification, loss cross-entropy); use --task regression to predict them as values";
    let said = |arguments: &[&str]| {
        let outcome = train(&place, &[&["--epochs", "2"], arguments].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr.lines().any(|found| found == line)
    };
    place.write("t.csv", labelled(&["5", "7", "9"], 120, &[]));
    assert!(
        said(&[]) && said(&["--folds", "2"][..]) && said(&["--format", "json"]) && said(&["--task", "auto"])
    );
    for silent in [
        &["--task", "classification"][..],
        &["--loss", "cross-entropy"],
        &["--task", "regression"],
        &["--quiet"],
    ] {
        assert!(!said(silent), "{silent:?}");
    }
    place.write("t.csv", labelled(&["c5", "c7", "c9"], 120, &[]));
    let outcome = train(&place, &["--epochs", "2"]);
    assert!(!outcome.stderr.contains("taken for"), "{}", outcome.stderr);
    place.write("t.csv", crate::program::Rows::new(120, 3).csv());
    let outcome = train(&place, &["--epochs", "2"]);
    assert!(outcome.stdout.contains("images of 8 x 8"), "{}", outcome.stdout);
    assert!(!outcome.stderr.contains("taken for"), "{}", outcome.stderr);
}

#[test]
fn numbers_of_which_only_the_first_rows_show_few_are_values() {
    let place = Workplace::new();
    let sorted = |most: usize, last: &str| {
        let row = |row: usize| format!("{},{}\n", row * 7 % 13, (row / 60).min(most));
        "x,price\n".to_owned() + &(0..2000).map(row).collect::<String>() + last
    };
    let said = "so they are predicted as values (regression, loss mse); use --task classification to treat them as classes";
    let target = ["--target", "price", "--epochs", "1"];
    place.write("t.csv", sorted(99, ""));
    let outcome = train(&place, &target);
    assert!(outcome.code == 0 && outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(
        place.succeed(&["inspect", "t.csv", "--target", "price"]).stdout.contains("values to predict: price")
    );
    for task in ["classification", "regression"] {
        assert_eq!(train(&place, &[&target[..], &["--task", task]].concat()).code, 0, "{task}");
    }
    // With text among the numbers, the task is ambiguous.
    place.write("t.csv", sorted(99, "1,unknown\n"));
    let question = "error: t.csv: does target price hold classes, or values to predict? The first rows show 2 different numbers, all \
                    rows 35; use --task classification or --task regression";
    assert_eq!(train(&place, &target).error(), question);
    // The maximum number for the first rows.
    place.write("t.csv", sorted(19, ""));
    let outcome = train(&place, &target);
    assert!(outcome.stderr.contains("the target holds 20 different whole numbers"), "{}", outcome.stderr);
    place.write("t.csv", sorted(20, ""));
    assert!(train(&place, &target).stderr.contains(said));
    // A fraction is unambiguous.
    place.write("t.csv", sorted(99, "1,2.5\n"));
    let line = "error: t.csv, row 2002, column 2 (price): expected labels of classes (values are predicted by regression, with the loss \
                mse, mae or huber), found 2.5, a fraction; use --task regression to predict them";
    assert_eq!(train(&place, &target).error(), line);
    // More labels than are stored.
    let row = |row: usize| format!("{},{}\n", row * 7 % 13, row.saturating_sub(100));
    place.write("t.csv", "x,price\n".to_owned() + &(0..66_000).map(row).collect::<String>());
    let outcome = place.succeed(&["inspect", "t.csv", "--target", "price"]);
    assert!(outcome.stdout.contains("values to predict: price"), "{}", outcome.stdout);
}

#[test]
fn labels_that_may_be_slips_are_warned_of_in_one_line() {
    let place = Workplace::new();
    let warning = |table: &str, arguments: &[&str]| {
        place.write("t.csv", table);
        let outcome = train(&place, &[&["--epochs", "1", "--target", "y", "--quiet"], arguments].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let lines: Vec<&str> =
            outcome.stderr.lines().filter(|line| line.starts_with("warning: label")).collect();
        assert!(lines.len() < 2, "{}", outcome.stderr);
        lines.first().map_or_else(String::new, |line| (*line).to_owned())
    };
    let text = labelled(&["0", "1"], 300, &["yes"]);
    let yes = "warning: label \"yes\" (row 302) is text among numbers: it is a separate class; correct the label if it is misspelt";
    assert_eq!(warning(&text, &[]), yes);
    assert_eq!(warning(&text, &["--test-fraction", "0.2", "--format", "json"]), yes);
    assert_eq!(warning(&text, &["--folds", "2"]), yes);
    let number = labelled(&["c0", "c1"], 5000, &["7"]);
    assert_eq!(
        warning(&number, &[]),
        "warning: label \"7\" (row 5002) is a number among text: it is a separate class; correct the label if it is misspelt"
    );
    assert_eq!(
        warning(&labelled(&["0", "1"], 98, &["ja", "nein", "2"]), &[]),
        "warning: labels \"ja\" (row 100), \"nein\" (row 101) are text among numbers, label \"2\" (row 102) has a single row: each is a separate class; correct misspelt labels"
    );
    assert_eq!(
        warning(&labelled(&["a", "b"], 98, &["c", "D"]), &[]),
        "warning: labels \"D\" (row 101), \"c\" (row 100) have a single row each: each is a separate class; correct misspelt labels"
    );
    for usual in [
        labelled(&["a", "b"], 97, &["c", "D"]),
        labelled(&["a", "b", "1", "2"], 100, &[]),
        labelled(&["0", "1"], 100, &[]),
    ] {
        assert_eq!(warning(&usual, &[]), "");
    }
    // With several files, the row is reported with its file.
    place.write("u.csv", "x,y\n1,yes\n");
    let line = warning(&labelled(&["0", "1"], 300, &[]), &["--data", "u.csv"]);
    assert!(line.starts_with("warning: label \"yes\" (u.csv, row 2) is text"), "{line}");
    place.write("t.csv", text);
    let inspected = place.succeed(&["inspect", "t.csv", "--target", "y"]).stdout;
    assert!(inspected.lines().any(|line| format!("warning: {line}") == yes), "{inspected}");
    let sweep = [
        "sweep", "--data", "t.csv", "--target", "y", "--device", "cpu", "--trials", "1", "--epochs", "1",
        "--out", "s",
    ];
    let outcome = place.succeed(&sweep);
    assert!(outcome.stderr.lines().any(|line| format!("warning: {line}") == yes), "{}", outcome.stderr);
}

/// `YES` and `yes` are separate classes, with a warning; `--fold-labels` merges them, in training and in
/// evaluation.
#[test]
fn labels_in_another_case_are_joined_on_demand() {
    let place = Workplace::new();
    let row = |row: usize| {
        let label = match row {
            3 | 13 => ["NO", "Yes"][row % 2],
            5 => "no\u{a0}",
            row => ["no", "yes"][usize::from(row % 13 > 6)],
        };
        format!("{},{label}\n", row % 13)
    };
    place.write("t.csv", "a,class\n".to_owned() + &(0..90).map(row).collect::<String>());
    place.write("v.csv", "a,class\n1,NO\n2,nO\n12,YES\n");
    let apart = train(&place, &["--target", "class", "--epochs", "2", "--format", "json"]);
    let expected = "warning: labels \"Yes\" (row 5), \"no\u{a0}\" (row 7) differ from others only in case or blanks: each is a separate class; correct misspelt labels, or use --fold-labels to merge them";
    assert!(apart.stderr.contains(expected), "{}", apart.stderr);
    assert_eq!(apart.objects()[0]["classes"], json!(["Yes", "no", "no\u{a0}", "yes"]));
    let fold = ["--target", "class", "--fold-labels", "--test", "v.csv", "--lr", "0.02", "--format", "json"];
    for more in [&[][..], &["--scale", "none"]] {
        let joined = train(&place, &[&fold[..], more].concat());
        assert_eq!((joined.code, joined.stderr.contains("differ")), (0, false), "{}", joined.stderr);
        assert_eq!(joined.objects()[0]["classes"], json!(["no", "yes"]));
        let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
        for data in [&[][..], &["--data", "t.csv"]] {
            let found = place.succeed(&[&eval[..], data].concat()).objects().remove(0);
            assert!(found["accuracy"].as_f64().unwrap() > 0.95, "{found}");
        }
    }
    assert_eq!(
        train(&place, &["--target", "a", "--task", "regression", "--fold-labels", "--exclude", "class"]).code,
        2
    );
}

#[test]
fn markers_of_missing_values_may_be_labels() {
    let place = Workplace::new();
    let asked = |labels: [&str; 3], marker: &str, more: &[&str]| {
        place.write("t.csv", Points::new(300, 4).csv(labels));
        let outcome = train(&place, &[&["--target", "kind"], more].concat());
        let line = format!(
            "error: t.csv: is \"{marker}\" a label of target kind, or does it stand for a missing one? It is in "
        );
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().starts_with(&line), "{}", outcome.stderr);
        assert!(
            outcome.error().contains("use --missing-markers \"\" if it is a label"),
            "{}",
            outcome.stderr
        );
    };
    for (labels, marker, classes) in [
        (["+", "-", "0"], "-", ["+", "-", "0"]),
        (["EU", "NA", "AS"], "NA", ["AS", "EU", "NA"]),
        (["+", "-", "+"], "-", ["+", "-", ""]),
        (["no", "null", "?"], "null", ["?", "no", "null"]),
    ] {
        asked(labels, marker, &[]);
        asked(labels, marker, &["--drop-missing-target"]);
        let taken = ["--target", "kind", "--epochs", "3", "--missing-markers", ""];
        let outcome = train(&place, &taken);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let classes: Vec<&str> = classes.into_iter().filter(|class| !class.is_empty()).collect();
        assert_eq!(
            place.model("m.safetensors").at("/data/classes/names").to_string(),
            json!(classes).to_string()
        );
        // The model contains the markers of missing labels.
        let eval =
            ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--format", "json"];
        assert_eq!(place.succeed(&eval).objects()[0]["classes"], json!(classes));
    }
    // Rows with a marked or a rare missing label are dropped.
    place.write("t.csv", Points::new(300, 4).csv(["EU", "NA", "AS"]));
    let dropped = ["--target", "kind", "--epochs", "3", "--drop-missing-target", "--missing-marker", "NA"];
    assert_eq!(train(&place, &dropped).code, 0);
    assert_eq!(
        place.model("m.safetensors").at("/data/classes/names").to_string(),
        json!(["AS", "EU"]).to_string()
    );
    let rare = Points::new(300, 4).csv(["EU", "AS", "AS"]) + "1,2,3,NA\n4,5,6,-\n";
    place.write("t.csv", rare);
    assert_eq!(train(&place, &dropped[..5]).code, 0);
    assert_eq!(
        place.model("m.safetensors").at("/data/classes/names").to_string(),
        json!(["AS", "EU"]).to_string()
    );
    // With a replaced list of markers, each of its texts is missing, and an empty cell too.
    let three = Points::new(300, 4).csv(["EU", "NA", "AS"]) + "1,2,3,?\n4,5,6,\n";
    place.write("t.csv", three);
    let replaced = ["--target", "kind", "--epochs", "3", "--drop-missing-target", "--missing-markers", ",?"];
    assert_eq!(train(&place, &replaced).code, 0);
    assert_eq!(
        place.model("m.safetensors").at("/data/classes/names").to_string(),
        json!(["AS", "EU", "NA"]).to_string()
    );
}

#[test]
fn labels_with_leading_zeros_are_text_as_written() {
    let place = Workplace::new();
    for (labels, classes) in [
        (["010", "001", "100"], vec!["001", "010", "100"]),
        (["2", "01", "1"], vec!["01", "1", "2"]),
        (["00", "0", "7"], vec!["0", "00", "7"]),
    ] {
        place.write("t.csv", Points::new(300, 4).csv(labels));
        train(&place, &["--target", "kind", "--epochs", "3"]);
        assert_eq!(
            place.model("m.safetensors").at("/data/classes/names").to_string(),
            json!(classes).to_string()
        );
        let predicted = place.succeed(&["predict", "--model", "m.safetensors", "t.csv"]).stdout;
        let all_known =
            predicted.lines().skip(1).all(|line| line.split(',').any(|cell| classes.contains(&cell)));
        assert!(all_known, "{predicted}");
        let eval =
            ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--format", "json"];
        assert_eq!(place.succeed(&eval).objects()[0]["classes"], json!(classes));
    }
    // More than 20 of them are also classes.
    let codes: Vec<String> = (0..30).map(|code| format!("{:03}", code * 7)).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let cells: String = (0..300).map(|row| format!("{},{}\n", row % 30, codes[row % 30])).collect();
    place.write("t.csv", "x,code\n".to_owned() + &cells);
    train(&place, &["--target", "code", "--epochs", "1"]);
    assert_eq!(place.model("m.safetensors").at("/data/classes/names").to_string(), json!(codes).to_string());
}

#[test]
fn many_whole_numbers_are_classes_with_some_target_names() {
    let place = Workplace::new();
    let rows = |name: &str, classes: usize, count: usize| {
        let row = |row: usize| format!("{}.5,{}\n", row % 7, row * 31 % classes);
        place.write("t.csv", format!("x,{name}\n") + &(0..count).map(row).collect::<String>());
        let outcome = train(&place, &["--epochs", "1"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    let classes =
        |count| format!("the target holds {count} different whole numbers, so they are treated as classes");
    let values = "the target holds numbers, so they are predicted as values (regression, loss mse); use --task classification";
    for (name, count) in [("class", 26), ("Label", 61), ("label", 100)] {
        assert!(rows(name, count, 400).contains(&classes(count)));
    }
    // Other columns are values, and too many numbers too.
    assert!(rows("y", 26, 400).contains(values));
    assert!(rows("class", 397, 400).contains(values));
    // With pixels as inputs they are classes, whatever the name of the target.
    let row = |row: usize| {
        let pixels: Vec<String> = (0..64).map(|pixel| (pixel * row * 7 % 256).to_string()).collect();
        format!("{},{}\n", row % 30, pixels.join(","))
    };
    let names: Vec<String> = (0..64).map(|pixel| format!("p{pixel}")).collect();
    place.write("t.csv", format!("sign,{}\n", names.join(",")) + &(0..300).map(row).collect::<String>());
    let outcome = train(&place, &["--epochs", "1", "--target", "sign"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let model: Vec<String> = (0..30).map(|class| class.to_string()).collect();
    assert_eq!(place.model("m.safetensors").at("/data/classes/names").to_string(), json!(model).to_string());
}

#[test]
fn an_unknown_label_that_is_like_another_is_quoted_with_it() {
    let place = Workplace::new();
    let names = ["<=50K", ">50K", ">50K"];
    place.write("t.csv", Points::new(60, 4).csv(names));
    place.write("new.csv", Points::new(60, 5).csv(["<=50K.", ">50K.", ">50K."]));
    let outcome = train(&place, &["--test", "new.csv"]);
    let line = "expected labels of the training data (<=50K, >50K), found label \"<=50K.\" (did you mean \"<=50K\"?)";
    assert!(outcome.code == 2 && outcome.error().ends_with(line), "{}", outcome.stderr);
}

#[test]
fn columns_that_may_be_the_target_are_named() {
    let place = Workplace::new();
    let row = |row: usize| format!("{}.5,{},{}\n", row % 7, ["a", "b"][row % 2], row % 2);
    for (header, between) in
        [("x,label,class", "label or class"), ("x,kind,z", "kind or z"), ("x,target,y", "target or y")]
    {
        place.write("t.csv", format!("{header}\n") + &(0..60).map(row).collect::<String>());
        let outcome = train(&place, &[]);
        let [x, a, b] = header.split(',').collect::<Vec<_>>()[..] else { panic!() };
        let line = format!(
            "error: t.csv: which column holds the labels, {between}? The table has the columns {x}, {a}, {b}; use --target to name it"
        );
        assert_eq!((outcome.code, outcome.error()), (2, line.as_str()));
    }
}
