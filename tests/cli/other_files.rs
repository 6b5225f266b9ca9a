//! Files that hold no table as text in UTF-8.

use crate::odd_tables::refused;
use crate::program::{Points, Workplace};

fn table() -> String {
    Points::new(60, 3).csv(["low", "mid", "high"])
}

#[test]
fn files_of_other_programs_are_called_by_their_names() {
    let place = Workplace::new();
    for (name, start, what) in [
        (
            "t.parquet",
            &b"PAR1\x15\x04\x15\x20"[..],
            "a Parquet file; pandas writes it as CSV by read_parquet and to_csv(FILE, index=False)",
        ),
        (
            "t.xlsx",
            b"PK\x03\x04\x14\0\0\0",
            "a ZIP archive, such as a workbook (.xlsx); save the table as CSV",
        ),
        (
            "t.arrow",
            b"ARROW1\0\0\xff\xff",
            "an Arrow file; pandas writes it as CSV by read_feather and to_csv(FILE, index=False)",
        ),
    ] {
        place.write(name, [start, &[0, 255, 10, 34, 44, 10]].concat());
        refused(&place, &["--data", name], &format!("{name}: expected a table as text (CSV), found {what}"));
        let packed = format!("{name}.csv");
        place.write("one.csv", table());
        place.write(&packed, [start, &[0, 255]].concat());
        let expected = format!("{packed}: expected a table as text (CSV), found {what}");
        refused(&place, &["--data", "one.csv", &packed], &expected);
    }
    // A column may be called so.
    place.write("names.csv", table().replacen("a,", "PAR1,", 1));
    place.succeed(&["inspect", "names.csv"]);
}

#[test]
fn text_in_utf_16_is_called_so() {
    let place = Workplace::new();
    let words: Vec<u16> = table().encode_utf16().collect();
    for (name, mark, bytes) in [
        ("le.csv", [0xff, 0xfe], words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()),
        ("be.csv", [0xfe, 0xff], words.iter().flat_map(|word| word.to_be_bytes()).collect()),
    ] {
        place.write(name, [&mark, &bytes[..]].concat());
        let line = format!("{name}: expected text in UTF-8, found text in UTF-16; save it as UTF-8");
        refused(&place, &["--data", name], &line);
    }
}
