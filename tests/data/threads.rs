//! Data and errors are the same on any number of threads.

use std::fmt::Write;
use std::io::{self, Cursor, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tinytrain::Result;
use tinytrain::data::{Classes, Dictionary, ReadOptions, Reader, Scale, Selection, Split, Target};

use crate::support::{assert_error, gzip};

const ROWS: u32 = 20_000;

/// Numbers, categories with new ones up to the end, groups, labels with a late one, and quotes that contain
/// line ends: more than a megabyte.
fn table() -> String {
    let mut text = "x,kind,person,note,class\n".to_owned();
    for row in 0..ROWS {
        let spread = row.wrapping_mul(2_654_435_761) >> 7;
        let number = f64::from(spread) / 1000.0 - 10_000.0;
        let (kind, person) = (spread % (2 + row / 50), spread % 997);
        let person = if row % 31 == 0 { String::new() } else { format!("p{person}") };
        let note = ["plain", "\"of \"\"two\"\"\nlines\"", "", "\"a, b\""][spread as usize / 3 % 4];
        let class = if row > 19_000 { spread % 4 } else { 1 + spread % 3 };
        writeln!(text, "{number},kind {kind},{person},{note},{class}").unwrap();
    }
    text
}

fn open(text: &[u8], threads: Option<usize>) -> Result<Reader> {
    let columns = Selection {
        target: Target::Column("class".to_owned()),
        group: Some("person".to_owned()),
        ..Selection::default()
    };
    let options = ReadOptions { columns, threads, ..ReadOptions::default() };
    Reader::from_csv(Path::new("t.csv"), Cursor::new(text.to_vec()), &options)
}

/// All data read.
#[derive(Debug, PartialEq)]
struct Read {
    rows: (usize, bool, Classes, Vec<Dictionary>),
    labels: Vec<u32>,
    figures: String,
    parts: String,
}

fn read(text: &[u8], threads: Option<usize>) -> Result<Read> {
    let mut reader = open(text, threads)?;
    assert!(reader.is_complete());
    let dictionaries = reader.dictionaries().to_vec();
    let rows = (reader.rows(), reader.has_bytes(), reader.classes().clone(), dictionaries);
    let labels = reader.labels().to_vec();
    let figures = format!("{:?} {:?}", reader.summaries(), reader.encoding(Scale::Robust));
    let parts = format!("{:?}", reader.divide(&Split { validation: 0.1, test: 0.2, seed: 3, fold: None })?);
    Ok(Read { rows, labels, figures, parts })
}

#[test]
fn a_table_is_the_same_on_any_number_of_threads() {
    let text = table();
    let expected = read(text.as_bytes(), Some(1)).unwrap();
    let (_, _, classes, dictionaries) = &expected.rows;
    assert_eq!(dictionaries[0].text(1), Some("kind 0"));
    assert!(dictionaries[0].numbers() > 300 && classes.len() == 4);
    for threads in [Some(0), Some(2), Some(3), Some(7), None] {
        assert!(read(text.as_bytes(), threads).unwrap() == expected, "{threads:?}");
        assert!(read(&gzip(text.as_bytes()), threads).unwrap() == expected, "{threads:?}");
    }
}

/// Images, and faults after the last of them.
#[test]
fn images_are_the_same_without_a_thread() {
    let idx = |dimensions: &[u32], values: usize| {
        let mut file = vec![0, 0, 8, dimensions.len() as u8];
        dimensions.iter().for_each(|size| file.extend(size.to_be_bytes()));
        file.extend((0..values).map(|value| (value * 7 % 10) as u8));
        file
    };
    let read = |threads, images: Vec<u8>| {
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let labels = Cursor::new(idx(&[10_000], 10_000));
        let [images_name, labels_name] = ["i", "l"].map(Path::new);
        let mut reader = Reader::from_idx(images_name, Cursor::new(images), labels_name, labels, &options)?;
        let mut blocks = Vec::new();
        while reader.next_block()? {
            blocks.push(format!("{:?}", reader.take_block()));
        }
        Ok::<_, tinytrain::Error>(blocks)
    };
    let whole = idx(&[10_000, 2, 3], 60_000);
    let expected = read(None, whole.clone()).unwrap();
    assert_eq!(expected.len(), 3);
    assert_eq!(read(Some(0), whole.clone()).unwrap(), expected);
    let (cut, longer) = (whole[..whole.len() - 5000].to_vec(), [&whole[..], b"x"].concat());
    for broken in [cut, longer] {
        let errors = [None, Some(0)].map(|threads| read(threads, broken.clone()).unwrap_err().to_string());
        assert_eq!(errors[0], errors[1]);
    }
}

#[test]
fn the_first_error_of_the_file_is_reported() {
    let text = table();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let with = |faults: &[(usize, &str)]| {
        let mut lines = lines.clone();
        faults.iter().for_each(|(line, fault)| lines.insert(*line, fault));
        lines.concat()
    };
    // Far apart, so that threads find them at the same time.
    let late = [(20_000, "x,kind 1,,,1\n"), (15_000, "1,kind 1,,,1,\n"), (11_000, "1,2,,,1\n")];
    for (text, place) in [
        // A number among text is not an error.
        (with(&late), "row 15002: expected 5 cells"),
        (with(&late[..2]), "row 15001: expected 5 cells"),
        (with(&late[..1]), "row 20001, column 1 (x): expected a number, as in 20000 other rows"),
        (with(&[(12_000, "1,kind 1,,\"open,1\n")]), "row 12001"),
    ] {
        let expected = read(text.as_bytes(), Some(1)).unwrap_err();
        assert_error(&expected, &["t.csv, ", place]);
        for threads in [Some(0), Some(2), Some(7)] {
            assert_eq!(read(text.as_bytes(), threads).unwrap_err().to_string(), expected.to_string());
        }
    }
}

#[test]
fn a_label_too_many_is_found_on_any_number_of_threads() {
    let mut text = "x,class\n".to_owned();
    (0..70_000).for_each(|row| writeln!(text, "{row}.5,n{}", row / 3 * 3 % 67_000).unwrap());
    (0..70_000).for_each(|row| writeln!(text, "{row}.5,n{}", row % 67_000).unwrap());
    let columns = Selection { target: Target::Column("class".to_owned()), ..Selection::default() };
    for threads in [Some(1), Some(4)] {
        let options = ReadOptions { columns: columns.clone(), threads, ..ReadOptions::default() };
        let error = Reader::from_csv(Path::new("t"), Cursor::new(text.clone()), &options).err().unwrap();
        // A third of the numbers occur in the first 70,000 rows.
        assert_error(&error, &["t, row 134806, column 2 (class): expected at most 65536 different labels"]);
    }
}

/// Endless rows; reading beyond this number of bytes panics.
struct Endless {
    bytes: usize,
    most: usize,
    /// Held as long as reading is possible.
    _held: Arc<()>,
}

impl io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(self.bytes < self.most, "on purpose");
        let row = b"1.5,2.5,yes\n";
        let count = (buffer.len() / row.len()).min(1000) * row.len();
        buffer[..count].chunks_exact_mut(row.len()).for_each(|to| to.copy_from_slice(row));
        self.bytes += count;
        Ok(count)
    }
}

/// Returns a reader of rows to predict, whose types need no further rows.
fn endless(most: usize, threads: usize, held: &Arc<()>) -> Reader {
    let columns = Selection { target: Target::Column("class".to_owned()), ..Selection::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let like =
        Reader::from_bytes(Path::new("t"), *b"a,b,class\n1.5,2.5,yes\n2.5,3.5,no\n", &options).unwrap();
    let columns =
        Selection { target: Target::Absent, schema: like.schema().cloned(), ..Selection::default() };
    let options = ReadOptions { columns, threads: Some(threads), ..ReadOptions::default() };
    let rows = Endless { bytes: 0, most, _held: Arc::clone(held) };
    Reader::from_csv(Path::new("t"), Cursor::new(b"a,b,class\n").chain(rows), &options).unwrap()
}

#[test]
fn threads_end_when_the_reader_is_dropped() {
    for threads in [1, 2, 5] {
        let held = Arc::new(());
        let mut reader = endless(usize::MAX, threads, &held);
        assert!(reader.next_block().unwrap());
        drop(reader);
        let begun = Instant::now();
        while Arc::strong_count(&held) > 1 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{threads} threads still read");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_thread_that_panics_ends_the_reader_and_the_others() {
    for threads in [1, 2, 5] {
        let held = Arc::new(());
        let mut reader = endless(5 << 20, threads, &held);
        let end = catch_unwind(AssertUnwindSafe(|| reader.read_to_end()));
        let panic = end.expect_err("what a thread panics with reaches the reader");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"), "{threads} threads");
    }
}
