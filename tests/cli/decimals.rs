//! A model reads numbers in the notation of its training data.

use serde_json::Value;

use crate::program::{Outcome, Workplace};

/// Returns a folder with the model `m` of `price = a`, trained on numbers with decimal commas, or with
/// points.
fn place(decimal: char) -> Workplace {
    let place = Workplace::new();
    let rows = (0..60).map(|row| format!("{}{decimal}5;{};{}{decimal}5\n", row % 7, row % 3, row % 7));
    place.write("t.csv", "a;b;price\n".to_owned() + &rows.collect::<String>());
    let train = ["train", "--data", "t.csv", "--target", "price", "--task", "regression", "--hidden", "none"];
    place.succeed(
        &[&train[..], &["--epochs", "3", "--device", "cpu", "--quiet", "--out", "m.safetensors"]].concat(),
    );
    place
}

fn predict(place: &Workplace, row: &str, options: &[&str]) -> Outcome {
    place.write("new.csv", format!("a;b\n{row}\n"));
    place.run(&[&["predict", "--model", "m.safetensors", "--device", "cpu", "new.csv"], options].concat())
}

#[track_caller]
fn predicted(place: &Workplace, row: &str, options: &[&str]) -> f64 {
    let outcome = predict(place, row, options);
    assert_eq!(outcome.code, 0, "{row}: {}", outcome.stderr);
    outcome.stdout.lines().nth(1).unwrap().parse().unwrap()
}

#[test]
fn one_row_is_read_as_the_training_table_was() {
    let commas = place(',');
    assert_eq!(commas.model("m.safetensors").at("/data/schema/decimal"), ",");
    let expected = predicted(&commas, "1,5;2", &[]);
    assert_eq!(predicted(&commas, "1,500;2", &[]), expected);
    assert_eq!(predicted(&commas, "1.500;2", &["--decimal", "."]), expected);
    assert_ne!(predicted(&commas, "1500;2", &[]), expected);

    let points = place('.');
    assert_eq!(points.model("m.safetensors").at("/data/schema/decimal"), ".");
    assert_eq!(predicted(&points, "1.500;2", &[]), expected);
    assert_eq!(predicted(&points, "1,5;2", &["--decimal", ","]), expected);
}

#[test]
fn a_file_that_is_written_otherwise_is_one_line() {
    for (decimal, row, mark) in [(',', "1.500;2", "comma"), ('.', "1,5;2", "point")] {
        let place = place(decimal);
        let outcome = predict(&place, row, &[]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{row}");
        let expected = format!(
            "new.csv, row 2, column 1 (a): expected a number (with the decimal {mark} of the training table), found"
        );
        assert!(outcome.error().contains(&expected), "{}", outcome.stderr);
        assert!(outcome.error().contains("--decimal"), "{}", outcome.stderr);
        // A target, too.
        let (a, price) = (if decimal == ',' { "1,5" } else { "1.5" }, row.split_once(';').unwrap().0);
        place.write("v.csv", format!("a;b;price\n{a};2;{price}\n"));
        let eval = ["eval", "--model", "m.safetensors", "--data", "v.csv", "--device", "cpu"];
        let outcome = place.run(&eval);
        assert_eq!(outcome.code, 2);
        assert!(
            outcome.error().contains("column 3 (price)") && outcome.error().contains(mark),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn models_without_a_decimal_mark_detect_it() {
    let place = place(',');
    let mut model = place.model("m.safetensors");
    model.metadata["data"]["schema"]["decimal"] = Value::Null;
    place.write("m.safetensors", model.bytes());
    assert_eq!(predicted(&place, "1.5;2", &[]), predicted(&place, "1,5;2", &[]));
    model.metadata["data"]["schema"]["decimal"] = Value::from(":");
    place.write("m.safetensors", model.bytes());
    let outcome = predict(&place, "1,5;2", &[]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("decimal"), "{}", outcome.stderr);
}

#[test]
fn prediction_errors_name_only_options_of_predict() {
    let place = place('.');
    let outcome = predict(&place, "red;2", &[]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("as in the training table"), "{}", outcome.stderr);
    assert!(outcome.error().contains("--missing-marker"), "{}", outcome.stderr);
    for option in ["--categorical", "--exclude", "--include"] {
        assert!(!outcome.error().contains(option), "{}", outcome.stderr);
    }
    assert_eq!(predict(&place, "red;2", &["--missing-marker", "red"]).code, 0);
}
