//! `tinytrain convert`: what is written reads back the same.

use std::collections::BTreeMap;

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use crate::program::{Outcome, Rows, Workplace};

/// Decimal commas, a text with delimiters and quotes, missing numbers and texts, and a number that no f32 holds.
const TABLE: &str = "id;price;\"the color\";kind\n16777217;1,5;\"red; \"\"dark\"\"\";a\n2;;blue;b\n3;-0,25;NA;a\n4;7;blue;b\n";

fn convert(place: &Workplace, arguments: &[&str]) -> Outcome {
    place.run(&[&["convert"], arguments].concat())
}

#[track_caller]
fn converted(place: &Workplace, from: &str, to: &str) -> Vec<u8> {
    let outcome = convert(place, &[from, "--out", to]);
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""), "{from} {to}");
    std::fs::read(place.path(to)).unwrap()
}

/// The files of an archive that packs nothing, by its directory.
fn unzipped(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let two = |at: usize| usize::from(u16::from_le_bytes(archive[at..at + 2].try_into().unwrap()));
    let four = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap()) as usize;
    let end = archive.len() - 22;
    assert_eq!(&archive[end..end + 4], b"PK\x05\x06");
    let mut entry = four(end + 16);
    let files = (0..two(end + 10)).map(|_| {
        assert_eq!((&archive[entry..entry + 4], two(entry + 10)), (&b"PK\x01\x02"[..], 0));
        let (size, name, local) = (four(entry + 24), two(entry + 28), four(entry + 42));
        let text = String::from_utf8(archive[entry + 46..entry + 46 + name].to_vec()).unwrap();
        assert_eq!(&archive[local + 30..local + 30 + name], text.as_bytes());
        let contents = archive[local + 30 + name..][..size].to_vec();
        let mut crc = flate2::Crc::new();
        crc.update(&contents);
        assert_eq!(crc.sum() as usize, four(entry + 16), "{text}");
        entry += 46 + name;
        (text, contents)
    });
    files.collect()
}

/// Header and values of an array in numpy's format.
fn npy(file: &[u8]) -> (&str, &[u8]) {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\0");
    let length = usize::from(u16::from_le_bytes(file[8..10].try_into().unwrap()));
    assert!((10 + length).is_multiple_of(64));
    let (header, values) = file[10..].split_at(length);
    (str::from_utf8(header).unwrap().trim_end(), values)
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn tables_keep_every_cell_as_csv() {
    let place = Workplace::new();
    place.write("t.csv", TABLE);
    let expected = "id,price,the color,kind\n16777217,1.5,\"red; \"\"dark\"\"\",a\n2,,blue,b\n3,-0.25,NA,a\n4,7,blue,b\n";
    assert_eq!(String::from_utf8(converted(&place, "t.csv", "u.csv")).unwrap(), expected);
    assert_eq!(String::from_utf8(converted(&place, "u.csv", "v.csv")).unwrap(), expected);
    let outcome = convert(&place, &["t.csv", "--out", "-", "--to", "csv"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, expected));
    // Of a table that only numbers its rows, too.
    place.write("n.csv", "id\n1\n2\n3\n");
    assert_eq!(converted(&place, "n.csv", "m.csv"), b"id\n1\n2\n3\n");
}

#[test]
fn several_files_are_one_table() {
    let place = Workplace::new();
    place.write("t1.csv", "a,b\n1,x\n2,y\n");
    place.write("t2.csv", "a,b\n,z\n");
    place.write("other.csv", "b,a\nz,3\n");
    for (to, expected) in [("t.csv", "a,b\n1,x\n2,y\n,z\n"), ("u.csv", "a,b\n,z\n1,x\n2,y\n")] {
        let files = if to == "t.csv" { ["t1.csv", "t2.csv"] } else { ["t2.csv", "t1.csv"] };
        let outcome = convert(&place, &[files[0], files[1], "--out", to]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{to}");
        assert_eq!(std::fs::read_to_string(place.path(to)).unwrap(), expected);
    }
    for (second, out, part) in [
        ("other.csv", "n.csv", "other.csv, row 1: expected the header of t1.csv, a, b, found b, a"),
        ("t2.csv", "t2.csv", "--out: cannot write to t2.csv, which holds the data; choose another name"),
    ] {
        let outcome = convert(&place, &["t1.csv", second, "--out", out]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().contains(part), "{}", outcome.stderr);
    }
    assert!(!place.path("n.csv").exists());
}

#[test]
fn no_column_is_lost_by_its_name() {
    let place = Workplace::new();
    place.write("unnamed.csv", ",column0,y\n5,1,u\n9,3,v\n");
    place.write("numbers.csv", "a,a.categories,b.categories,z\n1,10,5,u\n0,20,6,v\n");
    place.write("one.csv", "a\n1\nNA\n3\n");
    for (name, expected) in [
        ("unnamed", "column0_,column0,y\n5,1,u\n9,3,v\n"),
        ("numbers", "a,a.categories,b.categories,z\n1,10,5,u\n0,20,6,v\n"),
        ("one", "a\n1\n\"\"\n3\n"),
    ] {
        assert_eq!(convert(&place, &[&format!("{name}.csv"), "--out", "t.npz"]).code, 0, "{name}");
        assert_eq!(String::from_utf8(converted(&place, "t.npz", "t.csv")).unwrap(), expected);
        std::fs::remove_file(place.path("t.csv")).unwrap();
    }
    place.write("texts.csv", "a,a.categories\nx,10\ny,20\n");
    place.write("metadata.csv", "__metadata__,b\n1,2\n");
    place.write("latin.csv", b"a,b\n1,\xe9\n");
    for (name, expected) in [
        ("texts", "error: two arrays would be called a.categories; rename a column"),
        ("metadata", "error: two arrays would be called __metadata__; rename a column"),
        ("latin", "error: latin.csv, row 2, column 2 (b): expected text in UTF-8, found "),
    ] {
        let outcome = convert(&place, &[&format!("{name}.csv"), "--out", "t.safetensors"]);
        assert_eq!((outcome.code, place.path("t.safetensors").exists()), (2, false), "{name}");
        assert!(outcome.error().starts_with(expected), "{}", outcome.stderr);
    }
}

#[test]
fn tables_become_arrays_by_the_names_of_their_columns() {
    let place = Workplace::new();
    place.write("t.csv", TABLE);
    let files = unzipped(&converted(&place, "t.csv", "t.npz"));
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "id.npy",
        "kind.categories.npy",
        "kind.npy",
        "price.npy",
        "the color.categories.npy",
        "the color.npy",
    ];
    assert_eq!(names, expected);
    let (header, values) = npy(&files["id.npy"]);
    assert_eq!(header, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }");
    assert_eq!(doubles(values), [16_777_217.0, 2.0, 3.0, 4.0]);
    let price = doubles(npy(&files["price.npy"]).1);
    assert!(price[1].is_nan() && [price[0], price[2], price[3]] == [1.5, -0.25, 7.0]);
    let codes = |bytes: &[u8]| -> Vec<i32> {
        bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let (header, values) = npy(&files["the color.npy"]);
    assert_eq!(
        (header, codes(values)),
        ("{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }", vec![0, 1, -1, 1])
    );
    let (header, values) = npy(&files["the color.categories.npy"]);
    assert_eq!(header, "{'descr': '<U11', 'fortran_order': False, 'shape': (2,), }");
    let letters: String =
        codes(values).into_iter().map(|letter| char::from_u32(letter as u32).unwrap()).collect();
    assert_eq!(letters, "red; \"dark\"blue\0\0\0\0\0\0\0");

    let bytes = converted(&place, "t.csv", "t.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let price = file.tensor("price").unwrap();
    assert_eq!((price.dtype(), price.shape()), (Dtype::F64, &[4][..]));
    assert_eq!(doubles(price.data())[2..], [-0.25, 7.0]);
    assert_eq!(codes(file.tensor("kind").unwrap().data()), [0, 1, 0, 1]);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let entry =
        |name: &str| -> Value { serde_json::from_str(&header.metadata().as_ref().unwrap()[name]).unwrap() };
    assert_eq!(entry("columns"), json!(["id", "price", "the color", "kind"]));
    assert_eq!(entry("the color.categories"), json!(["red; \"dark\"", "blue"]));

    let idx = converted(&place, "t.csv", "t.idx");
    assert_eq!(idx[..12], [0, 0, 0x0e, 2, 0, 0, 0, 4, 0, 0, 0, 4]);
    let values: Vec<f64> =
        idx[12..].chunks_exact(8).map(|word| f64::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!((&values[..4], values[10]), (&[16_777_217.0, 1.5, 0.0, 0.0][..], -1.0));
    let names: Value = serde_json::from_slice(&std::fs::read(place.path("t.idx.json")).unwrap()).unwrap();
    assert_eq!(names["columns"], entry("columns"));
    assert_eq!(names["categories"]["kind"], json!(["a", "b"]));
}

/// What is written row by row comes wholly, whatever its size.
#[test]
fn large_tables_are_written_to_the_last_cell() {
    let (rows, columns) = (257, 63);
    let place = Workplace::new();
    let cell = |row: usize, column: usize| (row * 7919 + column * 31) % 9973;
    let line = |row| (0..columns).map(|column| cell(row, column).to_string()).collect::<Vec<_>>().join(",");
    let names: Vec<String> = (0..columns).map(|column| format!("x{column}")).collect();
    let table = (0..rows).fold(names.join(",") + "\n", |table, row| table + &line(row) + "\n");
    place.write("t.csv", &table);
    assert_eq!(String::from_utf8(converted(&place, "t.csv", "u.csv")).unwrap(), table);
    let outcome = convert(&place, &["t.csv", "--out", "-", "--to", "csv"]);
    assert_eq!((outcome.code, outcome.stdout), (0, table));
    let idx = converted(&place, "t.csv", "t.idx");
    let values = idx[12..].chunks_exact(8).map(|word| f64::from_be_bytes(word.try_into().unwrap()));
    let expected = (0..rows).flat_map(|row| (0..columns).map(move |column| cell(row, column) as f64));
    assert!(values.eq(expected));
}

#[test]
fn images_go_through_every_format_and_come_back() {
    let place = Workplace::new();
    let rows = Rows::new(63, 3);
    place.write_idx("digits", &rows);
    let csv = converted(&place, "digits-images-idx3-ubyte", "digits.csv");
    assert!(csv.starts_with(b"label,pixel0,pixel1,"));
    assert_eq!(converted(&place, "digits.csv", "again-images-idx3-ubyte"), rows.images());
    assert_eq!(std::fs::read(place.path("again-labels-idx1-ubyte")).unwrap(), rows.labels());
    let files = unzipped(&converted(&place, "digits.csv", "digits.npz"));
    let (header, pixels) = npy(&files["images.npy"]);
    assert_eq!(header, "{'descr': '|u1', 'fortran_order': False, 'shape': (63,8,8,), }");
    assert_eq!((pixels, npy(&files["labels.npy"]).1), (&rows.pixels.concat()[..], &rows.classes[..]));
    let bytes = converted(&place, "digits-images-idx3-ubyte", "digits.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.tensor("images").unwrap().shape(), [63, 8, 8]);
    assert_eq!(file.tensor("images").unwrap().data(), rows.pixels.concat());
    assert_eq!(file.tensor("labels").unwrap().data(), rows.classes);
}

#[test]
fn what_cannot_be_written_is_one_line_and_leaves_nothing() {
    let place = Workplace::new();
    place.write("t.csv", TABLE);
    place.write("short.csv", "a,b\n1,2\n3\n");
    place.write("digits.csv", Rows::new(20, 3).csv());
    let before = place.entries();
    for (arguments, part) in [
        (
            &["t.csv", "--out", "t.txt"][..],
            "--out: expected a name that ends with .csv, .idx, .npz, .safetensors",
        ),
        (&["t.csv", "--out", "t.csv"], "--out: cannot write to t.csv"),
        (&["t.csv", "--out", "-", "--to", "idx"], "--out: expected a file, since IDX takes two"),
        (
            &["digits.csv", "--out", "digits.idx"],
            "expected a name with `images`, such as digits-images-idx3-ubyte",
        ),
        (&["short.csv", "--out", "s.npz"], "short.csv, row 3: expected 2 cells"),
        (&["none.csv", "--out", "s.npz"], "none.csv"),
    ] {
        let outcome = convert(&place, arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(outcome.error().contains(part), "{}", outcome.stderr);
    }
    assert_eq!(place.entries(), before);
}
