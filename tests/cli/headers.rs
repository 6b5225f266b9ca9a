//! The first row of a table, and lookup of columns by name.

use serde_json::Value;

use crate::program::{Outcome, Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = [
        "train",
        "--device",
        "cpu",
        "--hidden",
        "8",
        "--out",
        "m.safetensors",
        "--epochs",
        "2",
        "--format",
        "json",
    ];
    place.run(&[&common[..], arguments].concat())
}

/// Returns the number of training rows.
#[track_caller]
fn rows(place: &Workplace, arguments: &[&str]) -> Value {
    let outcome = train(place, arguments);
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome.objects()[0]["rows"].clone()
}

#[test]
fn a_header_of_numbers_is_known_as_one() {
    let place = Workplace::new();
    let iris = include_str!("../../data/tables/iris.csv").split_once('\n').unwrap().1;
    // Written by pandas for a table whose columns have no names, without and with row numbers.
    place.write("t.csv", "0,1,2,3,4\n".to_owned() + iris);
    assert_eq!(rows(&place, &["--data", "t.csv"]), 150);
    assert_eq!(place.model("m.safetensors").columns(), "[\"0\",\"1\",\"2\",\"3\"]");
    let numbered: String =
        (0..).zip(iris.lines()).map(|(row, line): (u32, _)| format!("{row},{line}\n")).collect();
    place.write("t.csv", ",0,1,2,3,4\n".to_owned() + &numbered);
    assert_eq!(rows(&place, &["--data", "t.csv"]), 150);
    assert_eq!(place.model("m.safetensors").columns(), "[\"0\",\"1\",\"2\",\"3\"]");
    assert_eq!(place.model("m.safetensors").at("/data/schema/target/name"), "4");
}

#[test]
fn a_missing_cell_makes_no_header() {
    let place = Workplace::new();
    place.write("t.csv", "?,5000,0.001,low\n".to_owned() + &Points::new(60, 4).rows(NAMES));
    assert_eq!(rows(&place, &["--data", "t.csv"]), 61);
    let outcome = train(&place, &["--data", "t.csv", "--missing", "error"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("row 1, column 1"), "{}", outcome.stderr);
}

#[test]
fn options_override_detection() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(60, 4).rows(NAMES));
    assert_eq!(rows(&place, &["--data", "t.csv"]), 60);
    assert_eq!(rows(&place, &["--data", "t.csv", "--header", "no"]), 60);
    assert_eq!(rows(&place, &["--data", "t.csv", "--header", "yes", "--target", "-1"]), 59);
    place.write("t.csv", Points::new(60, 4).csv(NAMES));
    assert_eq!(rows(&place, &["--data", "t.csv", "--header", "yes"]), 60);
    let outcome = train(&place, &["--data", "t.csv", "--header", "no", "--target", "-1"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("row 1, column 1") && outcome.error().contains("\"a\""));
}

#[test]
fn doubt_names_the_option() {
    let place = Workplace::new();
    let text = Points::new(60, 4).rows(NAMES);
    for first in ["1.5x,5000,0.001,low\n", "2018,2019,2020,2021\n"] {
        place.write(
            "t.csv",
            first.to_owned() + &text.replace("low", "1").replace("mid", "2").replace("high", "3"),
        );
        let outcome = train(&place, &["--data", "t.csv", "--target", "-1"]);
        assert_eq!(outcome.code, 2, "{first}");
        assert!(
            outcome.error().contains("first row") && outcome.error().contains("--header"),
            "{}",
            outcome.stderr
        );
    }
    assert_eq!(rows(&place, &["--data", "t.csv", "--target", "-1", "--header", "yes"]), 60);
    assert_eq!(rows(&place, &["--data", "t.csv", "--target", "-1", "--header", "no"]), 61);
}

/// Reorders the cells of each line.
fn reordered(csv: &str, order: &[usize]) -> String {
    let turned = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        order.iter().map(|cell| cells[*cell]).collect::<Vec<_>>().join(",") + "\n"
    };
    csv.lines().map(turned).collect()
}

#[test]
fn columns_are_found_by_their_names() {
    let place = Workplace::new();
    let test = Points::new(60, 5).csv(NAMES);
    place.write("t.csv", Points::new(200, 4).csv(NAMES));
    place.write("test.csv", &test);
    place.write("turned.csv", reordered(&test, &[3, 2, 0, 1]));
    // An additional column, which the network does not have, is ignored.
    let more = reordered(&test, &[2, 1, 3, 0]).replace('\n', ",7\n").replacen(",7", ",note", 1);
    place.write("more.csv", more);
    let figures = |file: &str| {
        let options = ["--data", "t.csv", "--test", file, "--test-every-epoch"];
        let objects = train(&place, &options).objects();
        let network = place.model("m.safetensors").tensors;
        let eval =
            ["eval", "--model", "m.safetensors", "--data", file, "--device", "cpu", "--format", "json"];
        let mut evaluated = place.succeed(&eval).objects().remove(0);
        evaluated["data"] = Value::Null;
        let predict = ["predict", "--model", "m.safetensors", file, "--device", "cpu"];
        let predicted = place.succeed(&predict).stdout;
        let tests: Vec<Value> = objects[1..3].iter().map(|epoch| epoch["test_loss"].clone()).collect();
        (tests, evaluated, predicted, network)
    };
    let expected = figures("test.csv");
    assert!(expected.0[0].is_f64());
    for file in ["turned.csv", "more.csv"] {
        assert!(figures(file) == expected, "{file}");
    }
    // Labels may be missing if they are not needed.
    place.write("inputs.csv", reordered(&test, &[2, 1, 0]));
    let predict = ["predict", "--model", "m.safetensors", "inputs.csv", "--device", "cpu"];
    assert_eq!(place.succeed(&predict).stdout, expected.2);
}

#[test]
fn columns_that_do_not_fit_are_one_line() {
    let place = Workplace::new();
    let test = Points::new(60, 5).csv(NAMES);
    place.write("t.csv", Points::new(200, 4).csv(NAMES));
    assert_eq!(train(&place, &["--data", "t.csv"]).code, 0);
    let rows = test.split_once('\n').unwrap().1;
    let eval =
        |file: &str| place.run(&["eval", "--model", "m.safetensors", "--data", file, "--device", "cpu"]);
    let predict = |file: &str| place.run(&["predict", "--model", "m.safetensors", file, "--device", "cpu"]);
    for (name, text, parts) in [
        ("missing.csv", reordered(&test, &[0, 2, 3]), ["missing.csv", "\"b\""]),
        ("twice.csv", format!("a,b,a,kind\n{rows}"), ["twice.csv", "\"a\" twice, in columns 1 and 3"]),
        ("wide.csv", reordered(rows, &[0, 1, 2, 2, 3]), ["wide.csv", "4 columns as in the training table"]),
    ] {
        place.write(name, text);
        let trained = train(&place, &["--data", "t.csv", "--test", name]);
        for outcome in [trained, eval(name), predict(name)] {
            assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
            assert!(parts.iter().all(|part| outcome.error().contains(part)), "{}", outcome.stderr);
        }
    }
    // Without names, columns are matched by position.
    place.write("test.csv", &test);
    place.write("bare.csv", rows);
    let accuracy = |file: &str| eval(file).stdout.lines().nth(2).unwrap().to_owned();
    assert!(accuracy("bare.csv").starts_with("loss "));
    assert_eq!(accuracy("bare.csv"), accuracy("test.csv"));
    assert_eq!(predict("bare.csv").stdout, predict("test.csv").stdout);
}

/// If the first rows are ambiguous, the error names the option that decides.
#[test]
fn doubt_is_asked_about() {
    let place = Workplace::new();
    let table = |header: &str, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..60).map(|number| row(number) + "\n").collect();
        place.write("t.csv", header.to_owned() + "\n" + &rows);
    };
    let doubt = |option: &str| {
        let outcome = train(&place, &["--data", "t.csv"]);
        assert_eq!(outcome.code, 2, "{}", outcome.stdout);
        assert!(outcome.error().contains(option), "no {option} in {}", outcome.stderr);
    };
    // Wavelengths above measurements.
    table("400,410,420,species", &|row| format!("{},{},{},{}", row % 9, row % 8, row % 7, NAMES[row % 3]));
    doubt("--header yes");
    // A text column that is not the target: words before a last column of few numbers, and dates.
    table("sex,age,survived", &|row| {
        format!("{},{},{}", ["f", "F"][row % 2], 20 + row * 7 % 50, row * 3 % 2)
    });
    doubt("--target");
    assert_eq!(rows(&place, &["--data", "t.csv", "--target", "sex"]), 60);
    table("date,rain", &|row| format!("2026-01-{row},{}", row as f64 * 0.5));
    doubt("--target");
    // Coordinates.
    table("x,y,quality", &|row| format!("{},{},{}", row * 7 % 20, row * 3 % 20, NAMES[row % 3]));
    doubt("--target");
    // Thousands, or three decimals.
    let cell = |row: usize| {
        if row.is_multiple_of(3) { format!("{}", 900 + row) } else { format!("1,{}", 200 + row) }
    };
    table("price;class", &|row| format!("{};{}", cell(row), NAMES[row % 3]));
    doubt("--decimal");
    assert_eq!(rows(&place, &["--data", "t.csv", "--decimal", ","]), 60);
}

#[test]
fn a_header_that_a_model_of_positions_does_not_expect_is_named() {
    let place = Workplace::new();
    let points = Points::new(60, 4);
    place.write("t.csv", points.rows(NAMES));
    place.write("named.csv", points.csv(NAMES));
    rows(&place, &["--data", "t.csv"]);
    let run = |command: &[&str], file: &str, more: &[&str]| {
        place.run(&[command, &[file, "--model", "m.safetensors", "--device", "cpu"], more].concat())
    };
    for command in [&["predict"][..], &["eval", "--data"]] {
        let outcome = run(command, "named.csv", &[]);
        let line = "error: named.csv, row 1, column 1: expected a number, as in the training table, which has no header, found \"a\"; \
                    remove the header, or use --header yes with eval or predict";
        assert_eq!((outcome.code, outcome.error()), (2, line), "{command:?}");
        assert_eq!(run(command, "named.csv", &["--header", "yes"]).code, 0);
    }
    let outcome = train(&place, &["--data", "t.csv", "--test", "named.csv"]);
    assert!(outcome.error().contains("remove the header"), "{}", outcome.stderr);
    // A row with a number is not a header.
    place.write("odd.csv", "x,5000,y,low\n".to_owned() + &points.rows(NAMES));
    assert!(run(&["predict"], "odd.csv", &[]).error().ends_with("use --missing-marker to name it"));
    // A table with a header cannot have a second one.
    place.write("twice.csv", "a,b,c,class\n".to_owned() + &points.csv(NAMES));
    assert!(
        run(&["predict"], "twice.csv", &["--header", "yes"])
            .error()
            .ends_with("use --missing-marker to name it")
    );
}

/// Writes a table of categories without a header, a model `m.safetensors` and a run `run` trained on it;
/// returns its rows.
fn categories(place: &Workplace) -> String {
    let row =
        |row: usize| format!("{},{},{}\n", ["p", "e"][row % 2], ["x", "b", "f"][row % 3], NAMES[row % 2]);
    let lines: String = (0..60).map(row).collect();
    place.write("t.csv", &lines);
    place.write("test.csv", &lines);
    rows(place, &["--data", "t.csv", "--target", "2"]);
    let run = "train --data t.csv --target 2 --test test.csv --epochs 2 --device cpu --quiet --out run";
    place.succeed(&run.split(' ').collect::<Vec<_>>());
    lines
}

#[test]
fn a_header_above_categories_is_detected_by_the_known_categories() {
    let place = Workplace::new();
    let lines = categories(&place);
    let model = ["--model", "m.safetensors"];
    let train = ["train", "--data", "t.csv", "--target", "2", "--epochs", "1", "--out", "n.safetensors"];
    let commands = [
        [&["predict", "test.csv"], &model[..]].concat(),
        [&["eval", "--data", "test.csv"], &model[..]].concat(),
        [&["importance", "--data", "test.csv"], &model[..]].concat(),
        vec!["report", "run", "--data", "test.csv"],
        [&train[..], &["--test", "test.csv"]].concat(),
        [&train[..], &["--validation", "test.csv"]].concat(),
    ];
    let run = |command: &[&str], more: &[&str]| place.run(&[command, &["--device", "cpu"], more].concat());
    let line = "error: test.csv: the first row holds no category of the training table, which has no header; \
                use --header no if it is a row of values, else remove it or, except in training, use --header yes";
    // The word in the target's column is a class, or not.
    for header in ["kind,shape,low\n", "kind,shape,class\n"] {
        place.write("test.csv", header.to_owned() + &lines);
        for command in &commands {
            let outcome = run(command, &[]);
            assert_eq!((outcome.code, outcome.error()), (2, line), "{header}{command:?}");
        }
        // Each file may have a header.
        let outcome = run(&["eval", "--data", "t.csv", "test.csv", "--model", "m.safetensors"], &[]);
        assert_eq!((outcome.code, outcome.error()), (2, line), "{header}");
        let resumed = place.run(&["train", "--resume", "run", "--epochs", "4"]);
        assert_eq!((resumed.code, resumed.error()), (2, line), "{header}");
    }
    place.write("test.csv", "kind,shape,low\n".to_owned() + &lines);
    for command in &commands {
        let outcome = run(command, &["--header", "no"]);
        assert_eq!(outcome.code, 0, "{command:?}: {}", outcome.stderr);
        // `--header yes` also applies to the training table, whose names would differ.
        let code = if command[0] == "train" { 2 } else { 0 };
        assert_eq!(run(command, &["--header", "yes"]).code, code, "{command:?}");
    }
    // One known or missing category makes the first row a data row.
    for first in ["p,new,low\n", "new,b,low\n", ",new,low\n"] {
        place.write("test.csv", first.to_owned() + &lines);
        for command in &commands {
            let outcome = run(command, &[]);
            assert_eq!(outcome.code, 0, "{first}{command:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn the_header_option_decides_about_a_first_row_of_categories() {
    let place = Workplace::new();
    categories(&place);
    place.write("new.csv", "kind,shape,low\np,x,low\n");
    let model = ["new.csv", "--model", "m.safetensors", "--device", "cpu"];
    let count = |header: &str| {
        let predicted = place.succeed(&[&["predict", "--header", header], &model[..]].concat()).stdout;
        let eval = ["eval", "--header", header, "--format", "json", "--data"];
        let evaluated = place.succeed(&[&eval, &model[..]].concat()).objects().remove(0);
        (predicted.lines().count() - 1, evaluated["samples"].as_u64().unwrap())
    };
    assert_eq!((count("yes"), count("no")), ((1, 1), (2, 2)));
}

#[test]
fn values_that_floats_round_away_are_refused() {
    let place = Workplace::new();
    let table = |offset: u64| -> String {
        (0..60).map(|row| format!("{},{}\n", offset + row * 7 % 60, NAMES[row as usize % 3])).collect()
    };
    place.write("t.csv", "seconds,class\n".to_owned() + &table(1_700_000_000));
    let outcome = train(&place, &["--data", "t.csv"]);
    assert_eq!(outcome.code, 2);
    for part in ["t.csv, column 1 (seconds)", "32-bit floats", "subtract an offset"] {
        assert!(outcome.error().contains(part), "no {part} in {}", outcome.stderr);
    }
    place.write("t.csv", "seconds,class\n".to_owned() + &table(2000));
    assert_eq!(rows(&place, &["--data", "t.csv"]), 60);
}

#[test]
fn rows_may_have_one_cell_more_than_the_header() {
    let place = Workplace::new();
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<String>();
    let label = |row: usize| ["x", "y"][row % 2];
    let names = "each row has one cell more than the header: the first, a name of the row, which is left out";
    for (text, is_named) in [
        (
            "a,b,label\n".to_owned() + &rows(&|row| format!("{},{},{},\n", row % 7, row % 5, label(row))),
            false,
        ),
        (
            "a,b,label\n".to_owned()
                + &rows(&|row| format!("{},{},{},{}\n", row + 1, row % 7, row % 5, label(row))),
            true,
        ),
        (
            "a,b,label\n".to_owned()
                + &rows(&|row| format!("\"Car {row}\",{},{},{}\n", row % 7, row % 5, label(row))),
            true,
        ),
        // Output of R's `write.table`.
        (
            "\"a\" \"b\" \"label\"\n".to_owned()
                + &rows(&|row| format!("\"{}\" {} {} \"{}\"\n", row + 1, row % 7, row % 5, label(row))),
            true,
        ),
        ("a,b,label\nname,1,2,x\nother,3,4,y\n".to_owned(), true),
    ] {
        place.write("t.csv", &text);
        let outcome = place.succeed(&["inspect", "t.csv", "--format", "json"]);
        let found = &outcome.objects()[0];
        let columns: Vec<&str> = found["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        assert_eq!((columns, found["targets"][0].as_str()), (vec!["a", "b"], Some("label")), "{text}");
        assert_eq!(found["rows"], text.lines().count() - 1);
        let said = place.succeed(&["inspect", "t.csv"]).stdout.contains(names);
        assert_eq!(said, is_named, "{text}");
        let train =
            ["train", "--device", "cpu", "--hidden", "4", "--epochs", "1", "--data", "t.csv", "--out"];
        if text.lines().count() > 20 {
            place.succeed(&[&train[..], &["m.safetensors"]].concat());
            let predicted = place.succeed(&["predict", "--model", "m.safetensors", "t.csv"]).stdout;
            assert_eq!(predicted.lines().count(), 61);
        }
    }
    // The second file must have the same header.
    let part = "a,b,label\n".to_owned() + &rows(&|row| format!("{},{},{},\n", row % 7, row % 5, label(row)));
    place.write("one.csv", &part);
    place.write("two.csv", &part);
    let found = place.succeed(&["inspect", "one.csv", "two.csv", "--format", "json"]).objects().remove(0);
    assert_eq!(found["rows"], 120);
    // If only some rows are longer, this is an error.
    place.write("t.csv", "a,b,label\n1,2,x\n3,4,y,5\n");
    assert_eq!(place.run(&["inspect", "t.csv"]).code, 2);
}

#[test]
fn a_first_row_that_counts_the_columns_is_a_header() {
    let place = Workplace::new();
    let said =
        "the first row holds the numbers 0 to 2, so it is a header; use --header no if it is a row of values";
    let plain = |count: usize| {
        (0..count).map(|row| format!("{}.5,{},{}\n", row % 7, row * 3 % 5, row % 2)).collect::<String>()
    };
    // A model of a table without names.
    place.write("plain.csv", plain(60));
    let train = ["train", "--device", "cpu", "--hidden", "4", "--epochs", "1", "--target", "-1", "--out"];
    place.succeed(&[&train[..], &["plain.safetensors", "--data", "plain.csv"]].concat());
    let inputs =
        |count: usize| (0..count).map(|row| format!("{}.5,{}\n", row % 7, row * 3 % 5)).collect::<String>();
    for count in [300, 1, 2] {
        place.write("numbered.csv", "0,1,2\n".to_owned() + &plain(count));
        let outcome = place.succeed(&["predict", "--model", "plain.safetensors", "numbered.csv"]);
        assert_eq!(outcome.stdout.lines().count(), count + 1);
        assert_eq!(outcome.stderr.trim_end(), format!("warning: {said}"));
        let as_row = ["predict", "--model", "plain.safetensors", "--header", "no", "numbered.csv"];
        assert_eq!(place.succeed(&as_row).stdout.lines().count(), count + 2);
    }
    // Two columns may be row numbers if all rows hold fractions; otherwise they hold 0 and 1.
    place.write(
        "two.csv",
        "0,1\n".to_owned() + &inputs(30).replace(",", ".25,").replace("\n", ".5\n").replace(".5.25", ".25"),
    );
    assert_eq!(
        place.succeed(&["predict", "--model", "plain.safetensors", "two.csv"]).stdout.lines().count(),
        31
    );
    place.write("two.csv", "0,1\n".to_owned() + &inputs(30));
    assert_eq!(
        place.succeed(&["predict", "--model", "plain.safetensors", "two.csv"]).stdout.lines().count(),
        32
    );
    // Training reports it, too.
    place.write("numbered.csv", "0,1,2\n".to_owned() + &plain(60));
    let outcome = place.succeed(&[&train[..], &["m.safetensors", "--data", "numbered.csv"]].concat());
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert_eq!(place.model("m.safetensors").columns(), "[\"0\",\"1\"]");
}
