//! Tables are read as by the `csv` crate, whatever the pieces.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use proptest::prelude::*;

use super::*;
use crate::data::dialect::number::is_missing;
use crate::data::{FeaturesRef, Format, ReadOptions, Reader, Scaling, Selection, Target};

/// A cell of a column of numbers, of texts, or of labels, in the spelling of some program.
fn cell(column: usize) -> BoxedStrategy<String> {
    let number = prop_oneof![
        6 => "-?[0-9]{1,4}(\\.[0-9]{0,5})?",
        2 => "[0-9]{1,3}",
        1 => "-?[0-9]{6,12}\\.[0-9]{1,12}",
        1 => "[+-]?[0-9]{0,2}\\.[0-9]{1,3}(e-?[0-9])?",
        1 => prop::sample::select(vec!["", "NA", " 7 ", "\"1.5\"", "-0", "1e30", "\"\"", "\" 8\"", "00012.50", "9.9999999"]).prop_map(str::to_owned),
    ];
    let text = prop_oneof![
        4 => "[ab]{1,2}",
        1 => prop::sample::select(vec![
            "", "NA", "\"a,b\"", "\"a\nb\"", "\"a\"\"b\"", "\"\r\n\"", "a\"b", " a ", "\"a\"b", "\"\n\n\"", "\"\"\"\"", "x\u{e9}",
        ]).prop_map(str::to_owned),
    ];
    match column {
        0 | 1 => number.boxed(),
        2 => text.boxed(),
        _ => "[xyz]".boxed(),
    }
}

fn tables() -> impl Strategy<Value = (String, usize)> {
    let row = (cell(0), cell(1), cell(2), cell(3)).prop_map(|(a, b, c, d)| format!("{a},{b},{c},{d}"));
    let ends = prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n", "\n  \n"]);
    (prop::collection::vec(row, 1..120), ends, any::<bool>(), 1..5usize).prop_map(
        |(rows, end, ends, threads)| {
            // With fractions, so that leading zeros do not make codes.
            let first = ["n,m,text,class", "1.5,2.5,a,x", "2.5,NA,b,y"].join(end);
            (format!("{first}{end}{}{}", rows.join(end), if ends { end } else { "" }), threads)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn tables_are_those_of_one_csv_reader((text, threads) in tables()) {
        let columns = Selection { target: Target::Column("class".to_owned()), ..Selection::default() };
        let options = ReadOptions { columns, threads: Some(threads), ..ReadOptions::default() };
        let mut reader = Reader::from_csv(Path::new("t"), Cursor::new(text.clone()), &options).unwrap();
        reader.read_to_end().unwrap();
        let mut rows = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let rows: Vec<ByteRecord> = rows.byte_records().map(Result::unwrap).filter(|row| row.len() > 1).collect();
        let mut numbers: [HashMap<Vec<u8>, u32>; 2] = Default::default();
        let mut number = |of: usize, first, cell: &[u8]| {
            let next = numbers[of].len() as u32 + first;
            *numbers[of].entry(cell.trim_ascii().to_vec()).or_insert(next)
        };
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        for row in &rows {
            for cell in [&row[0], &row[1]] {
                let text = str::from_utf8(cell.trim_ascii()).unwrap();
                inputs.push(if is_missing(cell) { f32::NAN } else { text.parse::<f32>().unwrap() + 0.0 });
            }
            inputs.push(if is_missing(&row[2]) { 0.0 } else { number(0, 1, &row[2]) as f32 });
            labels.push(number(1, 0, &row[3]));
        }
        let (features, classes) = reader.block(0..reader.rows(), Scaling::AsIs);
        let FeaturesRef::Floats(values) = features else { panic!("there are fractions") };
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&values), bits(&inputs));
        prop_assert_eq!(classes.len(), labels.len());
        for (class, label) in classes.iter().zip(&labels) {
            let first = labels.iter().position(|other| other == label).unwrap();
            prop_assert_eq!(*class, classes[first]);
            prop_assert_eq!(reader.classes().name(*class).as_bytes(), &rows[first][3]);
        }
    }
}

/// The end of a number is not the end of its cell if the delimiter may be part of a number.
#[test]
fn a_delimiter_is_no_part_of_a_number() {
    let read = |text: &str, format: Format| {
        let columns = Selection { target: Target::Column("y".to_owned()), ..Selection::default() };
        let options = ReadOptions { columns, format, ..ReadOptions::default() };
        let mut reader = Reader::from_csv(Path::new("t"), Cursor::new(text.to_owned()), &options)?;
        reader.read_to_end()?;
        let FeaturesRef::Floats(values) = reader.block(0..reader.rows(), Scaling::AsIs).0 else {
            panic!("there are fractions")
        };
        Ok::<_, Error>(values.into_owned())
    };
    let commas = Format { decimal: Some(b','), ..Format::default() };
    let start = "a,b,y\n\"0,25\",4,p\n\"1,5\",7,q\n";
    assert_eq!(read(start, commas.clone()).unwrap(), [0.25, 4.0, 1.5, 7.0]);
    let error = read(&format!("{start}3,4,5,p\n"), commas).unwrap_err().to_string();
    assert!(error.starts_with("t, row 4: expected 3 cells") && error.ends_with("found 4"), "{error}");
    let hyphens = Format { delimiter: Some(b'-'), ..Format::default() };
    let values = read("a-b-y\n-0.5-p\n1-2-q\n-5-p\n", hyphens).unwrap();
    assert!(values[0].is_nan() && values[4].is_nan(), "{values:?}");
    assert_eq!([&values[1..4], &values[5..]].concat(), [0.5, 1.0, 2.0, 5.0]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn numbers_are_those_of_the_standard_library(text in "[-+0-9.eEinfa_ ]{0,12}") {
        let finite = |number: Option<f32>| number.filter(|number| number.is_finite()).map(f32::to_bits);
        prop_assert_eq!(finite(fast_float2::parse(&text).ok()), finite(text.parse().ok()));
    }
}
