//! One table in several files.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tinytrain::data::{
    Classes, Features, ReadOptions, Reader, Scale, Selection, Source, Split, Target, Transform, locate,
};
use tinytrain::{Error, Result};

use crate::support::{assert_error, gzip, label_in};

struct Files(TempDir);

impl Files {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
        Self(folder)
    }

    fn open(&self, names: &[&str], options: &ReadOptions) -> Result<Reader> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.0.path().join(name)).collect();
        let mut reader = Reader::open(&Source::Parts { paths }, options)?;
        reader.read_to_end()?;
        Ok(reader)
    }

    fn error(&self, names: &[&str]) -> Error {
        self.open(names, &label_in("class")).err().expect("these files must not be readable")
    }
}

fn rows(range: std::ops::Range<u32>) -> String {
    range.map(|row| format!("{}.5,kind {},{}\n", row * 7 % 1000, row % (3 + row / 1000), row % 2)).collect()
}

#[test]
fn parts_are_one_table() {
    let header = "x,kind,class\n";
    let parts = [header.to_owned() + &rows(0..5000), header.replace('\n', "\r\n") + &rows(5000..5003)];
    let last = format!("\u{feff}\n\"x\",kind,\"class\"\n{}", rows(5003..9000));
    let whole = header.to_owned() + &rows(0..9000);
    let files = Files::with(&[
        ("a.csv", parts[0].trim_end().as_bytes()),
        ("b.csv", parts[1].as_bytes()),
        ("none.csv", header.as_bytes()),
        ("c.csv.gz", &gzip(last.as_bytes())),
        ("whole.csv", whole.as_bytes()),
    ]);
    let read = |names: &[&str], threads| {
        let options = ReadOptions { threads: Some(threads), ..label_in("class") };
        let mut reader = files.open(names, &options).unwrap();
        let figures = format!("{:?} {:?}", reader.summaries(), reader.encoding(Scale::Standard));
        let parts = reader.divide(&Split { validation: 0.1, test: 0.2, seed: 7, fold: None }).unwrap();
        (figures, parts, reader.into_dataset(&Transform::None).unwrap())
    };
    for threads in [1, 3] {
        assert!(read(&["a.csv", "b.csv", "none.csv", "c.csv.gz"], threads) == read(&["whole.csv"], threads));
    }
    let plain = Files::with(&[("a", b"1,2,3\n4,5,0\n"), ("b", b"7,8,1\n")]);
    let reader = plain.open(&["a", "b"], &label_in("-1")).unwrap();
    assert_eq!(
        reader.into_dataset(&Transform::Bytes).unwrap().features,
        Features::Bytes(vec![1, 2, 4, 5, 7, 8])
    );
}

#[test]
fn errors_name_the_file_and_its_own_row() {
    let many = "x,y,class\n".to_owned() + &"1,2,a\n3,4,b\n".repeat(3000);
    let files = Files::with(&[
        ("a.csv", many.as_bytes()),
        ("order.csv", b"y,x,class\n1,2,a\n"),
        ("fewer.csv", b"x,class\n1,a\n"),
        ("none.csv", b"1,2,a\n"),
        ("text.csv", b"x,y,class\n1,2,a\n\n1,inf,a\n"),
        ("long.csv", b"x,y,class\n1,2,a,3\n"),
        ("open.csv", b"x,y,class\n1,2,\"a\n"),
        ("empty.csv", b""),
        ("label.csv", b"x,y,class\n1,2,a\n5,6,c\n"),
    ]);
    for name in ["order.csv", "fewer.csv", "none.csv"] {
        let parts = [name, ", row 1: expected the header of ", "a.csv, x, y, class, found "];
        assert_error(&files.error(&["a.csv", name]), &parts);
    }
    assert_error(
        &files.error(&["a.csv", "empty.csv"]),
        &["empty.csv: expected the header of ", "an empty file"],
    );
    for (name, place) in [
        ("text.csv", "text.csv, row 4, column 2 (y): expected a finite number"),
        ("long.csv", "long.csv, row 2: expected 3 cells"),
        ("open.csv", "open.csv, row 2: expected a quote that is closed"),
        ("nowhere.csv", "nowhere.csv"),
    ] {
        assert_error(&files.error(&["a.csv", name]), &[place]);
    }
    let classes = Classes::named(["a", "b"].map(String::from).to_vec()).unwrap();
    let reader = files.open(&["a.csv", "label.csv"], &label_in("class")).unwrap();
    assert_error(
        &reader.check_labels(&classes).unwrap_err(),
        &["label.csv, row 3, column 3 (class)", "label \"c\""],
    );
}

#[test]
fn a_column_empty_in_the_first_part_has_the_type_of_the_second() {
    let files =
        Files::with(&[("a", b"x,t,class\n1,,a\n2,,b\n"), ("b", b"x,t,class\n3,,a\n4,red,b\n5,blue,b\n")]);
    let columns = Selection { target: Target::Column("class".to_owned()), ..Selection::default() };
    let reader = files.open(&["a", "b"], &ReadOptions { columns, ..ReadOptions::default() }).unwrap();
    assert_eq!(reader.schema().unwrap().categories, [1]);
    assert_eq!(reader.dictionaries()[0].text(2), Some("blue"));
}

#[test]
fn a_folder_of_parts_is_found() {
    let table: &[u8] = b"x,class\n1,a\n2,b\n";
    let files = Files::with(&[
        ("part-00001.csv", table),
        ("part-00000.csv.gz", &gzip(table)),
        ("part-00002.txt", table),
        ("_SUCCESS", b""),
        ("other.csv", table),
    ]);
    let sources = locate(files.0.path()).unwrap();
    let paths = ["part-00000.csv.gz", "part-00001.csv"].map(|name| files.0.path().join(name)).to_vec();
    assert_eq!((sources.train, sources.test), (Some(Source::Parts { paths }), None));
}
