//! Arrays of numpy with rows for training, validation and testing, in archives and in files.

use serde_json::Value;

use crate::npz::{npy, npz};
use crate::program::{Rows, Workplace};

/// Returns images of 8 x 8 pixels, and their labels of this shape after the number of rows.
fn arrays(rows: &Rows, shape: &str) -> [Vec<u8>; 2] {
    let count = rows.classes.len();
    let images = npy("|u1", "False", &format!("({count}, 8, 8)"), &rows.pixels.concat());
    [images, npy("|u1", "False", &format!("({count},{shape})"), &rows.classes)]
}

/// Returns one-hot labels, as floats.
fn one_hot(rows: &Rows) -> Vec<u8> {
    let row = |class: u8| (0..4).map(move |column| f32::from(u8::from(column == class)).to_le_bytes());
    let values: Vec<[u8; 4]> = rows.classes.iter().flat_map(|class| row(*class)).collect();
    npy("<f4", "False", &format!("({}, 4)", rows.classes.len()), &values.concat())
}

/// Returns rows to train, to validate and to test on.
fn parts() -> [Rows; 3] {
    [Rows::new(200, 1), Rows::new(50, 2), Rows::new(60, 3)]
}

/// Trains, and returns the parameters and the summary.
#[track_caller]
fn trained(place: &Workplace, data: &[&str]) -> (Vec<u8>, Value) {
    let line = ["train", "--device", "cpu", "--hidden", "6", "--epochs", "4", "--format", "json"];
    let outcome = place.succeed(&[&line[..], &["--out", "m.safetensors", "--data"], data].concat());
    let mut summary = outcome.objects().pop().unwrap();
    summary.as_object_mut().unwrap().retain(|key, _| key.ends_with("_accuracy") || key.ends_with("_loss"));
    (place.model("m.safetensors").tensors, summary)
}

#[track_caller]
fn evaluated(place: &Workplace, more: &[&str]) -> Value {
    let line = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    let outcome = place.succeed(&[&line[..], more].concat());
    assert!(!outcome.stderr.contains("trained on"), "{}", outcome.stderr);
    outcome.objects().remove(0)
}

#[test]
fn parts_of_an_archive_are_the_parts_of_the_data() {
    let place = Workplace::new();
    let rows = parts();
    for (rows, file) in rows.iter().zip(["train.npz", "val.npz", "test.npz"]) {
        let [x, y] = arrays(rows, "");
        place.write(file, npz(&[("x", x), ("y", y)], false));
    }
    let [train, validation, test] = &rows;
    // Keras: two parts, with targets of one dimension.
    let whole = trained(&place, &["train.npz", "--test", "test.npz"]);
    let [[x, y], [x_test, y_test]] = [train, test].map(|rows| arrays(rows, ""));
    let names = [("x_test", x_test), ("x_train", x.clone()), ("y_test", y_test), ("y_train", y)];
    place.write("mnist.npz", npz(&names, true));
    assert!(trained(&place, &["mnist.npz"]) == whole);
    assert_eq!(evaluated(&place, &[])["accuracy"], whole.1["test_accuracy"]);
    // The options replace parts of the archive.
    assert!(trained(&place, &["train.npz", "--test", "mnist.npz"]) == whole);
    assert!(
        trained(&place, &["mnist.npz", "--validation", "val.npz"])
            == trained(&place, &["train.npz", "--validation", "val.npz", "--test", "test.npz"])
    );
    let fraction = ["--test-fraction", "0.25"];
    assert!(
        trained(&place, &[&["mnist.npz"], &fraction[..]].concat())
            == trained(&place, &[&["train.npz"], &fraction[..]].concat())
    );
    // MedMNIST: three parts, with targets in a column.
    let named = |part: &str, rows: &Rows| {
        let [x, y] = arrays(rows, " 1");
        [(format!("{part}_images"), x), (format!("{part}_labels"), y)]
    };
    let all = [named("train", train), named("val", validation), named("test", test)].concat();
    let all: Vec<(&str, Vec<u8>)> = all.iter().map(|(name, array)| (name.as_str(), array.clone())).collect();
    place.write("med.npz", npz(&all, true));
    let expected = trained(&place, &["train.npz", "--validation", "val.npz", "--test", "test.npz"]);
    assert!(expected.1["test_accuracy"] != whole.1["test_accuracy"] || expected.0 != whole.0);
    assert!(trained(&place, &["med.npz"]) == expected);
    assert_eq!(evaluated(&place, &[])["samples"], 60);
    // Without test rows, validation rows are evaluated.
    place.write("two.npz", npz(&all[..4], true));
    trained(&place, &["two.npz"]);
    assert_eq!(evaluated(&place, &[])["samples"], 50);
    // A table may have columns with such names.
    let numbers = npy("|u1", "False", "(4,)", &[1, 2, 3, 5]);
    let columns = ["train_time", "test_score", "y"].map(|name| (name, numbers.clone()));
    place.write("t.npz", npz(&columns, false));
    let inspected = place.succeed(&["inspect", "t.npz"]).stdout;
    assert!(inspected.starts_with("4 rows") && inspected.contains("test_score"), "{inspected}");
}

#[test]
fn one_hot_targets_are_classes() {
    let place = Workplace::new();
    let [rows, ..] = parts();
    let [x, y] = arrays(&rows, "");
    place.write("t.npz", npz(&[("X", x.clone()), ("y", y)], false));
    let expected = trained(&place, &["t.npz"]);
    place.write("t.npz", npz(&[("X", x.clone()), ("y", one_hot(&rows))], false));
    assert!(trained(&place, &["t.npz"]) == expected);
    assert_eq!(
        place.model("m.safetensors").at("/data/classes/names"),
        &serde_json::json!(["0", "1", "2", "3"])
    );
    // Two ones in a row are no class.
    let mut other = one_hot(&rows);
    let at = other.len() - 16;
    other[at..].copy_from_slice(&[1.0f32, 1.0, 0.0, 0.0].map(f32::to_le_bytes).concat());
    place.write("t.npz", npz(&[("X", x), ("y", other)], false));
    let outcome = place.run(&["train", "--data", "t.npz", "--device", "cpu"]);
    assert!(outcome.code == 2 && outcome.error().contains("target"), "{}", outcome.stderr);
}

#[test]
fn arrays_in_files_are_inputs_and_targets() {
    let place = Workplace::new();
    let [rows, _, test] = parts();
    let [[x, y], [x_test, y_test]] = [&rows, &test].map(|rows| arrays(rows, ""));
    place.write("t.npz", npz(&[("X", x.clone()), ("y", y.clone())], false));
    place.write("v.npz", npz(&[("X", x_test.clone()), ("y", y_test.clone())], false));
    let expected = trained(&place, &["t.npz", "--test", "v.npz"]);
    for (name, contents) in [("X.npy", &x), ("y.npy", &one_hot(&rows))] {
        place.write(name, contents);
        place.write(&format!("d/{name}"), contents);
    }
    place.write("d/X_test.npy", &x_test);
    place.write("d/y_test.npy", &y_test);
    for data in [
        &["d"][..],
        &["d/X.npy", "--test", "d"],
        &["X.npy", "--test", "d/X_test.npy"],
        &["X.npy", "--test", "v.npz"],
    ] {
        assert!(trained(&place, data) == expected, "{data:?}");
    }
    place.write("e/X_train.npy", &x);
    place.write("e/y_train.npy", &y);
    assert!(trained(&place, &["e", "--test", "d"]) == expected);
    // Rows to predict need no targets and no name.
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu"];
    place.write("new.npy", &x_test);
    let predicted = place.succeed(&[&predict[..], &["new.npy"]].concat()).stdout;
    assert!(predicted == place.succeed(&[&predict[..], &["v.npz"]].concat()).stdout);
    place.write("f/X.npy", &x[..x.len() - 1]);
    place.write("f/y.npy", &y);
    let line = "error: f/X.npy: expected arrays of numbers or text (NPZ, NPY), found another number of values than its header says in array X";
    let outcome = place.run(&["train", "--data", "f", "--device", "cpu"]);
    assert_eq!((outcome.code, outcome.error()), (2, line));
}
