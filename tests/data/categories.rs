//! Columns of categories, missing values, and ignored columns.

use std::io::Cursor;
use std::path::Path;

use tinytrain::Error;
use tinytrain::data::{
    BLOCK_ROWS, Features, Format, IgnoredBecause, ReadOptions, Reader, Scale, Selection, Source, Target,
    Transform,
};

use crate::support::{assert_error, label_in, open_csv};

fn options(columns: Selection) -> ReadOptions {
    let target = Target::Column("class".to_owned());
    ReadOptions { columns: Selection { target, ..columns }, ..ReadOptions::default() }
}

fn open(table: &str, columns: Selection) -> Reader {
    open_csv(table, &options(columns)).unwrap()
}

fn error(table: &str, columns: Selection) -> Error {
    open_csv(table, &options(columns)).err().expect("this table must not be readable")
}

/// Returns the inputs of a network, encoded by statistics of the rows themselves.
fn inputs(reader: Reader, scale: Scale) -> Vec<f32> {
    let encoding = reader.encoding(scale);
    let dataset = reader.into_dataset(&Transform::Columns(encoding)).unwrap();
    match dataset.features {
        Features::Floats(values) => values,
        Features::Bytes(_) => panic!("inputs are floats"),
    }
}

#[test]
fn text_is_categories_and_numbers_are_numbers() {
    let reader = open("a,colour,class,b\n1,red,x,5\n2,blue,y,NA\n3,,x,7\n4,red,y,9\n", Selection::default());
    let schema = reader.schema().unwrap();
    assert_eq!((schema.categories.clone(), reader.inputs()), (vec![1], 3));
    assert_eq!(reader.dictionaries()[0].text(1), Some("red"));
    #[rustfmt::skip]
    let expected = [
        1.0, 0.0, 1.0, 0.0, 5.0, 0.0,
        2.0, 1.0, 0.0, 0.0, 7.0, 1.0,
        3.0, 0.0, 0.0, 1.0, 7.0, 0.0,
        4.0, 0.0, 1.0, 0.0, 9.0, 0.0,
    ];
    assert_eq!(inputs(reader, Scale::None), expected);
}

#[test]
fn every_word_for_a_missing_value_is_one() {
    let words = ["", " ", "NA", "n/a", "NaN", "null", "?", "-", "\\N", "#N/A", "<NA>", "nat"];
    let rows: String = words.iter().map(|word| format!("{word},{word},x\n")).collect();
    let table = format!("a,b,class\n1.5,red,y\n2.5,blue,x\n3.5,red,y\n{rows}");
    let reader = open(&table, Selection::default());
    let values = inputs(reader, Scale::None);
    assert_eq!(values.len(), 5 * (3 + words.len()));
    for row in values.chunks_exact(5).skip(3) {
        assert_eq!(row, [2.5, 1.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn markers_of_missing_values_can_be_chosen() {
    let table = "a,b,c,class\n1,-999,red,x\n-999.0,0,none,y\n7,4,blue,x\n";
    let format = Format { missing: vec!["-999".to_owned(), "none".to_owned()], ..Format::default() };
    let read = ReadOptions { format, ..options(Selection::default()) };
    let reader = open_csv(table, &read).unwrap();
    let schema = reader.schema().unwrap().clone();
    assert_eq!(schema.missing, ["-999", "none"]);
    #[rustfmt::skip]
    let expected = [
        1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 0.0,
        4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        7.0, 0.0, 4.0, 0.0, 1.0, 0.0, 0.0,
    ];
    let encoding = Transform::Columns(reader.encoding(Scale::None));
    assert_eq!(inputs(reader, Scale::None), expected);
    // Reading similar tables needs no options for columns.
    let like = Selection { schema: Some(schema), target: Target::Absent, ..Selection::default() };
    let read = ReadOptions { columns: like, ..ReadOptions::default() };
    let other = open_csv("c,b,a\nnone,-999,1\n", &read).unwrap().into_dataset(&encoding).unwrap();
    assert_eq!(other.features, Features::Floats(vec![1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0]));
}

#[test]
fn numbers_are_categories_on_request() {
    let table = "code,class\n10,x\n2,y\n10.0,x\nA,y\n";
    let categorical = Selection { categorical: vec!["code".to_owned()], ..Selection::default() };
    assert_eq!(
        inputs(open(&table[..table.len() - 4], categorical.clone()), Scale::Auto),
        [1.0, -1.0, 1.0],
        "10 and 10.0 are one number"
    );
    let reader = open(table, categorical);
    #[rustfmt::skip]
    let expected = [
        0.0, 1.0, 0.0, 0.0,
        1.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 1.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
    ];
    assert_eq!(inputs(reader, Scale::Auto), expected, "beside text they are text");
}

#[test]
fn a_column_of_text_and_numbers_is_categories() {
    let table = |late: &str| {
        let rows: String =
            (0..300).map(|row| format!("{},{},x\n{},blue,y\n", row % 7, "red", row % 5)).collect();
        format!("a,b,class\n{rows}{late}")
    };
    // A single one among many rows is a mistake.
    assert_error(
        &error(&table("many,red,x\n"), Selection::default()),
        &["t.csv, row 602, column 1 (a)", "expected a number, as in 600 other rows", "found \"many\""],
    );
    for (table, line) in [
        (table("1,17,x\n"), "column b holds numbers and text (\"17\" in t.csv, row 602)"),
        ("a,class\n1,x\nA1,y\n3,x\n".to_owned(), "column a holds numbers and text (\"A1\" in t.csv, row 3)"),
    ] {
        let reader = open(&table, Selection::default());
        let lines: Vec<String> = reader.mixed_columns().iter().map(ToString::to_string).collect();
        assert!(lines.len() == 1 && lines[0].starts_with(line), "{lines:?}");
        assert_eq!(reader.schema().unwrap().categories.len(), reader.dictionaries().len());
    }
    let categorical = Selection { categorical: vec!["b".to_owned()], ..Selection::default() };
    assert_eq!(open(&table("1,17,x\n"), categorical).rows(), 601);
    let strict = Selection { refuse_missing: true, ..Selection::default() };
    for (late, column) in [(",red,x\n", "column 1 (a)"), ("1,NA,x\n", "column 2 (b)")] {
        assert_error(
            &error(&table(late), strict.clone()),
            &["row 602", column, "--missing error refuses missing values"],
        );
    }
}

#[test]
fn numbers_of_categories_count_on_from_block_to_block() {
    let colour = |row: usize| format!("colour{}", row / 1000);
    let rows: String = (0..3 * BLOCK_ROWS).map(|row| format!("{},{}\n", colour(row), row % 2)).collect();
    let table = format!("colour,class\n{rows}");
    let columns = Selection { categorical: vec!["colour".to_owned()], ..Selection::default() };
    let schema = open(&table, columns.clone()).schema().cloned();
    let alone = Selection { target: Target::Absent, schema, ..Selection::default() };
    let unlabelled = ReadOptions { columns: alone, ..ReadOptions::default() };
    let mut reader = Reader::from_csv(Path::new("t.csv"), Cursor::new(table), &unlabelled).unwrap();
    let mut row = 0;
    while reader.next_block().unwrap() {
        let Features::Bytes(numbers) = reader.take_block().features else {
            panic!("few categories are bytes")
        };
        for number in numbers {
            assert_eq!(reader.dictionaries()[0].text(number.into()), Some(&colour(row)[..]), "{row}");
            row += 1;
        }
    }
    assert_eq!(row, 3 * BLOCK_ROWS);
    // More than 255 categories do not fit in bytes.
    let rows: String = (0..2 * BLOCK_ROWS).map(|row| format!("c{},{}\n", row % 300, row % 2)).collect();
    let reader = open(&format!("colour,class\n{rows}"), columns);
    assert_eq!(reader.encoding(Scale::Auto).inputs(), 300);
}

#[test]
fn text_that_is_another_one_in_most_rows_is_left_out() {
    let names: String = (0..40).map(|row| format!("{row},name {row},{},{}\n", row % 3, row % 2)).collect();
    let table = format!("id,name,a,class\n{names}");
    let reader = open(&table, Selection::default());
    let left_out: Vec<(&str, IgnoredBecause)> =
        reader.left_out().iter().map(|column| (column.column.as_str(), column.why)).collect();
    assert_eq!(left_out, [("id", IgnoredBecause::NumbersRows), ("name", IgnoredBecause::DifferentTexts)]);
    assert_eq!(reader.inputs(), 1);
    let wanted = Selection { categorical: vec!["name".to_owned()], ..Selection::default() };
    assert_eq!(open(&table, wanted).encoding(Scale::Auto).inputs(), 41);
    let wanted = Selection { only: vec!["name".to_owned()], ..Selection::default() };
    assert_eq!(open(&table, wanted).encoding(Scale::Auto).inputs(), 40);
    let alone = Selection { exclude: vec!["id".to_owned(), "a".to_owned()], ..Selection::default() };
    assert_error(&error(&table, alone), &["at least one column of inputs", "different in nearly every row"]);
}

#[test]
fn many_categories_are_not_different_texts() {
    // Like random numbers, a hundred rows contain about eighty of three hundred values.
    let city = |row: usize| row * row % 997 % 300;
    let rows: String = (0..1000).map(|row| format!("c{},{}\n", city(row), row % 2)).collect();
    let reader = open(&format!("city,class\n{rows}"), Selection::default());
    assert!(reader.left_out().is_empty());
    assert!(reader.encoding(Scale::Auto).inputs() > 200);
}

#[test]
fn a_model_without_names_reads_rows_without_a_header() {
    let rows = "x,u,a\ny,v,b\ny,u,a\n".repeat(7);
    let reader = open_csv(rows, &label_in("-1")).unwrap();
    let schema = reader.schema().cloned();
    let columns = Selection { schema, target: Target::Absent, ..Selection::default() };
    let like = ReadOptions { columns, ..ReadOptions::default() };
    for (table, expected) in [("zzz,qqq,a\ny,v,b\n", 2), ("x,u,a\n", 1), ("x,u\n", 1)] {
        assert_eq!(open_csv(table, &like).unwrap().rows(), expected, "{table}");
    }
}

#[test]
fn labels_are_never_missing() {
    let table = "a,class\n1,x\n2,NA\n3,y\n";
    assert_error(&error(table, Selection::default()), &["is \"NA\" a label of target class"]);
    let format = Format { missing: vec!["y".to_owned()], ..Format::default() };
    let read = ReadOptions { format, ..label_in("class") };
    let error = open_csv("a,class\n1,x\n2,y\n3,y\n", &read).err().unwrap();
    assert_error(&error, &["row 3, column 2 (class)", "every row needs one"]);
}

#[test]
fn a_column_that_begins_empty_has_the_type_of_its_first_values() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.csv");
    let row = |row: usize| match row {
        0..9_000 => format!("{row}.5,,NA,,{}\n", row % 2),
        _ => format!("{row}.5,t{},{row},,{}\n", row % 3, row % 2),
    };
    let text = "x,text,number,nothing,class\n".to_owned() + &(0..9_010).map(row).collect::<String>();
    std::fs::write(&path, &text).unwrap();
    let file = Reader::open(&Source::Csv { path: path.clone() }, &options(Selection::default())).unwrap();
    for reader in [file, open(&text, Selection::default())] {
        assert_eq!(reader.schema().unwrap().categories, [1]);
        assert_eq!(reader.dictionaries()[0].text(1), Some("t0"));
        let found: Vec<(usize, usize)> =
            reader.summaries().iter().map(|column| (column.missing, column.distinct)).collect();
        assert_eq!(found, [(0, 9010), (9000, 3), (9000, 10)]);
    }
}
