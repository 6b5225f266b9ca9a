//! NPZ files as data.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use crate::program::{Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Returns an array in numpy's format.
pub fn npy(descr: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

/// Returns an archive of arrays, compressed or not.
pub fn npz(arrays: &[(&str, Vec<u8>)], is_packed: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, contents) in arrays {
        let name = format!("{name}.npy");
        let mut crc = Crc::new();
        crc.update(contents);
        let mut data = contents.clone();
        if is_packed {
            let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
            packed.write_all(contents).unwrap();
            data = packed.finish().unwrap();
        }
        let mut entry = [&[20, 0, 0, 0][..], &[if is_packed { 8 } else { 0 }, 0, 0, 0, 0, 0]].concat();
        entry.extend([crc.sum(), data.len() as u32, contents.len() as u32].map(u32::to_le_bytes).concat());
        entry.extend([(name.len() as u16).to_le_bytes(), [0; 2]].concat());
        directory.extend([b"PK\x01\x02\x14\0", &entry[..], &[0; 10]].concat());
        directory.extend([&(archive.len() as u32).to_le_bytes()[..], name.as_bytes()].concat());
        archive.extend([b"PK\x03\x04", &entry[..], name.as_bytes(), &data].concat());
    }
    let (count, start) = ((arrays.len() as u16).to_le_bytes(), archive.len() as u32);
    let length = directory.len() as u32;
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count].concat());
    archive.extend([length, start].map(u32::to_le_bytes).concat());
    archive.extend([0; 2]);
    archive
}

fn bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    values.flatten().collect()
}

/// Returns text of at most five letters in numpy's format.
fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let letters = |text: &str| text.chars().map(u32::from).chain([0; 5]).take(5).collect::<Vec<u32>>();
    bytes(texts.flat_map(letters).map(u32::to_le_bytes))
}

/// Returns a folder with a table, and the same numbers as X and classes as y, in arrays of several orders and
/// types.
fn place() -> (Workplace, Points) {
    let (place, points) = (Workplace::new(), Points::new(300, 4));
    let names = points.rows(NAMES);
    place.write("t.csv", format!("X0,X1,X2,y\n{names}"));
    (place, points)
}

#[track_caller]
fn weights(place: &Workplace, data: &str, more: &[&str]) -> Vec<u8> {
    let line = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "6",
        "--epochs",
        "2",
        "--quiet",
        "--out",
        "m.safetensors",
        "--data",
    ];
    place.succeed(&[&line[..], &[data], more].concat());
    place.model("m.safetensors").tensors
}

#[test]
fn arrays_train_as_the_table_of_the_same_numbers_does() {
    let (place, points) = place();
    let expected = weights(&place, "t.csv", &["--target", "y"]);
    let by_row = bytes(points.values.iter().flatten().map(|value| value.to_le_bytes()));
    let by_column =
        bytes((0..3).flat_map(|column| points.values.iter().map(move |row| row[column].to_le_bytes())));
    let floats = bytes(points.values.iter().flatten().map(|value| (*value as f32).to_le_bytes()));
    let y = npy("<U5", "False", "(300,)", &texts(points.classes.iter().map(|class| NAMES[*class])));
    for (x, is_packed) in [
        (npy("<f8", "False", "(300, 3)", &by_row), false),
        (npy("<f8", "True", "(300, 3)", &by_column), true),
        (npy("<f4", "False", "(300, 3)", &floats), true),
    ] {
        place.write("t.npz", npz(&[("X", x), ("y", y.clone())], is_packed));
        assert!(weights(&place, "t.npz", &[]) == expected);
    }
    // Test rows, evaluation and prediction, too.
    let eval = |data| {
        place.succeed(&[
            "eval",
            "--model",
            "m.safetensors",
            "--device",
            "cpu",
            "--format",
            "json",
            "--data",
            data,
        ])
    };
    assert_eq!(eval("t.npz").objects()[0]["confusion"], eval("t.csv").objects()[0]["confusion"]);
    let predict =
        |data| place.succeed(&["predict", "--model", "m.safetensors", "--device", "cpu", data]).stdout;
    assert!(predict("t.npz") == predict("t.csv"));
}

#[test]
fn whole_numbers_are_classes_and_floats_are_values() {
    let (place, points) = place();
    let x = npy("<i2", "False", "(300, 1)", &bytes((0..300i16).map(|row| (row % 50 - 25).to_le_bytes())));
    let outputs = |y: Vec<u8>| {
        place.write("t.npz", npz(&[("X", x.clone()), ("y", y)], false));
        let objects =
            place.train(&["--data", "t.npz", "--device", "cpu", "--epochs", "1", "--out", "m.safetensors"]);
        objects[0]["classes"].as_array().unwrap().len()
    };
    let whole = bytes((0..300i64).map(|row| (row % 30 - 1).to_le_bytes()));
    assert_eq!(outputs(npy("<i8", "False", "(300,)", &whole)), 30);
    assert_eq!(outputs(npy("|b1", "False", "(300,)", &bytes((0..300u32).map(|row| [(row % 2) as u8])))), 2);
    let floats = bytes(points.classes.iter().map(|class| (*class as f64).to_le_bytes()));
    assert_eq!(outputs(npy("<f8", "False", "(300,)", &floats)), 0);
    assert_eq!(place.model("m.safetensors").at("/networks/0/loss"), "mse");
}

#[test]
fn archives_that_are_not_whole_are_refused() {
    let place = Workplace::new();
    let x = npy("<f8", "False", "(2, 1)", &bytes([1.0, f64::INFINITY].into_iter().map(f64::to_le_bytes)));
    let y = npy("|u1", "False", "(2,)", &[0, 1]);
    let whole = npz(&[("X", x.clone()), ("y", y.clone())], false);
    let mut other_sum = whole.clone();
    let place_of_value = whole.windows(8).position(|bytes| bytes == 1.0f64.to_le_bytes()).unwrap();
    other_sum[place_of_value] ^= 1;
    let array = |descr: &str, shape: &str| {
        npz(&[("X", npy(descr, "False", shape, &[0; 8])), ("y", y.clone())], false)
    };
    // An entry that claims more bytes than its compressed data can contain.
    let mut promised = whole.clone();
    let directory = promised.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    promised[directory + 24..directory + 28].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    for (bytes, expected) in [
        (promised, "found arrays that are longer than the file"),
        (whole.clone(), "an infinite value in row 2 of array X"),
        (whole[..whole.len() - 30].to_vec(), "found invalid Zip archive: Could not find EOCD"),
        (other_sum, "Invalid checksum"),
        (array(">f8", "(1,)"), "found values of the type \">f8\" in array X"),
        (array("<f8", "(2,)"), "found another number of values than its header says in array X"),
        (
            array("<f8", "(4611686018427387904, 4)"),
            "found another number of values than its header says in array X",
        ),
        (array("<f8", "()"), "found a single value, not one for each row, in array X"),
        (array("<f8", "(1,)"), "found 1 rows in X, 2 in y"),
    ] {
        place.write("t.npz", bytes);
        let outcome = place.run(&["train", "--data", "t.npz", "--device", "cpu", "--quiet"]);
        assert_eq!(outcome.code, 2, "{expected}: {}", outcome.stderr);
        assert!(
            outcome.error().contains(expected) && outcome.error().contains("t.npz"),
            "{}",
            outcome.stderr
        );
    }
    // Truncated or modified files are rejected, without other effects.
    for length in (0..whole.len()).step_by(3) {
        place.write("t.npz", &whole[..length]);
        assert_eq!(place.run(&["inspect", "t.npz"]).code, 2, "{length}");
    }
}

#[test]
fn archives_in_other_layouts_are_named_with_a_remedy() {
    let place = Workplace::new();
    let numbers = |count: u8| npy("|u1", "False", &format!("({count},)"), &(0..count).collect::<Vec<u8>>());
    let names = ["x_train", "y_train", "x_test"];
    let arrays: Vec<(&str, Vec<u8>)> =
        names.into_iter().zip([numbers(50), numbers(50), numbers(10)]).collect();
    place.write("t.npz", npz(&arrays, false));
    let outcome = place.run(&["inspect", "t.npz"]);
    let line = "error: t.npz: expected arrays of numbers or text (NPZ, NPY), found several parts of a data set (x_train, y_train, x_test); save one of them by itself, as in numpy.savez(\"test.npz\", x=x_test)";
    assert_eq!((outcome.code, outcome.error()), (2, line));
    let objects = npy("|O", "False", "(2,)", b"0123456789012345");
    place.write("t.npz", npz(&[("X", numbers(2)), ("y", objects)], false));
    let line = "error: t.npz: expected arrays of numbers or text (NPZ, NPY), found objects of Python (save text as y.astype(str), numbers as y.astype(float)) in array y";
    assert_eq!(place.run(&["inspect", "t.npz"]).error(), line);
}
