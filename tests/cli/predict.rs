//! `tinytrain predict`.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::program::{Outcome, Points, Workplace, idx, noise};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Returns a folder with a model `m` of `t.csv`, and `new.csv` with `rows` rows.
fn with_model(rows: usize) -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(300, 4).csv(NAMES));
    place.write("new.csv", Points::new(rows, 7).csv(NAMES));
    let train = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "8",
        "--epochs",
        "5",
        "--out",
        "m.safetensors",
        "--data",
        "t.csv",
    ];
    place.succeed(&train);
    place
}

fn predict(place: &Workplace, arguments: &[&str]) -> Outcome {
    place.run(&[&["predict", "--model", "m.safetensors", "--device", "cpu"], arguments].concat())
}

#[track_caller]
fn predicted(place: &Workplace, arguments: &[&str]) -> String {
    let outcome = predict(place, arguments);
    let out = arguments.iter().skip_while(|argument| **argument != "--out").nth(1);
    let expected = out.map_or(String::new(), |out| format!("wrote {out}\n"));
    assert_eq!((outcome.code, outcome.stderr), (0, expected), "{arguments:?}");
    outcome.stdout
}

#[track_caller]
fn refused(place: &Workplace, arguments: &[&str], parts: &[&str]) {
    let outcome = predict(place, arguments);
    assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
    for part in parts {
        assert!(outcome.error().contains(part), "no {part:?} in {}", outcome.stderr);
    }
}

/// Returns the first column of a table.
fn first(table: &str) -> Vec<&str> {
    table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect()
}

#[test]
fn classes_match_eval_and_have_the_greatest_probability() {
    // More than one block.
    let place = with_model(9000);
    let eval = [
        "eval",
        "--model",
        "m.safetensors",
        "--data",
        "new.csv",
        "--device",
        "cpu",
        "--errors",
        "--format",
        "json",
    ];
    let evaluated = place.succeed(&eval).objects().remove(0);
    let mut expected: Vec<&str> =
        Points::new(9000, 7).classes.into_iter().map(|class| NAMES[class]).collect();
    let errors = evaluated["errors"].as_array().unwrap();
    assert!(!errors.is_empty());
    for error in errors {
        expected[error["sample"].as_u64().unwrap() as usize - 1] = error["predicted"].as_str().unwrap();
    }
    let table = predicted(&place, &["new.csv"]);
    assert_eq!(table.lines().next(), Some("class,p(high),p(low),p(mid)"));
    assert_eq!(first(&table), expected);
    // Labels are ignored.
    place.write("blank.csv", Points::new(9000, 7).csv(["", "?", "new"]));
    assert_eq!(predicted(&place, &["blank.csv"]), table);
    let json = predicted(&place, &["new.csv", "--format", "json"]);
    assert_eq!(json.lines().count(), 9000);
    for (line, object) in table.lines().skip(1).zip(json.lines()) {
        let object: Value = serde_json::from_str(object).unwrap();
        let cells: Vec<&str> = line.split(',').collect();
        let probabilities =
            ["high", "low", "mid"].map(|name| object["probabilities"][name].as_f64().unwrap());
        assert_eq!(object["class"], cells[0]);
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{object}");
        assert_eq!(probabilities.map(|value| format!("{value:.6}")), cells[1..]);
        let greatest = probabilities.iter().copied().fold(0.0, f64::max);
        assert_eq!(object["probabilities"][cells[0]].as_f64(), Some(greatest));
    }
}

#[test]
fn a_column_is_copied_and_files_are_named() {
    let place = with_model(3);
    let rows = "name,c,b,a\n\"Doe, J\",0,5000,0\n\"x\"\"y\",0,6000,1\n,0,6000,-1\n";
    place.write("named.csv", rows);
    let plain = predicted(&place, &["named.csv"]);
    let table = predicted(&place, &["named.csv", "--id", "name"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "name,class,p(high),p(low),p(mid)");
    for ((line, plain), id) in
        lines[1..].iter().zip(plain.lines().skip(1)).zip(["\"Doe, J\"", "\"x\"\"y\"", ""])
    {
        assert_eq!(*line, format!("{id},{plain}"));
    }
    let json = predicted(&place, &["named.csv", "--id", "0", "--format", "json"]);
    assert!(json.starts_with(r#"{"id":"Doe, J","class":""#), "{json}");
    refused(&place, &["named.csv", "--id", "nothing"], &["named.csv", "nothing", "name, c, b, a"]);

    let both = predicted(&place, &["named.csv", "new.csv"]);
    let files: Vec<&str> = first(&both);
    assert_eq!(files, ["named.csv", "named.csv", "named.csv", "new.csv", "new.csv", "new.csv"]);
    let one = predicted(&place, &["new.csv"]);
    for (line, plain) in both.lines().skip(1).zip(plain.lines().skip(1).chain(one.lines().skip(1))) {
        assert_eq!(line.split_once(',').unwrap().1, plain);
    }
}

#[test]
fn a_file_is_whole_or_not_there() {
    let place = with_model(9000);
    assert_eq!(predicted(&place, &["new.csv", "--out", "p.csv"]), "");
    let whole = std::fs::read_to_string(place.path("p.csv")).unwrap();
    assert_eq!(whole, predicted(&place, &["new.csv"]));
    place.write("bad.csv", Points::new(9000, 7).csv(NAMES) + "1,x,3,low\n");
    let before = place.entries();
    refused(&place, &["bad.csv", "--out", "q.csv"], &["bad.csv, row 9002, column 2 (b)"]);
    refused(&place, &["bad.csv", "--out", "p.csv"], &["bad.csv, row 9002, column 2 (b)"]);
    refused(&place, &["new.csv", "missing.csv", "--out", "p.csv"], &["missing.csv"]);
    refused(&place, &["new.csv", "--out", "new.csv"], &["--out", "new.csv, which holds the data"]);
    assert_eq!(place.entries(), before);
    assert_eq!(std::fs::read_to_string(place.path("p.csv")).unwrap(), whole);
}

/// Runs a command with at most this number of megabytes of data.
#[cfg(target_os = "linux")]
fn with_memory(place: &Workplace, megabytes: usize, arguments: &[&str]) -> Outcome {
    let script = format!("ulimit -d {} && exec \"$0\" \"$@\"", megabytes << 10);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_tinytrain")]).args(arguments);
    let output = command.current_dir(place.path(".")).env("TINYTRAIN_CACHE", "").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[cfg(target_os = "linux")]
#[test]
fn long_files_need_little_memory() {
    let place = Workplace::new();
    let mut noise = noise(2);
    let names: Vec<String> = (0..20).map(|column| format!("x{column}")).collect();
    let mut row = || {
        let cells: Vec<String> = (0..20).map(|_| format!("{:.3}", noise())).collect();
        let class = if cells[0] > cells[1] { "up" } else { "down" };
        (cells.join(","), class)
    };
    let header = names.join(",");
    let labelled: String =
        (0..300).map(|_| row()).map(|(cells, class)| format!("{cells},{class}\n")).collect();
    place.write("t.csv", format!("{header},kind\n{labelled}"));
    let train = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "8",
        "--epochs",
        "2",
        "--out",
        "m.safetensors",
        "--data",
        "t.csv",
    ];
    place.succeed(&train);
    // Different rows would take long to generate; 200,000 rows are 16 MB as numbers, 24 MB as text.
    let block: String = (0..2000).map(|_| row().0 + "\n").collect();
    place.write("long.csv", format!("{header}\n{}", block.repeat(100)));
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu", "--threads", "2", "long.csv"];
    let outcome = with_memory(&place, 48, &predict);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout.lines().count(), 200_001);
    // An endless row is soon rejected.
    place.write("endless.csv.gz", crate::program::gzip(&vec![b'1'; 300 << 20]));
    let train = ["train", "--device", "cpu", "--data", "endless.csv.gz"];
    let outcome = with_memory(&place, 128, &train);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.error().contains("endless.csv.gz, row 1: expected at most 16777216 bytes"),
        "{}",
        outcome.stderr
    );
}

/// Returns a grey image as PNG, each pixel `scale` pixels wide and high.
fn png(pixels: &[u8], side: usize, scale: usize, invert: bool) -> Vec<u8> {
    let width = side * scale;
    let at = |index: usize| pixels[index / width / scale * side + index % width / scale];
    let values: Vec<u8> =
        (0..width * width).map(at).map(|value| if invert { 255 - value } else { value }).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, width as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&values).unwrap();
    bytes
}

/// Returns a PNG file of this size in one colour.
fn colour_png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let pixels = [200, 100, 0].repeat((width * height) as usize);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

fn mnist(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/mnist").join(name)
}

#[test]
fn digits_are_predicted_from_files_of_images() {
    let place = Workplace::new();
    let images = mnist("t10k-images-idx3-ubyte.gz");
    let train =
        ["train", "--device", "cpu", "--hidden", "none", "--epochs", "1", "--out", "m.safetensors", "--data"];
    place.succeed(&[&train[..], &[images.to_str().unwrap()]].concat());
    let mut first_image = vec![0; 16 + 784];
    GzDecoder::new(std::fs::File::open(images).unwrap()).read_exact(&mut first_image).unwrap();
    let pixels = &first_image[16..];
    place.write("one", idx(&[1, 28, 28], pixels));
    place.write("one.png", png(pixels, 28, 1, false));
    place.write("two.png", png(pixels, 28, 2, false));
    place.write("dark.png", png(pixels, 28, 1, true));
    let of_idx = predicted(&place, &["one"]);
    let row = of_idx.lines().nth(1).unwrap();
    assert!(row.starts_with("7,"), "the first digit is a 7: {of_idx}");
    for arguments in [&["one.png"][..], &["one.png", "--strict"], &["two.png"], &["dark.png", "--invert"]] {
        let table = predict(&place, arguments).stdout;
        assert_eq!(table.lines().nth(1), Some(format!("{},{row}", arguments[0]).as_str()));
    }
    // Resizing and conversion to grey are reported once, or rejected.
    place.write("colour.png", colour_png(40, 50));
    let converted = predict(&place, &["one.png", "colour.png", "two.png"]);
    assert_eq!((converted.code, converted.stdout.lines().count()), (0, 4));
    let told = "warning: colour.png (and 1 file more) has 50 x 40 pixels in colour; it is converted to 28 x 28 pixels in grey, the form of the model's images; use --strict to refuse such files";
    assert_eq!(converted.error(), told);
    refused(
        &place,
        &["two.png", "--strict"],
        &[
            "two.png: expected 28 x 28 pixels in grey, as the model's images are (--strict), found 56 x 56 pixels in grey",
        ],
    );
    let dark = predicted(&place, &["dark.png"]);
    assert_ne!(dark.lines().nth(1).unwrap().split_once(',').unwrap().1, row);
}

#[test]
fn an_image_is_not_a_row_of_a_table() {
    let place = with_model(3);
    place.write("one.png", png(&[0; 64], 8, 1, false));
    refused(&place, &["one.png"], &["one.png", "an image", "not one of images"]);
    refused(&place, &["new.csv", "one.png", "--out", "p.csv"], &["one.png", "an image"]);
    assert!(!place.path("p.csv").exists());
}

/// Blocks are predicted, formatted, and written by different threads; the last block is incomplete.
#[test]
fn predictions_are_the_same_bytes_on_any_number_of_threads() {
    let rows = 2 * tinytrain::data::BLOCK_ROWS + 63;
    let place = with_model(rows);
    place.write("small.csv", Points::new(3, 7).csv(NAMES));
    for arguments in [
        &["new.csv"][..],
        &["new.csv", "--format", "json"],
        &["new.csv", "--id", "kind"],
        &["small.csv", "new.csv", "small.csv"],
    ] {
        let [one, four] = ["1", "4"].map(|threads| {
            let table = predicted(&place, &[arguments, &["--threads", threads]].concat());
            predicted(&place, &[arguments, &["--threads", threads, "--out", "out.csv"]].concat());
            assert!(std::fs::read_to_string(place.path("out.csv")).unwrap() == table, "{arguments:?}");
            table
        });
        assert!(one == four, "{arguments:?}");
        assert!(one.lines().count() >= rows, "{arguments:?}");
    }
    refused(&place, &["new.csv", "--threads", "0"], &["--threads"]);
}

/// Predictions before an unreadable row are written, with any number of threads.
#[test]
fn rows_before_a_fault_are_predicted_on_any_number_of_threads() {
    let rows = tinytrain::data::BLOCK_ROWS + 17;
    let place = with_model(rows);
    let table = Points::new(rows, 7).csv(NAMES);
    let header = table.lines().next().unwrap();
    place.write("broken.csv", format!("{table}{}\n", header.replace(|byte| byte != ',', "?x")));
    let outcomes = ["1", "4"].map(|threads| predict(&place, &["broken.csv", "--threads", threads]));
    for outcome in &outcomes {
        assert_eq!((outcome.code, outcome.error().lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.error().contains(&format!("row {}", rows + 2)), "{}", outcome.stderr);
        assert_eq!(outcome.stdout.lines().count(), tinytrain::data::BLOCK_ROWS + 1);
    }
    assert!(outcomes[0].stdout == outcomes[1].stdout);
}
