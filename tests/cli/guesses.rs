//! Detection and suggestions for missing information: a target, targets of rows, a name, a task.

use serde_json::json;

use crate::program::{Outcome, Workplace};

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "4",
        "--epochs",
        "2",
        "--format",
        "json",
        "--out",
        "m.safetensors",
    ];
    place.run(&[&common[..], arguments].concat())
}

#[test]
fn the_error_for_a_row_without_a_target_counts_all_of_them() {
    let place = Workplace::new();
    let table = |target: &dyn Fn(usize) -> String| {
        let row = |row: usize| match row % 25 {
            24 => format!("{},\n", row % 7),
            _ => format!("{},{}\n", row % 7, target(row)),
        };
        "x,target\n".to_owned() + &(0..300).map(row).collect::<String>()
    };
    let line = |found: &str, expected: &str| {
        format!(
            "error: t.csv, row 26, column 2 (target): expected {expected} (every row needs one), found an empty \
             cell{found}; use --drop-missing-target to leave them out"
        )
    };
    let count = " (12 of 300 rows have no target)";
    for (target, expected) in [
        (&(|row: usize| ["no", "yes"][row % 2].to_owned()) as &dyn Fn(usize) -> String, "a label"),
        (&|row| format!("{row}.25"), "a value to predict"),
    ] {
        place.write("t.csv", table(target));
        let outcome = place.run(&["train", "--data", "t.csv", "--device", "cpu"]);
        assert_eq!((outcome.code, outcome.error()), (2, line(count, expected).as_str()));
    }
    // A model does so, too.
    place.succeed(&[
        "train",
        "--data",
        "t.csv",
        "--drop-missing-target",
        "--epochs",
        "1",
        "--out",
        "dropped",
        "--device",
        "cpu",
    ]);
    place.write(
        "whole.csv",
        "x,target\n".to_owned() + &(0..60).map(|row| format!("{},{row}.5\n", row % 7)).collect::<String>(),
    );
    place.succeed(&[
        "train",
        "--data",
        "whole.csv",
        "--epochs",
        "1",
        "--out",
        "m.safetensors",
        "--device",
        "cpu",
    ]);
    let outcome = place.run(&["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"]);
    assert_eq!((outcome.code, outcome.error()), (2, line(count, "a value to predict").as_str()));
    // Other errors are reported once these rows are corrected.
    place.write("t.csv", table(&|row| format!("{row}.25")) + "1,2,3\n");
    let outcome = place.run(&["train", "--data", "t.csv", "--device", "cpu"]);
    assert_eq!((outcome.code, outcome.error()), (2, line("", "a value to predict").as_str()));
}

#[test]
fn rows_without_a_target_are_left_out_on_demand() {
    let place = Workplace::new();
    let rows = |labels: &dyn Fn(usize) -> String, only_whole: bool| {
        let is_whole = |row: &usize| !only_whole || row % 7 != 3;
        let row = |row: usize| format!("{},{},{}\n", row * 7 % 13, row % 3, labels(row));
        "a,g,y\n".to_owned() + &(0..90).filter(is_whole).map(row).collect::<String>()
    };
    let class = |row: usize| {
        if row % 7 == 3 { ["", "NA", "?"][row % 3] } else { ["x", "z"][row * 7 % 13 / 7] }.to_owned()
    };
    let value = |row: usize| if row % 7 == 3 { String::new() } else { format!("{}.5", row * 7 % 13) };
    for (labels, options) in [
        (&class as &dyn Fn(usize) -> String, &["--target", "y"][..]),
        (&class, &["--target", "y", "--test-fraction", "0.2"]),
        (&class, &["--target", "y", "--scale", "none", "--group", "g", "--test-fraction", "0.3"]),
        (&value, &["--target", "y", "--task", "regression", "--test-fraction", "0.2"]),
    ] {
        place.write("t.csv", rows(labels, false));
        place.write("whole.csv", rows(labels, true));
        let refused = train(&place, &[&["--data", "t.csv"][..], options].concat());
        assert_eq!(refused.code, 2);
        assert!(
            refused.error().ends_with("; use --drop-missing-target to leave them out"),
            "{}",
            refused.stderr
        );
        let losses = |outcome: Outcome| {
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let objects = outcome.objects();
            objects
                .iter()
                .map(|object| [object["train_loss"].clone(), object["test_loss"].clone()])
                .collect::<Vec<_>>()
        };
        let whole = losses(train(&place, &[&["--data", "whole.csv"][..], options].concat()));
        let dropped = train(&place, &[&["--data", "t.csv", "--drop-missing-target"][..], options].concat());
        assert!(dropped.stderr.contains("13 rows without a target are left out"), "{}", dropped.stderr);
        assert_eq!(losses(dropped), whole, "{options:?}");
        let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
        let found = place.succeed(&eval).objects().remove(0);
        if !options.contains(&"--test-fraction") {
            assert_eq!(found["samples"], 77);
        }
        if labels(0) == "x" {
            let found = place.succeed(&[&eval[..], &["--data", "t.csv", "--errors"]].concat());
            assert!(found.stderr.contains("t.csv: 13 rows without a target left out"), "{}", found.stderr);
            // Errors are identified by their rows in the file.
            let wrong = found.objects().remove(0)["errors"].clone();
            for error in wrong.as_array().unwrap() {
                let row = error["sample"].as_u64().unwrap() as usize - 1;
                assert_eq!(error["class"], json!(labels(row)));
            }
        }
    }
}

#[test]
fn numbers_that_prove_to_be_no_classes_are_values() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{}\n", row * 7 % 13, row / 60);
    place.write("t.csv", "x,price\n".to_owned() + &(0..2000).map(row).collect::<String>());
    for more in [&[][..], &["--batch-size", "32"], &["--scale", "none"]] {
        let outcome = train(&place, &[&["--data", "t.csv", "--target", "price"][..], more].concat());
        assert!(
            outcome.code == 0 && outcome.stderr.contains("so they are predicted as values"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.objects()[0]["classes"].as_array().unwrap().is_empty());
    }
    let line = "the target holds numbers, so they are predicted as values (regression, loss mse); use --task \
                classification to treat them as classes";
    let said = |stderr: &str| stderr.lines().filter(|found| *found == line).count();
    let run = ["--device", "cpu", "--hidden", "4", "--target", "price", "--data"];
    let profile = place.succeed(&[&["profile", "--steps", "2"][..], &run, &["t.csv"]].concat());
    let space = ["t.csv", "--trials", "1", "--epochs", "1", "--validation-fraction", "0.2", "--out", "s"];
    let sweep = place.succeed(&[&["sweep"][..], &run, &space].concat());
    assert_eq!([profile, sweep].map(|outcome| said(&outcome.stderr)), [1, 1]);
    // A pipe is read once, and results in the same network.
    let train = [&["train", "--epochs", "1", "--test-fraction", "0.2"][..], &run].concat();
    let input = std::fs::File::open(place.path("t.csv")).unwrap();
    let piped = [&train[..], &["-", "--out", "piped.safetensors"]].concat();
    let piped = place.command(&piped).stdin(input).output().unwrap();
    assert_eq!((piped.status.code(), said(&String::from_utf8_lossy(&piped.stderr))), (Some(0), 1));
    place.succeed(&[&train[..], &["t.csv", "--task", "regression", "--out", "named.safetensors"]].concat());
    assert!(place.model("piped.safetensors").tensors == place.model("named.safetensors").tensors);
}

#[test]
fn a_table_without_a_target_is_listed_and_names_are_proposed() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{},{}\n", row % 5, row % 3, ["p", "q"][row % 2]);
    let table = "height,width,2nd\n".to_owned() + &(0..60).map(row).collect::<String>();
    place.write("t.csv", table.replace("p\n", "1\n").replace("q\n", "2\n"));
    let outcome = place.succeed(&["inspect", "t.csv"]);
    assert!(outcome.stdout.starts_with("60 rows, 3 input columns\n"), "{}", outcome.stdout);
    assert!(
        outcome.stdout.ends_with("no target column was detected; use --target to name it\n"),
        "{}",
        outcome.stdout
    );
    let object = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    assert_eq!((&object["task"], object["columns"].as_array().unwrap().len()), (&json!("unknown"), 3));
    let outcome = train(&place, &["--data", "t.csv", "--target", "hieght"]);
    let expected = "error: t.csv, row 1: expected a target column \"hieght\" (did you mean \"height\"?), found the columns height, \
                    width, 2nd";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
    assert!(!train(&place, &["--data", "t.csv", "--target", "colour"]).stderr.contains("did you mean"));
    place.write("spaces.csv", table.replace(',', " "));
    for delimiter in ["space", " "] {
        let arguments = ["--data", "spaces.csv", "--delimiter", delimiter, "--target", "2nd"];
        let outcome = train(&place, &arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(place.model("m.safetensors").columns(), json!(["height", "width"]).to_string());
    }
}

#[test]
fn columns_that_may_hold_identifiers_are_named() {
    let place = Workplace::new();
    let row = |row: usize| {
        let name = if row.is_multiple_of(3) { "same".to_owned() } else { format!("n{row}") };
        format!(
            "{},{},{name},{},{},{}\n",
            row * 7 % 30,
            301 + 100 * (row % 4),
            row % 4,
            2001 + row % 4,
            ["p", "q"][row % 2]
        )
    };
    let rows: String = (0..90).map(row).collect();
    place.write("t.csv", "customer_id,region,name,count,year,class\n".to_owned() + &rows);
    let line = "3 columns may hold identifiers, which do not generalize: customer_id, region, name; use --exclude to ignore them, --group to hold out the rows of one identifier together, or --categorical to treat numbers as categories\n";
    let said = |more: &[&str]| {
        let outcome = train(&place, &[&["--data", "t.csv"][..], more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stderr
    };
    assert!(said(&[]).contains(line), "{}", said(&[]));
    assert!(place.succeed(&["inspect", "t.csv"]).stdout.contains(line));
    let rest = said(&["--categorical", "customer_id", "region", "--exclude", "name"]);
    assert!(!rest.contains("identifiers"), "{rest}");
}
