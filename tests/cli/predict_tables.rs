//! Tables for prediction: their labels, and files that must not be overwritten.

use std::fmt::Write as _;

use crate::program::Workplace;

/// Returns a folder with a model of two classes that depend on `a`.
fn place() -> Workplace {
    let place = Workplace::new();
    place.write("train.csv", table(40, |row| if row % 2 == 0 { "even" } else { "odd" }.to_owned()));
    let train = ["train", "--data", "train.csv", "--hidden", "4", "--epochs", "3", "--device", "cpu"];
    place.succeed(&[&train[..], &["--out", "model.safetensors"]].concat());
    place
}

fn table(rows: usize, label: impl Fn(usize) -> String) -> String {
    let mut text = "a,b,class\n".to_owned();
    for row in 0..rows {
        writeln!(text, "{}.5,{}.25,{}", row % 2, row % 7, label(row)).unwrap();
    }
    text
}

#[test]
fn labels_are_not_looked_at_in_tables_of_several_blocks() {
    let place = place();
    let rows = 2 * tinytrain::data::BLOCK_ROWS + 10;
    let predict = |label: &dyn Fn(usize) -> String| {
        place.write("new.csv", table(rows, label));
        place.succeed(&["predict", "--model", "model.safetensors", "--device", "cpu", "new.csv"]).stdout
    };
    let expected = predict(&|row| ["even", "odd"][row % 2].to_owned());
    assert_eq!(expected.lines().count(), rows + 1);
    assert!(expected == predict(&|_| String::new()), "labels are missing");
    assert!(expected == predict(&|row| format!("label {row}")), "every label is another");
}

#[test]
fn predictions_do_not_replace_the_model() {
    let place = place();
    let model = std::fs::read(place.path("model.safetensors")).unwrap();
    let outcome = place.run(&[
        "predict",
        "--model",
        "model.safetensors",
        "--device",
        "cpu",
        "--out",
        "model.safetensors",
        "train.csv",
    ]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (2, "error: --out: cannot write to model.safetensors, which is the model; choose another name\n")
    );
    assert_eq!(std::fs::read(place.path("model.safetensors")).unwrap(), model);
}

#[test]
fn a_name_with_the_ending_of_another_format_is_refused() {
    let place = place();
    let predict = ["predict", "--model", "model.safetensors", "--device", "cpu", "train.csv", "--out"];
    for (out, format, line) in [
        ("p.parquet", "csv", "a file name for CSV, the output format, found p.parquet"),
        ("p.TSV", "csv", "a file name for CSV, the output format, found p.TSV"),
        ("p.csv.gz", "csv", "a file name for CSV, the output format, found p.csv.gz"),
        (
            "p.json",
            "csv",
            "a file name for CSV, the output format, found p.json; use --format json to write JSON",
        ),
        ("p.npz", "json", "a file name for JSON, the output format, found p.npz"),
    ] {
        let outcome = place.run(&[&predict[..], &[out, "--format", format]].concat());
        let expected = format!("error: --out: expected {line}\n");
        assert_eq!((outcome.code, outcome.stderr), (2, expected), "{out}");
        assert!(!place.path(out).exists(), "{out}");
    }
    for (out, format, start) in [("p.csv", "csv", "class,"), ("p", "csv", "class,"), ("p.jsonl", "json", "{")]
    {
        place.succeed(&[&predict[..], &[out, "--format", format]].concat());
        assert!(std::fs::read_to_string(place.path(out)).unwrap().starts_with(start), "{out}");
    }
}

#[test]
fn outputs_that_are_not_finite_are_errors() {
    let place = Workplace::new();
    // The deviation of `a` is so small that a value of 1e10 overflows f32.
    let mut text = "a,b,class\n".to_owned();
    for row in 0..40 {
        writeln!(text, "{}e-30,{}.5,{}", row % 5, row % 2, row % 2).unwrap();
    }
    place.write("train.csv", text);
    let train = ["train", "--data", "train.csv", "--hidden", "4", "--epochs", "1", "--device", "cpu"];
    place.succeed(&[&train[..], &["--preset", "plain", "--out", "model.safetensors"]].concat());
    place.write("new.csv", "a,b\n1e-30,0.5\n1e10,0.5\n");
    let outcome = place.run(&["predict", "--model", "model.safetensors", "--device", "cpu", "new.csv"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("error: new.csv: the outputs for sample 2 are not finite"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcome.stderr.lines().count(), 1);
}
