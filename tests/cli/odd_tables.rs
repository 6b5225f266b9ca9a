//! Tables and options with likely mistakes: ineffective options and unlearnable data are rejected or
//! reported.

use crate::program::{Outcome, Workplace};

pub const TRAIN: [&str; 8] = ["train", "--device", "cpu", "--hidden", "4", "--epochs", "2", "--out"];

pub fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    place.run(&[&TRAIN[..], &["m.safetensors"], arguments].concat())
}

/// Checks that the command fails with this single line.
#[track_caller]
pub fn refused(place: &Workplace, arguments: &[&str], line: &str) {
    let outcome = train(place, arguments);
    assert_eq!((outcome.code, outcome.error()), (2, format!("error: {line}").as_str()), "{arguments:?}");
}

/// A table of numbers, weights, groups, text and a class.
fn table() -> String {
    let row = |row: usize| {
        format!("{},{},{},{},{}\n", row * 7 % 10, 1 + row % 3, row % 6, ["x", "y", "z"][row % 3], row % 2)
    };
    "a,w,g,t,class\n".to_owned() + &(0..60).map(row).collect::<String>()
}

/// Returns rows of these cells, with `end` after each.
pub fn rows(cells: &[&dyn Fn(usize) -> String], end: &str) -> String {
    let row = |row: usize| cells.iter().map(|cell| cell(row)).collect::<Vec<_>>().join(",") + end + "\n";
    (0..60).map(row).collect()
}

pub fn number(row: usize) -> String {
    (row * 7 % 10).to_string()
}

pub fn class(row: usize) -> String {
    ["no", "yes"][row % 2].to_owned()
}

#[test]
fn options_without_an_effect_are_refused() {
    let place = Workplace::new();
    place.write("t.csv", table());
    place.write("text.csv", "t,class\n".to_owned() + &"x,0\ny,1\nz,0\n".repeat(20));
    for (options, line) in [
        (
            &["--include", "a", "w", "--weight", "w"][..],
            "--include: expected columns that are inputs, found column w, which holds the weights",
        ),
        (
            &["--include", "a", "class"],
            "--include: expected columns that are inputs, found column class, which holds the target",
        ),
        (
            &["--include", "g", "a", "--group", "g", "--test-fraction", "0.2"],
            "--include: expected columns that are inputs, found column g, which holds the groups",
        ),
        (
            &["--categorical", "g", "--exclude", "g"],
            "--categorical: expected columns that are inputs, found column g, which is left out",
        ),
        (
            &["--categorical", "a", "g", "--include", "a"],
            "--categorical: expected columns that are inputs, found column g, which is not among the columns of --include",
        ),
        (
            &["--categorical", "g", "--time", "g", "--test-fraction", "0.2"],
            "--categorical: expected columns that are inputs, found column g, which holds the times",
        ),
        (&["--scale-target", "none"], "--scale-target: expected values to predict, found classes"),
        (&["--scale-target", "standard"], "--scale-target: expected values to predict, found classes"),
        (
            &["--one-hot", "4", "--exclude", "t"],
            "--one-hot: expected a column of categories, found only numbers",
        ),
        (
            &["--lr-factors", "scale=2", "--preset", "plain"],
            "--lr-factors: expected --input-scaling yes for scale, found inputs without scaling factors",
        ),
        (
            &["--lr-factors", "embeddings=2", "--preset", "plain", "--exclude", "t"],
            "--lr-factors: expected columns with embeddings for embeddings, found only numbers, without --embeddings",
        ),
        (
            &["--lr-factors", "embeddings=2", "--preset", "plain"],
            "--lr-factors: embeddings has no effect: no column has an embedding, as none has more categories than --one-hot allows",
        ),
        (
            &["--metric", "auc"],
            "--metric: expected validation data (--validation or --validation-fraction), found none",
        ),
    ] {
        refused(&place, &[&["--data", "t.csv"][..], options].concat(), line);
        refused(&place, &[&["--data", "t.csv", "--quiet"][..], options].concat(), line);
    }
    for options in [["--embeddings", "pbld"], ["--scale", "robust"], ["--clip", "smooth"]] {
        let line = format!("{}: expected a column of numbers, found only categories", options[0]);
        refused(&place, &[&["--data", "text.csv"][..], &options].concat(), &line);
    }
    for options in
        [&["--weight", "0"][..], &["--group", "0", "--test-fraction", "0.2"], &["--delimiter", ";"]]
    {
        let line = format!("{}: expected a table, found images, which have no columns", options[0]);
        refused(&place, options, &line);
    }
    let line =
        "--lr-factors: expected columns with embeddings for embeddings, found images, without --embeddings";
    refused(&place, &["--lr-factors", "embeddings=2"], line);
    let line = "--task: expected a table for regression, found images, which have labels";
    refused(&place, &["--task", "regression"], line);
    let folds = [
        "train",
        "--device",
        "cpu",
        "--data",
        "t.csv",
        "--folds",
        "3",
        "--preset",
        "plain",
        "--lr-factors",
        "embeddings=2",
    ];
    let line = "error: --lr-factors: embeddings has no effect: no column has an embedding, as none has more categories than --one-hot allows";
    let outcome = place.run(&folds);
    assert_eq!((outcome.code, outcome.error()), (2, line));
    // Members of a sweep have its common options.
    let sweep =
        ["sweep", "--device", "cpu", "--trials", "2", "--epochs", "1", "--out", "sweep", "--data", "t.csv"];
    let outcome = place.run(&[&sweep[..], &["--scale-target", "none"]].concat());
    let line = "error: --scale-target: expected values to predict, found classes";
    assert_eq!((outcome.code, outcome.error()), (2, line));
    place.succeed(&[&sweep[..], &["--lr-factors", "scale=2", "--metric", "auc"]].concat());
    // Options of a preset do not count as given by the user, nor do settings of a resumed run.
    let preset = ["--data", "text.csv", "--preset", "table", "--epochs", "3"];
    place.succeed(&[&["train", "--device", "cpu", "--hidden", "4", "--out", "run"][..], &preset].concat());
    place.succeed(&["train", "--resume", "run", "--epochs", "4"]);
    place.succeed(&["train", "--config", "run/config.toml", "--epochs", "1", "--out", "again"]);
    for options in [
        &["--weight", "w", "--exclude", "w"][..],
        &["--categorical", "t", "g", "--include", "t", "g"],
        &["--scale", "none", "--embeddings", "none"],
        &["--lr-factors", "embeddings=0.5,scale=2", "--input-scaling", "--one-hot", "2"],
    ] {
        place.succeed(&[&TRAIN[..], &["m.safetensors", "--data", "t.csv"], options].concat());
    }
}

#[test]
fn targets_that_cannot_be_learnt_are_refused() {
    let place = Workplace::new();
    let table = |value: &dyn Fn(usize) -> String| {
        let row = |row: usize| format!("{},{}\n", row * 7 % 10, value(row));
        "a,price\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    place.write("one.csv", table(&|_| "2.5".to_owned()));
    place.write("tiny.csv", table(&|row| format!("{}e-40", 1 + row % 30)));
    place.write("nothing.csv", table(&|row| format!("{}e-50", 1 + row % 30)));
    place.write("class.csv", table(&|_| "yes".to_owned()));
    for (file, expected) in [
        ("one", "values to predict that differ, found only 2.5; use --target to name another column"),
        (
            "nothing",
            "values to predict that differ, found only 0 (like all numbers closer to it than 1e-45); use --target to name another column",
        ),
        (
            "tiny",
            "values that 32-bit floats can distinguish (multiply them by a factor), found values from 1e-40 to 3e-39",
        ),
    ] {
        let data = format!("{file}.csv");
        for scale in ["standard", "none"] {
            let options =
                ["--data", &data, "--target", "price", "--task", "regression", "--scale-target", scale];
            refused(&place, &options, &format!("{file}.csv, column 2 (price): expected {expected}"));
        }
    }
    let line = "class.csv, column 2 (price): expected labels of two or more classes, found only label yes; use --target to name another column";
    refused(&place, &["--data", "class.csv", "--target", "price"], line);
}

/// Whole numbers that 32-bit floats represent remain distinct: constant columns are inputs of 0, and columns
/// that differ in only a few rows also train.
#[test]
fn great_columns_of_equal_values_train() {
    let place = Workplace::new();
    let row = |row: usize| {
        let (rare, class) = (400_000 + usize::from(row == 7), row % 2);
        format!("{},8388607,-335545,{rare},{class}\n", row * 7 % 10)
    };
    let table = "a,day,offset,rare,class\n".to_owned() + &(0..2000).map(row).collect::<String>();
    place.write("t.csv", table);
    for scale in ["standard", "robust", "minmax", "quantile"] {
        let options = ["--data", "t.csv", "--target", "class", "--scale", scale];
        place.succeed(&[&TRAIN[..], &["m.safetensors"], &options].concat());
        place.succeed(&["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu"]);
    }
    place.succeed(&["inspect", "t.csv", "--target", "class"]);
}

/// Rows of one class have no AUC: a line explains this.
#[test]
fn held_out_rows_of_one_class_are_reported() {
    let place = Workplace::new();
    let row = |row: usize| {
        format!("{},{},{}\n", row * 7 % 10, row, if row < 40 { ["no", "yes"][row % 2] } else { "no" })
    };
    place.write("t.csv", "a,day,class\n".to_owned() + &(0..60).map(row).collect::<String>());
    place.write("no.csv", "a,day,class\n".to_owned() + &(40..60).map(row).collect::<String>());
    let line = "the test rows are all of one class, no: the AUC is undefined, and other measures mean little";
    let common = ["--data", "t.csv", "--time", "day", "--test-fraction", "0.25"];
    let outcome = train(&place, &[&common[..], &["--quiet"]].concat());
    assert_eq!((outcome.code, outcome.stderr.trim_end()), (0, format!("warning: {line}").as_str()));
    let objects = train(&place, &[&common[..], &["--format", "json"]].concat()).objects();
    let said: Vec<_> = objects.iter().filter(|object| object["event"] == "one_class").collect();
    assert_eq!((said.len(), &said[0]["set"], &said[0]["class"]), (1, &"test".into(), &"no".into()));
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--data", "no.csv"];
    let outcome = place.run(&eval);
    let line =
        "the rows of no.csv are all of one class, no: the AUC is undefined, and other measures mean little";
    assert_eq!((outcome.code, outcome.stderr.trim_end()), (0, format!("warning: {line}").as_str()));
}

/// Predictions are never shifted against the lines of their file. The place of a row in a piece of a file is
/// a 32-bit number.
#[test]
fn blank_lines_are_skipped_however_many_they_are() {
    let place = Workplace::new();
    let text = "a,b,y\n1,2,p\n3,4,q\n".to_owned() + &"\n".repeat(9 << 20) + "5,6,p\n7,q\n";
    place.write("t.csv", &text);
    let outcome = place.run(&["inspect", "t.csv"]);
    assert_eq!(outcome.code, 2);
    let expected = format!("row {}: expected 3 cells", 3 + (9 << 20) + 2);
    assert!(outcome.stderr.contains(&expected), "{}", outcome.stderr);
    place.write("t.csv", text.replace("7,q", "7,8,q"));
    let outcome = place.succeed(&["inspect", "t.csv"]);
    assert!(outcome.stdout.starts_with("4 rows, "), "{}", outcome.stdout);
}

#[test]
fn a_blank_line_in_one_column_is_refused() {
    let place = Workplace::new();
    place.write("t.csv", "a,class\n".to_owned() + &rows(&[&number, &class], ""));
    train(&place, &["--data", "t.csv"]);
    let predicted = |text: &str| {
        place.write("new.csv", text);
        place.run(&["predict", "--model", "m.safetensors", "new.csv"])
    };
    for (text, row) in [
        ("a\n1\n\n3\n", 3),
        ("a\r\n1\r\n\r\n3\r\n", 3),
        ("a\n1\n2\n \n\n3", 4),
        ("a\n\n1\n", 2),
        ("a\r1\r\r3\r", 3),
    ] {
        let outcome = predicted(text);
        let line = format!(
            "error: new.csv, row {row}: expected a value (a blank line may be a missing value: write NA, or remove the line), found a blank line"
        );
        assert_eq!((outcome.code, outcome.error()), (2, line.as_str()), "{text:?}");
    }
    // After the last row no row can be shifted, and empty quotes are a missing cell.
    for (text, rows) in [
        ("a\r\n1\r\n2\r\n\r\n\r\n", 2),
        ("\na\n1\n2\n3\n \n", 3),
        ("a\n1\n\"\"\n3\n", 3),
        ("a\n1\nNA\n3\n", 3),
    ] {
        let outcome = predicted(text);
        assert_eq!(
            (outcome.code, outcome.stdout.lines().count()),
            (0, rows + 1),
            "{text:?}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn inspect_reports_rounded_numbers() {
    let place = Workplace::new();
    let large = |row: usize| (1_000_000_001 + 7_000_000 * (row as u64 * 7 % 10)).to_string();
    place.write("t.csv", "a,large,class\n".to_owned() + &rows(&[&number, &large, &class], ""));
    let text = place.succeed(&["inspect", "t.csv"]).stdout;
    let line = "numbers beyond 16,777,216 are rounded to 24 bits, as they are read: in large";
    assert!(text.lines().any(|found| found == line), "{text}");
    let columns = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects()[0]["columns"].clone();
    assert_eq!((&columns[0]["rounded"], &columns[1]["rounded"]), (&false.into(), &true.into()));
}

/// Samples are rows of the file, also for held-out rows; and rows known from training are distinguished from
/// new ones.
#[test]
fn errors_are_rows_of_the_file_and_training_rows_are_reported() {
    let place = Workplace::new();
    // The labels are random: about half of the rows are misclassified.
    let label = |row: usize| class(row * row / 3 + row / 7);
    place.write("t.csv", "a,class\n".to_owned() + &rows(&[&number, &label], ""));
    let eval = |options: &[&str]| {
        let common = ["eval", "--model", "m.safetensors", "--device", "cpu", "--errors", "--format", "json"];
        let outcome = place.run(&[&common[..], options].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let found = outcome.objects().remove(0);
        let errors = found["errors"].as_array().unwrap().clone();
        assert!(!errors.is_empty());
        for error in &errors {
            let row = error["sample"].as_u64().unwrap() as usize - 1;
            // Rows of a second file continue the count.
            assert_eq!(error["class"], label(if row < 61 { row } else { row - 60 }), "{error}");
        }
        (found["samples"].as_u64().unwrap(), errors, outcome.stderr)
    };
    let common = ["--data", "t.csv", "--target", "class"];
    train(&place, &[&common[..], &["--test-fraction", "0.4"]].concat());
    let (samples, errors, told) = eval(&[]);
    assert!((23..=25).contains(&samples) && told.is_empty(), "{samples} {told}");
    assert!(errors.iter().any(|error| error["sample"].as_u64().unwrap() > 30), "{errors:?}");
    let training = "warning: the model was trained on rows of t.csv, so scores on new rows may be worse";
    let (samples, _, told) = eval(&["--data", "t.csv"]);
    let others = "; leave out --data to use the rows held out for testing";
    assert_eq!((samples, told.trim_end()), (60, format!("{training}{others}").as_str()));
    // A model without held-out rows, rows in addition to the training rows, and a rewritten file.
    train(&place, &common);
    assert_eq!(eval(&[]).2.trim_end(), training);
    place.write("new.csv", "a,class\n".to_owned() + &rows(&[&number, &label], ""));
    assert_eq!(eval(&["--data", "new.csv"]).2, "");
    let both =
        "warning: the model was trained on rows of new.csv and 1 more, so scores on new rows may be worse";
    assert_eq!(eval(&["--data", "new.csv", "t.csv"]).2.trim_end(), both);
    place.write("t.csv", "a,class\n".to_owned() + &rows(&[&number, &label], "") + "1,no\n");
    assert_eq!(eval(&["--data", "t.csv"]).2, "");
}

#[test]
fn names_separated_by_commas_are_reported() {
    let place = Workplace::new();
    place.write("t.csv", table());
    for (option, what) in [("--exclude", "a column to leave out"), ("--include", "an input column")] {
        let line = format!(
            "t.csv, row 1: expected {what} \"w, g\", a name; separate several by blanks, found the columns a, w, g, t, class"
        );
        refused(&place, &["--data", "t.csv", "--target", "class", option, "w, g"], &line);
    }
    // Not a list of columns.
    let line = "t.csv, row 1: expected a column to leave out \"w,x\", found the columns a, w, g, t, class";
    refused(&place, &["--data", "t.csv", "--target", "class", "--exclude", "w,x"], line);
    assert_eq!(train(&place, &["--data", "t.csv", "--target", "class", "--exclude", "w", "g"]).code, 0);
}

#[test]
fn quotes_after_blanks_are_quotes() {
    let place = Workplace::new();
    let spaced = |row: usize| {
        let city = ["Rome, IT", "Oslo", "a \"\"b\"\""][row % 3];
        format!("{}, \"{city}\",\t\"{}\" \n", row * 7 % 10, ["no", "yes"][row % 2])
    };
    place.write("t.csv", "x, \"city\" , \"label\"\n".to_owned() + &(0..150).map(spaced).collect::<String>());
    let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    let names = |list: &serde_json::Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&found["columns"]), ["x", "city"]);
    assert_eq!(names(&found["columns"][1]["categories"]), ["Oslo", "Rome, IT", "a \"b\""]);
    assert_eq!(names(&found["classes"]), ["no", "yes"]);
    // The first one occurs late, and contains a line end.
    let late =
        (0..300).map(|row| format!("{}, Rome, {}\n", row % 10, ["no", "yes"][row % 2])).collect::<String>();
    place.write(
        "t.csv",
        "x, city, label\n".to_owned() + &late + "3, \"Rome,\nIT\", \"no\"\n4, 5\" Rome, yes\n",
    );
    let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    assert_eq!(
        (found["rows"].as_u64(), names(&found["classes"])),
        (Some(302), vec!["no".to_owned(), "yes".to_owned()])
    );
    assert_eq!(names(&found["columns"][1]["categories"]), ["Rome", "5\" Rome", "Rome,\nIT"]);
}

#[test]
fn columns_aligned_by_blanks_are_recognised() {
    let place = Workplace::new();
    let row = |row: usize| {
        format!(
            "  {:.2}   {:>5}\t{:<4}  {}\n",
            row as f64 / 8.0,
            row * 37 % 101,
            row % 3,
            ["red car", "bus"][row % 2]
        )
    };
    let quoted = |at: usize| row(at).replace("red car", "\"red  car\"").replace("bus", "\"bus\"");
    let text = "a  b c   kind\n".to_owned() + &(0..150).map(quoted).collect::<String>();
    place.write("t.txt", &text);
    for more in [&[][..], &["--delimiter", "space"]] {
        let arguments = [&["inspect", "t.txt", "--format", "json"], more].concat();
        let found = place.succeed(&arguments).objects().remove(0);
        assert_eq!((found["rows"].as_u64(), found["columns"].as_array().unwrap().len()), (Some(150), 3));
        assert_eq!(found["classes"][1]["name"], "red  car");
    }
    assert!(place.succeed(&["inspect", "t.txt"]).stdout.contains("--delimiter space"));
    // Without a header, and only numbers.
    let plain: String =
        (0..150).map(|row| format!(" {}  {:>4}   {}\n", row % 7, row * 37 % 101, row % 2)).collect();
    place.write("t.txt", &plain);
    place.succeed(&[
        "train",
        "--device",
        "cpu",
        "--epochs",
        "1",
        "--data",
        "t.txt",
        "--target",
        "-1",
        "--out",
        "m.safetensors",
    ]);
    assert_eq!(place.succeed(&["predict", "--model", "m.safetensors", "t.txt"]).stdout.lines().count(), 151);
    // Texts of several words are not columns.
    place.write("t.txt", "text\none two\nthree four five\n");
    assert!(place.run(&["inspect", "t.txt"]).error().contains("only one column"));
}
