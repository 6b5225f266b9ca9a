//! The same rows in every format, and detection of formats.

use std::fmt::Write;
use std::fs;

use proptest::prelude::*;
use tinytrain::data::{
    BLOCK_ROWS, Dataset, Features, FeaturesRef, Format, ReadOptions, Reader, Scaling, Source, Transform,
    locate,
};

use crate::support::{
    gzip, idx, label_first, label_in, mnist, open_csv, raw_values, read_csv, read_idx, zstd,
};

/// Returns the first rows of MNIST's test set, more than a block.
fn some_digits() -> Dataset {
    let test = locate(mnist()).unwrap().test.unwrap();
    let mut dataset =
        Reader::open(&test, &ReadOptions::default()).unwrap().into_dataset(&Transform::Bytes).unwrap();
    let rows = BLOCK_ROWS + 100;
    let Features::Bytes(bytes) = &mut dataset.features else { panic!("MNIST is bytes") };
    bytes.truncate(rows * dataset.inputs);
    dataset.targets = dataset.labels()[..rows].to_vec().into();
    dataset
}

/// Writes rows as CSV: the label, then the features, or the reverse.
fn to_csv(dataset: &Dataset, label_last: bool, cell: impl Fn(&str) -> String, line_end: &str) -> String {
    let Features::Bytes(bytes) = &dataset.features else { panic!("MNIST is bytes") };
    let mut text = String::new();
    for (row, label) in bytes.chunks_exact(dataset.inputs).zip(dataset.labels()) {
        let mut cells: Vec<String> = row.iter().map(|byte| cell(&byte.to_string())).collect();
        let at = if label_last { cells.len() } else { 0 };
        cells.insert(at, cell(&label.to_string()));
        write!(text, "{}{line_end}", cells.join(",")).unwrap();
    }
    text
}

fn header(names: &str) -> String {
    let pixels: Vec<String> = (0..784).map(|pixel| format!("{}x{}", pixel / 28, pixel % 28)).collect();
    format!("{}\n", names.replace("PIXELS", &pixels.join(",")))
}

#[test]
fn every_format_holds_the_same_rows() {
    let digits = some_digits();
    let plain = to_csv(&digits, false, str::to_string, "\n");
    let label_last = to_csv(&digits, true, str::to_string, "\n");
    // The first of 785 columns is the label if no other is named.
    let first = ReadOptions::default();
    for (what, bytes, options) in [
        ("plain", plain.clone().into_bytes(), first.clone()),
        ("no last line end", plain.trim_end().into(), first.clone()),
        ("CRLF", to_csv(&digits, false, str::to_string, "\r\n").into(), first.clone()),
        ("blank lines", format!("\n \n{}\n\r\n  \n", plain.replace('\n', "\n\n")).into(), first.clone()),
        ("quotes", to_csv(&digits, false, |cell| format!("\"{cell}\""), "\n").into(), first.clone()),
        ("quotes, CRLF", to_csv(&digits, false, |cell| format!("\"{cell}\""), "\r\n").into(), first.clone()),
        ("spaces", to_csv(&digits, false, |cell| format!(" {cell}\t"), "\n").into(), first.clone()),
        ("decimals", to_csv(&digits, false, |cell| format!("{cell}.0"), "\n").into(), first.clone()),
        ("header", (header("label,PIXELS") + &plain).into(), first.clone()),
        ("gzip", gzip(plain.as_bytes()), first.clone()),
        ("zstd", zstd(plain.as_bytes()), first.clone()),
        (
            "two frames of zstd",
            [zstd(&plain.as_bytes()[..70_000]), zstd(&plain.as_bytes()[70_000..])].concat(),
            first.clone(),
        ),
        (
            "two gzips in one",
            [gzip(&plain.as_bytes()[..7000]), gzip(&plain.as_bytes()[7000..])].concat(),
            first.clone(),
        ),
        ("BOM", format!("\u{feff}{plain}").into(), first.clone()),
        ("BOM, header", format!("\u{feff}{}{plain}", header("label,PIXELS")).into(), first.clone()),
        ("BOM, quotes", format!("\u{feff}\"label\",{}{plain}", header("PIXELS")).into(), label_in("label")),
        ("label last, by name", (header("PIXELS,label") + &label_last).into(), label_in("label")),
        ("label last, by index", (header("PIXELS,label") + &label_last).into(), label_in("784")),
        ("label last, no header", label_last.into_bytes(), label_in("784")),
    ] {
        let reader = open_csv(bytes, &options).unwrap();
        assert_eq!((reader.holds_images(), reader.rows()), (true, digits.rows()), "{what}");
        assert_eq!(reader.image().map(|form| (form.height, form.width)), Some((28, 28)), "{what}");
        assert!(reader.into_dataset(&Transform::Bytes).unwrap() == digits, "{what}");
    }
}

#[test]
fn a_name_goes_before_an_index() {
    let table = "7,1,0\n10,0,20\n30,1,40\n";
    let labels = |column: &str| {
        open_csv(table, &label_in(column))
            .map(|reader| reader.into_dataset(&Transform::None).unwrap().labels().to_vec())
    };
    assert_eq!(labels("1").unwrap(), [1, 0, 1], "without a header 1 is an index");
    let table = "label,2,x\n10,0,20\n30,1,40\n";
    let read =
        |column: &str| open_csv(table, &label_in(column)).unwrap().into_dataset(&Transform::None).unwrap();
    assert_eq!(read("2").labels(), [0, 1], "with a header 2 is a name");
    assert_eq!(read("2").features, Features::Floats(vec![10.0, 20.0, 30.0, 40.0]));
    for column in [" label ", "0", "-3"] {
        let reader = open_csv(table, &label_in(column)).unwrap();
        assert_eq!(
            (reader.classes().names(), reader.labels()),
            (&["10", "30"].map(String::from)[..], &[0, 1][..])
        );
    }
}

#[test]
fn idx_takes_any_shape() {
    for dimensions in [&[3, 2][..], &[3, 1, 2], &[3, 2, 1, 1]] {
        let dataset = read_idx(idx(dimensions, &[1, 2, 3, 4, 5, 6]), idx(&[3], &[0, 1, 255])).unwrap();
        let expected = Dataset {
            inputs: 2,
            features: Features::Bytes(vec![1, 2, 3, 4, 5, 6]),
            targets: vec![0, 1, 2].into(),
            weights: Vec::new(),
        };
        assert_eq!(dataset, expected, "label 255 is the third class");
    }
    let packed = read_idx(zstd(&idx(&[2, 1], &[8, 9])), gzip(&idx(&[2], &[1, 0]))).unwrap();
    assert_eq!(packed.features, Features::Bytes(vec![8, 9]));
}

/// Returns rows of 64 cells: a number of rows with each cell.
fn wide(rows: &[(usize, &str)]) -> String {
    let row = |number: usize, cell: &str| format!("{},{}\n", number % 2, vec![cell; 64].join(","));
    rows.iter().flat_map(|(count, cell)| (0..*count).map(|number| row(number, cell))).collect()
}

#[test]
fn images_are_known_by_their_form_and_by_most_of_their_rows() {
    for (rows, images) in [
        (&[(10, "200")][..], true),
        (&[(10, "128")], true),
        (&[(10, "127")], false),
        (&[(10, "256")], false),
        (&[(10, "-1")], false),
        (&[(10, "12.0"), (2, "2.55e2")], true),
        // A single row has no effect, at any place.
        (&[(1, "0.5"), (10, "200")], true),
        (&[(10, "200"), (1, "1e9")], true),
        (&[(10, "0.5"), (1, "200")], false),
        (&[(6, "200"), (5, "0.5")], true),
        (&[(5, "200"), (6, "0.5")], false),
    ] {
        let reader = open_csv(wide(rows), &label_first()).unwrap();
        assert_eq!(reader.holds_images(), images, "{rows:?}");
        assert_eq!(
            reader.image().map(|form| (form.height, form.width)),
            images.then_some((8, 8)),
            "{rows:?}"
        );
    }
    // 63 and 65 pixels are not a square; 3 x 64 are a square in colour, whose height and width are unknown.
    let columns = |count: usize| format!("0,{0}\n1,{0}\n", vec!["200"; count].join(","));
    for (count, images) in [(63, false), (65, false), (9, false), (192, true), (784, true), (12, false)] {
        assert_eq!(open_csv(columns(count), &label_first()).unwrap().holds_images(), images, "{count}");
    }
    // IDX contains images by its format, not by its values.
    assert_eq!(
        read_idx(idx(&[2, 1], &[0, 1]), idx(&[2], &[0, 1])).unwrap().features,
        Features::Bytes(vec![0, 1])
    );
}

#[test]
fn a_model_decides_how_a_test_set_is_scaled() {
    let read = |table: &str, transform: &Transform| {
        open_csv(table, &label_first()).unwrap().into_dataset(transform).unwrap()
    };
    let bytes = "0,51\n1,255\n";
    assert_eq!(read(bytes, &Transform::Bytes).features, Features::Bytes(vec![51, 255]));
    assert_eq!(read(bytes, &Transform::Bytes).row(0), [0.2]);
    assert_eq!(read(bytes, &Transform::None).features, Features::Floats(vec![51.0, 255.0]));
    assert_eq!(read(bytes, &Transform::None).row(1), [255.0]);
    let floats = "0,-51\n1,127.5\n";
    assert_eq!(read(floats, &Transform::Bytes).features, Features::Floats(vec![-0.2, 0.5]));
    assert_eq!(read(floats, &Transform::None).features, Features::Floats(vec![-51.0, 127.5]));
    // Small whole numbers, which a model for pixels nevertheless reads as dark pixels.
    assert_eq!(read("0,1\n1,2\n", &Transform::Bytes).features, Features::Bytes(vec![1, 2]));
}

#[test]
fn bytes_become_floats_when_the_first_float_comes() {
    let value = |row: usize| if row >= BLOCK_ROWS + 5 { row as f32 + 0.5 } else { (row * 9 % 256) as f32 };
    let rows = 3 * BLOCK_ROWS;
    let table: String = (0..rows).map(|row| format!("{},{},7\n", row % 3, value(row))).collect();
    let first = open_csv(table[..200].rsplit_once('\n').unwrap().0, &label_first()).unwrap();
    assert!(first.has_bytes());
    let (features, labels) = first.block(10..12, Scaling::Bytes);
    assert_eq!((features, labels), (FeaturesRef::Bytes(&[90, 7, 99, 7]), &[1, 2][..]));
    let (features, _) = first.block(10..12, Scaling::AsIs);
    assert_eq!(features, FeaturesRef::Floats(vec![90.0, 7.0, 99.0, 7.0].into()));
    let reader = open_csv(table, &label_first()).unwrap();
    assert_eq!((reader.rows(), reader.has_bytes()), (rows, false));
    let (features, _) = reader.block(BLOCK_ROWS + 5..BLOCK_ROWS + 6, Scaling::Bytes);
    assert_eq!(features, FeaturesRef::Floats(vec![value(BLOCK_ROWS + 5) / 255.0, 7.0 / 255.0].into()));
    let dataset = reader.into_dataset(&Transform::None).unwrap();
    let expected: Vec<f32> = (0..rows).flat_map(|row| [value(row), 7.0]).collect();
    assert!(dataset.features == Features::Floats(expected));
    assert!(dataset.labels().iter().enumerate().all(|(row, label)| *label as usize == row % 3));
    assert_eq!(dataset.rows(), rows);
}

#[test]
fn a_header_is_a_row_with_a_cell_that_is_not_a_number() {
    assert_eq!(raw_values("1,2\n0,3\n"), [2.0, 3.0]);
    assert_eq!(raw_values("label,2\n1,4\n0,3\n"), [4.0, 3.0]);
    assert_eq!(raw_values(",x\n1,4\n0,3\n"), [4.0, 3.0], "empty cells may stand in a header");
    assert_eq!(raw_values("\"a \"\"b\"\"\",\"c\nd\"\n1,4\n0,3\n"), [4.0, 3.0]);
    assert_eq!(raw_values("a 5\" disk,x\n1,4\n0,3\n"), [4.0, 3.0], "a quote within a cell opens nothing");
}

#[test]
fn lone_carriage_returns_end_lines_too() {
    assert_eq!(raw_values("1,2\r0,3\r"), [2.0, 3.0]);
}

#[test]
fn files_are_known_by_their_bytes_not_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        let source = locate(&path).unwrap().train.unwrap();
        assert_eq!(source, Source::Csv { path });
        Reader::open(&source, &label_first()).unwrap().into_dataset(&Transform::None).unwrap()
    };
    let table = b"0,1\n1,2\n";
    assert_eq!(read("packed.csv", &gzip(table)), read("raw.csv.gz", table));
}

fn cell() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (0u8..=255).prop_map(f32::from),
        1 => (-1000i32..1000).prop_map(|value| value as f32),
        1 => proptest::num::f32::NORMAL | proptest::num::f32::SUBNORMAL | proptest::num::f32::ZERO,
    ]
}

proptest! {
    #[test]
    fn any_table_reads_back_exactly(
        (inputs, values) in (1usize..6).prop_flat_map(|inputs| {
            (Just(inputs), prop::collection::vec(cell(), inputs * 2..inputs * 30))
        }),
        with_header: bool,
        crlf: bool,
        quoted: bool,
        label_at in 0usize..6,
        greatest in -70_000i64..=-1,
    ) {
        let label_at = label_at.min(inputs);
        let rows: Vec<&[f32]> = values.chunks_exact(inputs).collect();
        let labels: Vec<i64> = (0..rows.len() as i64).map(|row| if row == 0 { 0 } else { greatest - row % greatest }).collect();
        let mut writer = csv::WriterBuilder::new()
            .terminator(if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') })
            .quote_style(if quoted { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary })
            .from_writer(Vec::new());
        if with_header {
            let name = |column| if column == label_at { "the \"label\"".into() } else { format!("x,{column}") };
            writer.write_record((0..=inputs).map(name)).unwrap();
        }
        for (row, label) in rows.iter().zip(&labels) {
            let mut cells: Vec<String> = row.iter().map(f32::to_string).collect();
            cells.insert(label_at, label.to_string());
            writer.write_record(cells).unwrap();
        }
        let column = if with_header { "the \"label\"".to_string() } else { label_at.to_string() };
        // Random columns may count up or look like a header, so all options are given.
        let mut options = label_in(&column);
        options.columns.only = (0..=inputs).filter(|column| *column != label_at).map(|column| column.to_string()).collect();
        options.format.header = Some(with_header);
        let reader = open_csv(writer.into_inner().unwrap(), &options).unwrap();
        let all_bytes = rows.concat().iter().all(|value| value.fract() == 0.0 && (0.0..=255.0).contains(value));
        prop_assert_eq!(reader.has_bytes(), all_bytes);
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let names: Vec<String> = sorted.iter().map(i64::to_string).collect();
        prop_assert_eq!(reader.classes().names(), &names[..]);
        let dataset = reader.into_dataset(&Transform::None).unwrap();
        let found: Vec<i64> = dataset.labels().iter().map(|label| sorted[*label as usize]).collect();
        prop_assert_eq!(&found, &labels);
        prop_assert_eq!(dataset.inputs, inputs);
        prop_assert_eq!(dataset.features, Features::Floats(rows.concat()));
    }
}

#[test]
fn labels_are_classes_in_the_order_of_their_values() {
    let expected = Dataset {
        inputs: 2,
        features: Features::Bytes(vec![0, 17, 255, 3]),
        targets: vec![1, 0].into(),
        weights: Vec::new(),
    };
    assert_eq!(read_csv("4,0,17\n2,255,3\n"), expected);
}

#[test]
fn thousands_are_read_where_they_are_beyond_doubt() {
    let expected = [123_456.75, 2.0, 999.5, 1234.0, -12_000.25, 7.0];
    for table in [
        "class,a,b\n0,\"123,456.75\",2\n1,999.5,\"1,234\"\n0,\"-12,000.25\",7\n",
        "class;a;b\n0;123.456,75;2\n1;999,5;1.234\n0;-12.000,25;7\n",
        "class\ta\tb\n0\t123,456.75\t2\n1\t999.5\t1,234\n0\t-12,000.25\t7\n",
    ] {
        assert_eq!(raw_values(table), expected, "{table}");
    }
    // A possible fraction causes a question, and is read according to the option.
    let doubtful = "class,a\n0,\"1,234\"\n1,\"5,678\"\n0,\"9,012\"\n";
    let error = open_csv(doubtful, &label_first()).err().unwrap();
    assert!(error.to_string().contains("a fraction, or are these thousands?"), "{error}");
    for (decimal, first) in [(b'.', 1234.0), (b',', 1.234)] {
        let format = Format { decimal: Some(decimal), ..Format::default() };
        let reader = open_csv(doubtful, &ReadOptions { format, ..label_first() }).unwrap();
        let dataset = reader.into_dataset(&Transform::None).unwrap();
        assert_eq!(dataset.row(0), [first]);
    }
}
