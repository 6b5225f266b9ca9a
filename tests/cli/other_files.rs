//! Files that are not tables as UTF-8 text.

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
            "a ZIP archive, such as a workbook (.xlsx); unpack it, or save the table as CSV",
        ),
        (
            "t.csv.bz2",
            b"BZh91AY&SY",
            "a file packed by bzip2; unpack it by bunzip2, or pack it by gzip or zstd",
        ),
        (
            "t.csv.xz",
            b"\xfd7zXZ\0\0\x04",
            "a file packed by xz; unpack it by unxz, or pack it by gzip or zstd",
        ),
        (
            "7.jpg",
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            "a JPEG image; name a folder that contains one folder of images for each class",
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
    // A column may have this name.
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

#[test]
fn text_of_other_formats_is_called_by_its_name() {
    let place = Workplace::new();
    for (text, what) in [
        (
            "{\"a\": 1, \"y\": \"x\"}\n{\"a\": 2, \"y\": \"z\"}\n",
            "JSON lines; pandas writes them as CSV by read_json(FILE, lines=True) and to_csv(FILE, index=False)",
        ),
        ("[\n {\"a\": 1}\n]\n", "JSON; pandas writes it as CSV by read_json and to_csv(FILE, index=False)"),
        (
            "% Iris\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n@DATA\n5.1,x\n",
            "an ARFF file; remove all lines up to @data and write the names as a header",
        ),
        (
            "-1 3:1 11:1 14:0.5\n+1 5:1 7:1\n-1 2:1\n",
            "sparse rows as libsvm writes them; scikit-learn reads them by load_svmlight_file; save them by numpy.savez(FILE, X=X.toarray(), y=y)",
        ),
    ] {
        place.write("t.txt", text);
        refused(
            &place,
            &["--data", "t.txt"],
            &format!("t.txt: expected a table as text (CSV), found {what}"),
        );
    }
}
