//! `tinytrain export`: predictions of exports are the same.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{Workplace, noise};

/// Far above rounding errors, far below the effect of any omission.
const BOUND: f64 = 1e-5;

/// Names of the columns, without the target.
const COLUMNS: [&str; 5] = ["size", "price", "color", "town", "sold"];

/// Returns rows with two numbers, the second sometimes missing, three categories, twelve categories with
/// missing values, and yes or no; then a number that depends on them, and a class that depends on the number.
fn table(rows: usize) -> String {
    let mut noise = noise(3);
    let mut text = format!("{},value,class\n", COLUMNS.join(","));
    for row in 0..rows {
        let (size, price, color) = (4.0 * noise(), 1e4 * noise(), row % 3);
        let town = (noise() * 12.0) as usize;
        let price_cell = if row % 7 == 3 { String::new() } else { format!("{price:.1}") };
        let town_cell = if row % 11 == 5 { String::new() } else { format!("town {town}") };
        let (color_name, sold) = (["red", "green", "blue"][color], ["no", "yes"][row % 2]);
        let value = 100.0 + 10.0 * size.sin() + price / 1e3 + 3.0 * color as f64 - town as f64;
        let class = ["low", "middle", "high"][((value - 90.0) / 10.0).clamp(0.0, 2.0) as usize];
        writeln!(text, "{size:.3},{price_cell},{color_name},{town_cell},{sold},{value:.2},{class}").unwrap();
    }
    text
}

/// Returns a folder with the table, and rows to predict, some with values that the table does not contain.
fn place() -> Workplace {
    let place = Workplace::new();
    let text = table(200);
    place.write("train.csv", &text);
    let known: Vec<&str> = text.lines().take(60).collect();
    let unknown = ",50,red,town 3,yes,,\n1,,violet,,no,,\n2,99,,village,,,\n0.5,7,blue,town 1,maybe,,\n";
    place.write("new.csv", known.join("\n") + "\n" + unknown);
    place
}

/// Trains a model of the table with these options.
fn train(place: &Workplace, options: &[&str], out: &str) {
    let common =
        ["train", "--data", "train.csv", "--device", "cpu", "--quiet", "--epochs", "3", "--out", out];
    place.succeed(&[&common[..], options].concat());
}

fn export(place: &Workplace, format: &str, model: &str, out: &str) {
    let outcome = place.succeed(&["export", "--format", format, "--model", model, "--out", out]);
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr),
        ("", format!("wrote {}\n", if out.contains(' ') { format!("'{out}'") } else { out.to_owned() }))
    );
}

/// Returns the result of `tinytrain predict` for each row.
fn predicted(place: &Workplace, model: &str) -> Vec<Vec<f64>> {
    let arguments = ["predict", "--model", model, "--device", "cpu", "--format", "json", "new.csv"];
    let lines = place.succeed(&arguments).objects();
    // Objects of serde_json are sorted by name, as are the classes of a model.
    let numbers = |line: &Value| {
        let of_line = line.get("probabilities").unwrap_or(&line["values"]).as_object().unwrap();
        of_line.values().map(|number| number.as_f64().unwrap()).collect()
    };
    lines.iter().map(numbers).collect()
}

/// Returns the rows to predict as inputs of a model, in the order of its columns.
fn columns(place: &Workplace, model: &str) -> String {
    let model = place.model(model);
    let array = |pointer: &str| model.at(pointer).as_array().unwrap();
    let (inputs, encodings) = (array("/data/schema/inputs"), array("/transform/columns/columns"));
    let table = std::fs::read_to_string(place.path("new.csv")).unwrap();
    let mut rows = String::new();
    for line in table.lines().skip(1) {
        let cells: HashMap<&str, &str> = COLUMNS.into_iter().zip(line.split(',')).collect();
        for (input, encoding) in inputs.iter().zip(encodings) {
            let cell = cells[input["name"].as_str().unwrap()];
            let index = |categories: &Value| {
                let place = categories.as_array().unwrap().iter().position(|name| name == cell);
                place.map_or("-1".to_owned(), |place| place.to_string())
            };
            let number = match encoding.pointer("/category/categories/names") {
                _ if cell.is_empty() => "nan".to_owned(),
                Some(categories) => index(categories),
                None => cell.to_owned(),
            };
            write!(rows, "{number} ").unwrap();
        }
        rows.push('\n');
    }
    rows
}

const MAIN: &str = r#"#include <stdio.h>
#include "net.c"
int main(void)
{
    float columns[NET_COLUMNS], outputs[NET_OUTPUTS];
    int i;
    for (;;) {
        for (i = 0; i < NET_COLUMNS; i++) {
            if (scanf("%f", &columns[i]) != 1) {
                return 0;
            }
        }
        net_predict(columns, outputs);
        for (i = 0; i < NET_OUTPUTS; i++) {
            printf("%.9g ", outputs[i]);
        }
        printf("\n");
    }
}
"#;

/// Returns the results of a model's C export for the same rows; `None` without a compiler.
fn by_c(place: &Workplace, model: &str) -> Option<Vec<Vec<f64>>> {
    export(place, "c", model, "net.c");
    place.write("main.c", MAIN);
    let flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "main.c", "-o", "main", "-lm"];
    let Ok(compiled) = Command::new("cc").args(flags).current_dir(place.path(".")).output() else {
        eprintln!("skipped: no C compiler `cc` here");
        return None;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut program =
        Command::new(place.path("main")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    program.stdin.take().unwrap().write_all(columns(place, model).as_bytes()).unwrap();
    let output = String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap();
    let numbers = |line: &str| line.split_whitespace().map(|number| number.parse().unwrap()).collect();
    Some(output.lines().map(numbers).collect())
}

#[track_caller]
fn assert_c_predicts_the_same(place: &Workplace, model: &str) {
    let expected = predicted(place, model);
    let Some(found) = by_c(place, model) else { return };
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().flatten().fold(0.0, |most: f64, number| most.max(number.abs()));
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= BOUND * largest, "row {row}: {found}, not {expected}");
        }
    }
    assert!(expected.iter().any(|row| row != &expected[0]), "rows differ");
}

/// Embeddings of numbers and categories, trained scaling factors, smooth clipping.
#[test]
fn c_predicts_like_models_of_the_preset() {
    let place = place();
    let options =
        ["--target", "class", "--exclude", "value", "--validation-fraction", "0.2", "--hidden", "8"];
    train(&place, &options, "m");
    let layer = place.model("m").at("/networks/0/input_layer").to_string();
    for column in ["periodic", "embedding", "one-hot"] {
        assert!(layer.contains(column), "{layer}");
    }
    assert_c_predicts_the_same(&place, "m");
}

/// One layer of each, after normal scores and one-hot inputs, with values in their original units.
#[test]
fn c_predicts_with_every_activation() {
    let place = place();
    let activations = "relu,leaky-relu,elu,selu,gelu,gelu-tanh,silu,mish,tanh,sigmoid,identity";
    let hidden = ["6"; 11].join(",");
    let options = ["--target", "value", "--exclude", "class", "--scale", "quantile", "--one-hot", "20"];
    let network = ["--hidden", &hidden, "--activation", activations, "--init", "xavier", "--lr", "0.01"];
    train(&place, &[&options[..], &network].concat(), "m");
    assert_c_predicts_the_same(&place, "m");
}

#[test]
fn c_predicts_like_an_ensemble() {
    let place = place();
    let sweep =
        ["sweep", "--data", "train.csv", "--target", "class", "--exclude", "value", "--device", "cpu"];
    let few =
        ["--trials", "4", "--ensemble", "4", "--epochs", "2", "--hidden", "5", "--out", "sweep", "--quiet"];
    place.succeed(&[&sweep[..], &few].concat());
    assert_c_predicts_the_same(&place, "sweep/ensemble.safetensors");
}

/// A network, and an ensemble, of two labels of 0 or 1.
#[test]
fn c_predicts_probabilities_of_labels() {
    let place = place();
    let labelled = |(row, line): (usize, &str)| match row {
        0 => format!("{line},hot,wet\n"),
        _ => format!("{line},{},{}\n", row * 7 % 3 / 2, u32::from(line < "2")),
    };
    place.write("train.csv", table(200).lines().enumerate().map(labelled).collect::<String>());
    let target = ["--target", "hot", "wet", "--task", "multi-label", "--exclude", "value", "class"];
    assert_c_predicts_network_and_ensemble(&place, &target);
}

/// Compares the C code of a network with this target, and of an ensemble, with the program.
#[track_caller]
fn assert_c_predicts_network_and_ensemble(place: &Workplace, target: &[&str]) {
    train(place, &[target, &["--hidden", "5"]].concat(), "m");
    assert_c_predicts_the_same(place, "m");
    let sweep = ["sweep", "--data", "train.csv", "--device", "cpu", "--trials", "2", "--ensemble", "3"];
    let few = ["--epochs", "2", "--hidden", "5", "--out", "sweep", "--quiet"];
    place.succeed(&[&sweep[..], target, &few].concat());
    assert_c_predicts_the_same(place, "sweep/ensemble.safetensors");
}

/// Quantiles in ascending order, of a network and of an ensemble.
#[test]
fn c_predicts_quantiles() {
    let place = place();
    let target = ["--target", "value", "--exclude", "class", "--loss", "quantile"];
    assert_c_predicts_network_and_ensemble(&place, &target);
}

#[test]
fn every_format_is_written_as_its_readers_know_it() {
    let place = place();
    train(&place, &["--target", "class", "--exclude", "value", "--hidden", "4"], "m");
    for (format, file, start) in [
        ("onnx", "new/m.onnx", &b"\x08\x08"[..]),
        ("onnx-named", "new/n.onnx", b"\x08\x08"),
        ("c", "new/2 nets.c", b"/* A model, written by tinytrain"),
    ] {
        export(&place, format, "m", file);
        let bytes = std::fs::read(place.path(file)).unwrap();
        assert!(bytes.starts_with(start), "{format}");
        let outcome =
            place.command(&["export", "--format", format, "--model", "m", "--out", "-"]).output().unwrap();
        // Names in C and ONNX come from the file.
        assert!(outcome.status.success() && outcome.stdout.starts_with(start), "{format}");
    }
    let text = std::fs::read_to_string(place.path("new/2 nets.c")).unwrap();
    assert!(
        text.contains("void model_2_nets_predict(const float *columns, float *probabilities);"),
        "{text}"
    );
}

#[test]
fn unsupported_exports_are_refused_in_a_line() {
    let place = place();
    train(&place, &["--target", "class", "--exclude", "value", "--hidden", "4"], "m");
    let before = place.entries();
    for (options, expected) in [
        (&["--out", "x"][..], "required"),
        (&["--format", "tflite", "--out", "x"], "invalid value"),
        (&["--format", "c"], "--out <FILE>"),
        (&["--format", "c", "--out", "m/model.safetensors"], "cannot write to m/model.safetensors, which"),
        (&["--format", "c", "--out", "x", "--model", "train.csv"], "cannot be used multiple times"),
    ] {
        let outcome = place.run(&[&["export", "--model", "m"], options].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{options:?}");
        assert!(outcome.error().contains(expected), "{}", outcome.stderr);
    }
    let outcome = place.run(&["export", "--format", "c", "--model", "train.csv", "--out", "x"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().starts_with("error: train.csv: expected "), "{}", outcome.stderr);
    assert_eq!(place.entries(), before);
}
