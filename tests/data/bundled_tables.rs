//! The bundled tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tinytrain::data::{Contents, ReadOptions, Reader, Selection, Source, Target};

struct Table {
    name: &'static str,
    /// Number of numeric columns.
    columns: usize,
    label: &'static str,
    /// Number of rows of each class.
    classes: &'static [(&'static str, usize)],
}

const TABLES: [Table; 4] = [
    Table {
        name: "iris",
        columns: 4,
        label: "species",
        classes: &[("setosa", 50), ("versicolor", 50), ("virginica", 50)],
    },
    Table {
        name: "wine",
        columns: 13,
        label: "class",
        classes: &[("class_0", 59), ("class_1", 71), ("class_2", 48)],
    },
    Table {
        name: "breast_cancer",
        columns: 30,
        label: "diagnosis",
        classes: &[("benign", 357), ("malignant", 212)],
    },
    Table {
        name: "digits",
        columns: 64,
        label: "digit",
        classes: &[
            ("0", 178),
            ("1", 182),
            ("2", 177),
            ("3", 183),
            ("4", 181),
            ("5", 182),
            ("6", 181),
            ("7", 179),
            ("8", 174),
            ("9", 180),
        ],
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tables")
}

#[test]
fn files_have_the_sums_that_are_published() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for name in TABLES.iter().map(|table| table.name).chain(["diabetes", "penguins"]) {
        let bytes = fs::read(folder().join(format!("{name}.csv"))).unwrap();
        let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let line = readme.lines().find(|line| line.starts_with(&format!("| `{name}.csv`"))).unwrap();
        assert!(line.contains(&sum), "{name}: {sum}");
    }
}

#[test]
fn rows_columns_and_classes_are_as_described() {
    for Table { name, columns, label, classes } in TABLES {
        let text = fs::read_to_string(folder().join(format!("{name}.csv"))).unwrap();
        let mut lines = text.lines().map(|line| line.rsplit_once(',').unwrap());
        let (names, last) = lines.next().unwrap();
        assert_eq!((names.split(',').count(), last), (columns, label), "{name}");
        let mut counts = BTreeMap::new();
        for (values, class) in lines {
            let values: Vec<f64> = values.split(',').map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(values.len(), columns, "{name}");
            *counts.entry(class).or_insert(0) += 1;
        }
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), classes, "{name}");
    }
}

#[test]
fn values_and_text_are_as_described() {
    let open = |name: &str, target: Target| {
        let path = folder().join(format!("{name}.csv"));
        let columns = Selection { target, infer_values: true, ..Selection::default() };
        let mut reader =
            Reader::open(&Source::Csv { path }, &ReadOptions { columns, ..ReadOptions::default() }).unwrap();
        reader.read_to_end().unwrap();
        reader
    };
    let diabetes = open("diabetes", Target::Column("progression".to_owned()));
    assert_eq!((diabetes.rows(), diabetes.inputs(), diabetes.values()), (442, 10, 1));
    let penguins = open("penguins", Target::Column("species".to_owned()));
    assert_eq!((penguins.rows(), penguins.inputs(), penguins.classes().len()), (344, 7, 3));
    let columns = penguins.summaries();
    let missing: Vec<usize> = columns.iter().map(|column| column.missing).collect();
    assert_eq!(missing, [0, 2, 2, 2, 2, 11, 0]);
    let categories = |name: &str, rows| (name.to_owned(), rows);
    assert_eq!(
        columns[0].contents,
        Contents::Categories(vec![
            categories("Biscoe", 168),
            categories("Dream", 124),
            categories("Torgersen", 52)
        ])
    );
    assert_eq!(columns[6].contents, Contents::Numbers { least: 2007.0, median: 2008.0, greatest: 2009.0 });
}
