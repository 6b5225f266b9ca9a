//! `tinytrain train --init-from`.

use crate::program::Workplace;

/// Rows of two numbers, a category, and a target computed from them, whose numbers have this offset.
fn table(rows: usize, offset: f64, target: fn(f64, f64) -> String) -> String {
    let row = |row: usize| {
        let (a, b) = ((row * 37 % 101) as f64 / 20.0 + offset, (row * 53 % 89) as f64 / 15.0);
        format!("{a},{b},{},{}\n", ["x", "y", "z"][row * 7 % 3], target(a, b))
    };
    "a,b,kind,y\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

fn class(a: f64, b: f64) -> String {
    if a > b { "large" } else { "small" }.to_owned()
}

fn value(a: f64, b: f64) -> String {
    format!("{:.3}", 100.0 + a * b)
}

/// The same rows with the columns in another order.
fn turned(table: &str) -> String {
    let turn = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n";
    table.lines().map(turn).collect()
}

const COMMON: [&str; 5] = ["--target", "y", "--device", "cpu", "--quiet"];

/// A rate at which no weight changes.
const STILL: [&str; 6] = ["--epochs", "1", "--lr", "1e-30", "--optimizer", "sgd"];

fn trained(place: &Workplace, arguments: &[&str]) {
    place.succeed(&[&["train"][..], &COMMON, arguments].concat());
}

/// Without a step, the new model is the first one: weights, scaling, columns and classes.
#[test]
fn the_model_decides_network_scaling_columns_and_classes() {
    for (task, target) in [("classification", class as fn(f64, f64) -> String), ("regression", value)] {
        for preset in ["plain", "table"] {
            let place = Workplace::new();
            place.write("a.csv", table(300, 0.0, target));
            place.write("b.csv", turned(&table(250, 2.0, target)));
            let preset = ["--preset", preset, "--validation-fraction", "0", "--task", task];
            let first = ["--data", "a.csv", "--hidden", "20,10", "--epochs", "3", "--out", "a.safetensors"];
            trained(&place, &[&first[..], &preset].concat());
            let next = ["--data", "b.csv", "--init-from", "a.safetensors", "--out", "b.safetensors"];
            trained(&place, &[&next[..], &preset, &STILL].concat());
            let [a, b] = ["a.safetensors", "b.safetensors"].map(|name| place.model(name));
            assert_eq!(a.tensors, b.tensors, "{preset:?}");
            for part in ["/networks", "/transform", "/data/classes"] {
                let [a, b] = [&a, &b].map(|model| model.metadata.pointer(part).unwrap());
                assert_eq!(a, b, "{preset:?}: {part}");
            }
        }
    }
}

#[test]
fn cells_that_the_model_does_not_know_are_reported() {
    let place = Workplace::new();
    place.write("a.csv", table(300, 0.0, class));
    place.write("b.csv", table(300, 0.0, class).replacen(",x,", ",w,", 3).replacen("\n1.85,", "\n,", 1));
    let plain = ["--preset", "plain", "--epochs", "1"];
    trained(&place, &[&["--data", "a.csv", "--out", "a.safetensors"], &plain[..]].concat());
    let train = ["train", "--target", "y", "--device", "cpu", "--out", "b.safetensors"];
    for (data, warned) in [("a.csv", false), ("b.csv", true)] {
        let next = ["--data", data, "--init-from", "a.safetensors"];
        let stderr = place.succeed(&[&train[..], &plain, &next].concat()).stderr;
        let category = "in the new training rows, 3 cells hold an unknown category in column kind";
        let number = "in the new training rows, 1 cell misses a value in column a";
        assert_eq!([category, number].map(|text| stderr.contains(text)), [warned; 2], "{stderr}");
    }
}

/// Columns that the default would encode one-hot keep their embeddings.
#[test]
fn embeddings_stay_embeddings() {
    let place = Workplace::new();
    place.write("a.csv", table(300, 0.0, class));
    let data = ["--data", "a.csv", "--validation-fraction", "0"];
    let first = ["--one-hot", "2", "--hidden", "8", "--epochs", "2", "--out", "a.safetensors"];
    trained(&place, &[&data[..], &first].concat());
    let next = ["--init-from", "a.safetensors", "--out", "b.safetensors"];
    trained(&place, &[&data[..], &next, &STILL].concat());
    let [a, b] = ["a.safetensors", "b.safetensors"].map(|name| place.model(name));
    assert!(a.metadata["networks"].to_string().contains("embedding"));
    assert_eq!((&a.metadata["networks"], a.tensors), (&b.metadata["networks"], b.tensors));
}

#[test]
fn training_continues_from_the_weights_and_resumes() {
    let place = Workplace::new();
    place.write("a.csv", table(300, 0.0, class));
    let data = ["--data", "a.csv", "--preset", "plain"];
    trained(&place, &[&data[..], &["--epochs", "40", "--out", "a.safetensors"]].concat());
    let loss = |arguments: &[&str]| {
        let train =
            ["train", "--format", "json", "--device", "cpu", "--target", "y", "--epochs", "1", "--out", "c"];
        let found = place.succeed(&[&train[..], &data, arguments].concat()).objects();
        std::fs::remove_dir_all(place.path("c")).unwrap();
        found.iter().find_map(|line| line["train_loss"].as_f64()).unwrap()
    };
    let (fresh, continued) = (loss(&[]), loss(&["--init-from", "a.safetensors"]));
    assert!(continued < 0.7 * fresh, "{continued} against {fresh}");

    let next = ["--init-from", "a.safetensors", "--lr", "0.03"];
    trained(&place, &[&data[..], &next, &["--epochs", "4", "--out", "whole"]].concat());
    trained(&place, &[&data[..], &next, &["--epochs", "2", "--out", "parts"]].concat());
    // A resumed run does not need the first model.
    std::fs::remove_file(place.path("a.safetensors")).unwrap();
    place.succeed(&["train", "--resume", "parts", "--epochs", "4", "--device", "cpu", "--quiet"]);
    assert_eq!(place.model("whole").tensors, place.model("parts").tensors);
}

#[test]
fn other_rows_and_settings_that_contradict_the_model_are_refused() {
    let place = Workplace::new();
    place.write("a.csv", table(300, 0.0, class));
    place.write("values.csv", table(300, 0.0, value));
    place.write("others.csv", table(300, 0.0, class).replace("large", "huge"));
    place.write("fewer.csv", table(300, 0.0, class).replace("kind", "sort"));
    let options = ["--preset", "plain", "--epochs", "1", "--out", "a.safetensors"];
    trained(&place, &[&["--data", "a.csv"], &options[..]].concat());
    for (data, arguments, line) in [
        ("a.csv", &["--hidden", "3"][..], "the network and the inputs of --init-from"),
        ("a.csv", &["--scale", "minmax"], "the network and the inputs of --init-from"),
        ("others.csv", &[], "huge"),
        ("fewer.csv", &[], "kind"),
        ("values.csv", &[], "loss"),
    ] {
        let train = ["train", "--device", "cpu", "--init-from", "a.safetensors", "--out", "b.safetensors"];
        let rows = ["--target", "y", "--preset", "plain", "--epochs", "1", "--data", data];
        let outcome = place.run(&[&train[..], &rows, arguments].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{data}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(line), "{data} {arguments:?}: {}", outcome.stderr);
    }
    assert!(!place.path("b.safetensors").exists());
}

/// Options about labels apply to the new rows, too.
#[test]
fn labels_of_new_rows_are_folded_and_may_be_missing() {
    let place = Workplace::new();
    let text = table(300, 0.0, class);
    place.write("a.csv", &text);
    place.write("b.csv", text.replacen(",large\n", ",\n", 5).replacen(",small\n", ",SMALL\n", 5));
    trained(&place, &["--data", "a.csv", "--preset", "plain", "--epochs", "1", "--out", "a.safetensors"]);
    let next = ["--data", "b.csv", "--init-from", "a.safetensors", "--preset", "plain", "--format", "json"];
    let train = ["train", "--target", "y", "--device", "cpu", "--epochs", "1", "--out", "b.safetensors"];
    let run = |more: &[&str]| place.run(&[&train[..], &next, more].concat());
    for one in ["--fold-labels", "--drop-missing-target"] {
        assert_eq!(run(&[one]).code, 2, "{one}");
    }
    let objects = run(&["--fold-labels", "--drop-missing-target"]).objects();
    assert_eq!(objects[0]["classes"], serde_json::json!(["large", "small"]));
    assert_eq!(objects[0]["rows"], 295, "{}", objects[0]);
    assert_eq!(
        place.model("b.safetensors").metadata["data"]["classes"],
        place.model("a.safetensors").metadata["data"]["classes"]
    );
}

/// Targets are found by name, and are no inputs.
#[test]
fn targets_are_those_of_the_model() {
    let place = Workplace::new();
    let text = table(300, 0.0, |a, b| format!("{:.3},{:.3}", a * b, 1000.0 * a));
    place.write("a.csv", text.replace("kind,y\n", "kind,y,z\n"));
    let train = |more: &[&str]| {
        let common = ["train", "--data", "a.csv", "--device", "cpu", "--quiet", "--preset", "plain"];
        place.run(&[&common[..], more].concat())
    };
    assert_eq!(train(&["--target", "y", "z", "--epochs", "3", "--out", "a.safetensors"]).code, 0);
    let next = ["--init-from", "a.safetensors", "--out", "b.safetensors"];
    let turned = train(&[&["--target", "z", "y"], &next[..], &STILL].concat());
    assert_eq!(turned.code, 0, "{}", turned.stderr);
    let [a, b] = ["a.safetensors", "b.safetensors"].map(|name| place.model(name));
    assert_eq!((a.tensors, &a.metadata["data"]), (b.tensors, &b.metadata["data"]));
    let inputs =
        "a.csv, row 1: expected targets, weights, groups and times that are no inputs of the model, found ";
    for (options, expected) in [
        (&["--target", "a", "y"][..], format!("{inputs}a, an input")),
        (&["--group", "b", "--validation-fraction", "0.2"], format!("{inputs}b, an input")),
        (&["--weight", "b"], format!("{inputs}b, an input")),
        (&["--target", "y"], "a.csv, row 1: expected 2 target columns, as in training, found 1".to_owned()),
    ] {
        let outcome = train(&[&next[..], options].concat());
        assert_eq!((outcome.code, outcome.error()), (2, format!("error: {expected}").as_str()));
    }
}
