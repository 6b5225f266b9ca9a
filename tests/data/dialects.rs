//! Tables written by Python's csv module, in every dialect.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tinytrain::data::{ReadOptions, Reader, Scaling, Source, TargetsRef};

use crate::support::label_in;

/// A table of inputs, and its expected contents.
struct Table {
    numbers: Vec<Vec<f32>>,
    texts: Vec<Vec<Option<String>>>,
    labels: Vec<String>,
}

impl Table {
    fn of(json: &[u8]) -> Self {
        let holds: Value = serde_json::from_slice(json).unwrap();
        let columns =
            |name: &str| -> Vec<Vec<String>> { serde_json::from_value(holds[name].clone()).unwrap() };
        let number = |text: &String| if text.is_empty() { f32::NAN } else { text.parse().unwrap() };
        let text = |text: &String| Some(text.trim_ascii().to_owned()).filter(|text| !text.is_empty());
        Self {
            numbers: columns("numbers").iter().map(|column| column.iter().map(number).collect()).collect(),
            texts: columns("texts").iter().map(|column| column.iter().map(text).collect()).collect(),
            labels: serde_json::from_value(holds["labels"].clone()).unwrap(),
        }
    }

    fn check(&self, reader: &Reader) {
        let rows = self.labels.len();
        assert_eq!(reader.rows(), rows);
        assert_eq!(reader.inputs(), self.numbers.len() + self.texts.len());
        let view = reader.view(Scaling::AsIs);
        let values = match view.scaled(0..rows) {
            tinytrain::data::FeaturesRef::Floats(floats) => floats.into_owned(),
            tinytrain::data::FeaturesRef::Bytes(_) => panic!("values as they are must be floats"),
        };
        let TargetsRef::Classes(classes) = view.targets else { panic!("labels are classes") };
        for (row, values) in values.chunks_exact(reader.inputs()).enumerate() {
            let (numbers, texts) = values.split_at(self.numbers.len());
            for (found, expected) in numbers.iter().zip(&self.numbers) {
                let same = found == &expected[row] || found.is_nan() && expected[row].is_nan();
                assert!(same, "row {row}: {found} {}", expected[row]);
            }
            for ((found, dictionary), expected) in texts.iter().zip(reader.dictionaries()).zip(&self.texts) {
                assert_eq!(dictionary.text(*found as u32), expected[row].as_deref(), "row {row}");
            }
            assert_eq!(reader.classes().name(classes[row]), self.labels[row]);
        }
    }
}

#[test]
fn output_of_python_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dialects.py");
    let Ok(ran) = Command::new("python3").arg(script).arg(folder.path()).status() else {
        println!("nothing tested: there is no python3 here");
        return;
    };
    assert!(ran.success());
    let mut checked = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        println!("{}", path.display());
        let expected = Table::of(&fs::read(path.with_extension("json")).unwrap());
        for threads in [1, 3] {
            let options = ReadOptions { threads: Some(threads), ..label_in("class") };
            let mut reader = Reader::open(&Source::Csv { path: path.clone() }, &options).unwrap();
            reader.read_to_end().unwrap();
            expected.check(&reader);
        }
        checked += 1;
    }
    assert_eq!(checked, 124);
}
