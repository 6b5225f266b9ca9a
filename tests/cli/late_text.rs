//! Numeric columns in which text occurs late: they become categories, in every command that reads a training
//! table.

use std::fs::File;
use std::path::Path;

use tinytrain::{ReadOptions, Reader};

use crate::program::Workplace;

const WARNING: &str = "column b holds numbers and text (\"seven\" in t.csv, row 4202), so its cells are categories; use --missing-marker \
                       to name a text that stands for a missing value, or --exclude to ignore the column";

/// Returns rows of two numbers and a class, with these cells replaced.
fn table(rows: usize, odd: &[(usize, &str)]) -> String {
    let row = |row: usize| {
        let odd = odd.iter().find(|(at, _)| *at == row).map(|(_, text)| format!("{text},x\n"));
        odd.unwrap_or_else(|| {
            format!("{}.5,{},{}\n", row % 7, row * 3 % 5, ["x", "y"][usize::from(row % 7 > 3)])
        })
    };
    "a,b,class\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

fn place() -> Workplace {
    let place = Workplace::new();
    // More than a few of them.
    place.write("t.csv", table(4300, &(4200..4211).map(|row| (row, "1,seven")).collect::<Vec<_>>()));
    place.write("plain.csv", table(60, &[]));
    place.write("text.csv", table(60, &[(30, "1,seven")]));
    place
}

const TRAIN: [&str; 9] = ["train", "--device", "cpu", "--hidden", "4", "--epochs", "2", "--data", "t.csv"];

#[test]
fn it_is_as_if_the_column_had_been_named() {
    let place = place();
    for more in [
        &[][..],
        &["--preset", "plain"],
        &["--scale", "none", "--preset", "plain", "--class-weights", "balanced"],
        &["--validation", "text.csv", "--test", "plain.csv"],
        &["--scale", "none", "--validation", "text.csv", "--preset", "plain"],
    ] {
        let outcome = place.succeed(&[&TRAIN[..], more, &["--out", "late.safetensors"]].concat());
        let lines: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains("seven")).collect();
        assert!(lines.len() == 1 && lines[0].ends_with(WARNING), "{}", outcome.stderr);
        let named = place
            .succeed(&[&TRAIN[..], more, &["--categorical", "b", "--out", "named.safetensors"]].concat());
        assert!(!named.stderr.contains("seven"), "{}", named.stderr);
        let [late, named] = ["late.safetensors", "named.safetensors"].map(|name| place.model(name));
        assert_eq!(late.columns(), "[\"a\",\"b\"]");
        assert!(
            late.tensors == named.tensors && late.at("/transform/columns").to_string().contains("seven"),
            "{more:?}"
        );
    }
    let evaluated =
        place.succeed(&["eval", "--model", "late.safetensors", "--data", "t.csv", "--device", "cpu"]);
    assert!(evaluated.stdout.contains("4,300 samples"), "{}", evaluated.stdout);
    // Text that marks a missing value does not make a column categorical.
    place.succeed(&[&TRAIN[..], &["--missing-marker", "seven", "--out", "missing.safetensors"]].concat());
    assert!(!place.model("missing.safetensors").at("/transform/columns").to_string().contains("seven"));
}

#[test]
fn a_resumed_run_has_the_same_columns() {
    let place = place();
    for more in [&["--preset", "plain"][..], &["--preset", "plain", "--scale", "none"]] {
        place.succeed(&[&TRAIN[..], more, &["--out", "whole"]].concat());
        place.succeed(&[&TRAIN[..5], &["--epochs", "1"], &TRAIN[7..], more, &["--out", "part"]].concat());
        place.succeed(&["train", "--resume", "part", "--epochs", "2"]);
        assert!(place.model("whole").tensors == place.model("part").tensors, "{more:?}");
        ["whole", "part"].iter().for_each(|run| std::fs::remove_dir_all(place.path(run)).unwrap());
    }
}

#[test]
fn folds_sweeps_profiles_and_inspect_report_it_too() {
    let place = place();
    let folds = place.succeed(&[&TRAIN[..], &["--folds", "2", "--validation", "text.csv"]].concat());
    let train = ["--data", "t.csv", "--device", "cpu", "--hidden", "4"];
    let space = ["--trials", "1", "--epochs", "1", "--validation", "text.csv", "--out", "s"];
    let sweep = place.succeed(&[&["sweep"][..], &train, &space].concat());
    let profile = place.succeed(&[&["profile", "--steps", "2", "--scale", "none"][..], &train].concat());
    let inspect = place.succeed(&["inspect", "t.csv"]).stdout;
    for said in [&folds.stderr, &sweep.stderr, &profile.stderr, &inspect] {
        assert_eq!(said.matches(WARNING).count(), 1, "{said}");
    }
    assert!(inspect.contains("--include a b --categorical b"), "{inspect}");
    assert!(place.model("s/best.safetensors").at("/transform/columns").to_string().contains("seven"));
}

#[test]
fn models_refuse_it_and_pipes_do_not() {
    let place = place();
    place.succeed(&[&TRAIN[..7], &["--data", "plain.csv", "--out", "m.safetensors"]].concat());
    let before = place.entries();
    let line = "error: text.csv, row 32, column 2 (b): expected a number, as in the training table (or does this text stand for a missing value? Then use --missing-marker), found \"seven\"; use --missing-marker to name it";
    let model = ["--model", "m.safetensors", "--device", "cpu"];
    for command in [
        &[&["eval", "--data", "text.csv"][..], &model].concat(),
        &[&["predict", "text.csv"][..], &model].concat(),
        &[&TRAIN[..7], &["--data", "plain.csv", "--test", "text.csv"]].concat(),
    ] {
        let outcome = place.run(command);
        assert_eq!((outcome.code, outcome.error()), (2, line), "{command:?}");
    }
    let pipe = |file: &str, more: &[&str]| {
        let input = File::open(place.path(file)).unwrap();
        let output = place.command(&[&TRAIN[..7], more].concat()).stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(place.entries(), before);
    let out = ["--out", "piped.safetensors"];
    let (code, said) = pipe("text.csv", &[&["--data", "-"], &out[..]].concat());
    assert!(code == Some(0) && said.contains("(\"seven\" in standard input, row 32)"), "{said}");
    let (code, said) = pipe("text.csv", &[&["--data", "t.csv", "--validation", "-"], &out[..]].concat());
    assert!(code == Some(0) && said.contains(WARNING), "{said}");
}

#[test]
fn a_few_texts_in_a_long_column_are_an_error_with_their_places() {
    let place = Workplace::new();
    let ending = "; use --categorical to treat the column as text, --missing-marker to name a text that stands for a missing value, or \
                  --exclude to ignore the column";
    for rows in [[4200, 4205, 4210], [0, 7, 99], [3, 500, 4299]] {
        let odd: Vec<(usize, &str)> = rows.into_iter().zip(["1,seven", "1,?x", "1,seven"]).collect();
        place.write("t.csv", table(4300, &odd));
        let [first, second, third] = rows.map(|row| row + 2);
        let line = format!(
            "error: t.csv, row {first}, column 2 (b): expected a number, as in 4297 other rows, found \"seven\" (and \"?x\" in row {second}, \"seven\" in row {third}){ending}"
        );
        for more in [&[][..], &["--scale", "none"], &["--test-fraction", "0.2"], &["--folds", "2"]] {
            let outcome = place.run(&[&TRAIN[..], more].concat());
            assert_eq!((outcome.code, outcome.error()), (2, line.as_str()), "{more:?}");
        }
        place.succeed(&[&TRAIN[..], &["--categorical", "b", "--out", "m.safetensors"]].concat());
    }
    // With two files, each cell is reported with its file; in a shorter column they are categories.
    place.write("u.csv", table(4300, &[(9, "1,eight")]));
    place.write("t.csv", table(4300, &[(9, "1,seven")]));
    let outcome = place.run(&[&TRAIN[..], &["u.csv"]].concat());
    let line = "error: t.csv, row 11, column 2 (b): expected a number, as in 8598 other rows, found \"seven\" (and \"eight\" in u.csv, row 11)";
    assert_eq!((outcome.code, outcome.error()), (2, format!("{line}{ending}").as_str()));
    place.write("t.csv", table(100, &[(9, "1,seven")]));
    place.succeed(&[&TRAIN[..], &["--out", "m.safetensors"]].concat());
    assert!(place.model("m.safetensors").at("/transform/columns").to_string().contains("seven"));
}

/// Rows of a table of cars: the drive is 4 in the first hundred rows, and f or r later.
#[test]
fn the_order_of_the_rows_decides_nothing() {
    let place = Workplace::new();
    let row = |row: usize| {
        let drive = ["4", "f", "r"][usize::from(row >= 103) + usize::from(row >= 209)];
        format!("{}.{},{drive},{}\n", 1 + row % 6, row % 10, 15 + (row * 7 + drive.len()) % 20)
    };
    let rows: Vec<String> = (0..234).map(row).collect();
    let write = |name: &str, rows: &mut dyn Iterator<Item = &String>| {
        place.write(name, "displ,drv,hwy\n".to_owned() + &rows.cloned().collect::<String>());
    };
    write("late.csv", &mut rows.iter());
    write("early.csv", &mut rows.iter().rev());
    write("mixed.csv", &mut (0..234).map(|row| &rows[row * 101 % 234]));
    let train = [
        "train", "--device", "cpu", "--target", "hwy", "--hidden", "4", "--epochs", "3", "--preset", "plain",
        "--quiet",
    ];
    let encodings = ["late.csv", "early.csv", "mixed.csv"].map(|file| {
        let run = |more: &[&str]| {
            place.succeed(&[&train[..], &["--data", file, "--out", "m.safetensors"], more].concat())
        };
        let outcome = run(&[]);
        let line =
            outcome.stderr.lines().filter(|line| line.contains("column drv holds numbers and text")).count();
        assert_eq!(line, 1, "{file}: {}", outcome.stderr);
        let model = place.model("m.safetensors");
        // The model is bit for bit the same as with the column given.
        run(&["--categorical", "drv"]);
        assert!(model.tensors == place.model("m.safetensors").tensors, "{file}");
        let loss = |data: &str| {
            let words =
                ["eval", "--model", "m.safetensors", "--data", data, "--device", "cpu", "--format", "json"];
            place.succeed(&words).objects()[0]["loss"].as_f64().unwrap()
        };
        let (own, other) = (loss(file), loss("late.csv"));
        assert!((own - other).abs() <= 1e-6 * own, "{file}: {own}, {other}");
        assert_eq!(place.succeed(&["predict", "--model", "m.safetensors", file]).stdout.lines().count(), 235);
        // The mean and deviation of `displ` depend on the order of summation.
        let encoding = model.at("/transform/columns").to_string();
        encoding[encoding.find("\"4\"").expect("the category 4")..].to_owned()
    });
    assert_eq!(encodings[0], encodings[1]);
    assert_eq!(encodings[0], encodings[2]);
}

#[test]
fn a_table_in_memory_is_read_as_its_file_is() {
    let odd: Vec<(usize, &str)> = (4200..4211).map(|row| (row, "1,seven")).collect();
    let read = |text: &str| Reader::from_bytes(Path::new("t.csv"), text.as_bytes(), &ReadOptions::default());
    let reader = read(&table(4300, &odd)).unwrap();
    assert_eq!((reader.rows(), reader.mixed_columns().len()), (4300, 1));
    assert!(WARNING.starts_with(&reader.mixed_columns()[0].to_string()));
    let line = "t.csv, row 11, column 2 (b): expected a number, as in 4299 other rows, found \"seven\"";
    assert_eq!(read(&table(4300, &[(9, "1,seven")])).err().unwrap().to_string(), line);
}
