//! `tinytrain importance`.

use serde_json::Value;

use crate::program::{Rows, Workplace};

/// A table in which only `color` determines the class, while `size` and `shape` are uninformative.
fn colors(rows: usize) -> String {
    let row = |row: usize| {
        let color = ["red", "green", "blue"][row * 7 % 3];
        let class = if color == "blue" { "cold" } else { "warm" };
        format!("{},{color},{},{class}\n", row * 5 % 11, ["round", "flat"][row * 3 / 5 % 2])
    };
    "size,color,shape,class\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

fn trained(arguments: &[&str]) -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", colors(300));
    let train = ["train", "--data", "t.csv", "--hidden", "8", "--epochs", "60", "--device", "cpu", "--quiet"];
    place.succeed(&[&train[..], &["--out", "m.safetensors"], arguments].concat());
    place
}

fn found(place: &Workplace, arguments: &[&str]) -> Value {
    let common = ["importance", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    place.succeed(&[&common[..], arguments].concat()).objects().remove(0)
}

#[test]
fn one_column_decides_everything_and_the_others_nothing() {
    let place = trained(&["--test-fraction", "0.2"]);
    let all = found(&place, &[]);
    assert_eq!(
        (&all["metric"], &all["value"], &all["samples"]),
        (&"accuracy".into(), &1.0.into(), &60.into())
    );
    let columns = all["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 3, "a column of categories is one");
    assert_eq!(columns[0]["column"], "color");
    // Two of three rows are warm: two random rows disagree in 4 of 9 cases.
    let importance = columns[0]["importance"].as_f64().unwrap();
    assert!((importance - 4.0 / 9.0).abs() < 0.1, "{importance}");
    let deviation = columns[0]["deviation"].as_f64().unwrap();
    assert!(0.0 < deviation && deviation < 0.15, "{deviation}");
    for other in &columns[1..] {
        assert_eq!((&other["importance"], &other["deviation"]), (&0.0.into(), &0.0.into()), "{other}");
    }
    // The training file selects its held-out rows, and any other file all its rows.
    assert_eq!(found(&place, &["--data", "t.csv"]), all);
    assert_eq!(found(&place, &["--data", "./t.csv"]), all);
    place.write("other.csv", colors(40));
    assert_eq!(found(&place, &["--data", "other.csv"])["samples"], 40);
    // The same seed results in the same shuffles.
    assert_eq!(found(&place, &["--seed", "1"]), all);
    assert_ne!(found(&place, &["--seed", "2"])["columns"][0]["importance"], columns[0]["importance"]);
    let some = found(&place, &["--rows", "17"]);
    assert_eq!((&some["samples"], &some["data"], &some["value"]), (&17.into(), &all["data"], &1.0.into()));
    assert_eq!(found(&place, &["--rows", "60"]), all);
    let loss = found(&place, &["--metric", "log-loss", "--repeats", "3"]);
    assert!(loss["columns"][0]["importance"].as_f64().unwrap() > 1.0, "{loss}");
    assert_eq!(loss["columns"][0]["column"], "color");
}

#[test]
fn people_see_bars_and_a_picture() {
    let place = trained(&["--test-fraction", "0.2"]);
    let text = place
        .succeed(&["importance", "--model", "m.safetensors", "--device", "cpu", "--svg", "i.svg"])
        .stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(lines[3].starts_with("color") && lines[3].ends_with(&"█".repeat(30)), "{text}");
    assert!(!lines[4].contains('█') && !lines[5].contains('█'), "{text}");
    let svg = std::fs::read_to_string(place.path("i.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("color") && svg.contains("decrease of accuracy"));
    let few =
        place.succeed(&["importance", "--model", "m.safetensors", "--device", "cpu", "--rows", "17"]).stdout;
    assert!(few.starts_with("17 samples, chosen among the 60 of t.csv"), "{few}");
    let outcome = place.run(&["importance", "--model", "m.safetensors", "--device", "cpu", "--rows", "0"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let outcome = place.run(&["importance", "--model", "m.safetensors", "--device", "cpu", "--svg", "t.csv"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.error().contains("--svg: cannot write to t.csv, which holds the data"),
        "{}",
        outcome.stderr
    );
    for name in ["i.png", "i.PDF", "i"] {
        let importance = ["importance", "--model", "m.safetensors", "--device", "cpu", "--svg", name];
        let outcome = place.run(&importance);
        let line = format!("error: --svg: expected a file name that ends with .svg, found {name}");
        assert_eq!((outcome.code, outcome.error()), (2, line.as_str()));
        assert!(!place.path(name).exists(), "{name}");
    }
}

#[test]
fn values_have_importances_too_and_images_none() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{},{}\n", row * 7 % 13, row * 5 % 11, 3 * (row * 7 % 13));
    place.write("t.csv", "a,b,price\n".to_owned() + &(0..200).map(row).collect::<String>());
    let train = ["train", "--data", "t.csv", "--target", "price", "--task", "regression", "--hidden", "none"];
    place.succeed(
        &[
            &train[..],
            &["--preset", "plain", "--epochs", "30", "--device", "cpu", "--quiet", "--out", "m.safetensors"],
        ]
        .concat(),
    );
    let found = found(&place, &[]);
    assert_eq!((&found["metric"], &found["columns"][0]["column"]), (&"r2".into(), &"a".into()));
    // Shuffling values gives errors of twice the variance, so that R2 falls from 1 to -1.
    let [a, b] = [0, 1].map(|column| found["columns"][column]["importance"].as_f64().unwrap());
    assert!((a - 2.0).abs() < 0.15 && b.abs() < 0.05, "{a} {b}");
    let outcome =
        place.run(&["importance", "--model", "m.safetensors", "--device", "cpu", "--metric", "auc"]);
    let expected = "error: --metric: expected r2, rmse or mae for a model of values, found auc";
    assert_eq!((outcome.code, outcome.error()), (2, expected));

    place.write_idx("data/train", &Rows::new(40, 1));
    place.train(&["--data", "data", "--epochs", "1", "--device", "cpu", "--out", "m.safetensors"]);
    let outcome = place.run(&["importance", "--model", "m.safetensors", "--device", "cpu"]);
    assert_eq!(
        (outcome.code, outcome.error()),
        (2, "error: m.safetensors: expected a model of a table, found one of images")
    );
}

#[test]
fn a_picture_holds_no_control_characters() {
    let place = Workplace::new();
    let text = colors(60).replacen("size", "si\u{1b}[2Jze\u{202e}", 1);
    place.write("t.csv", text);
    let train = ["train", "--data", "t.csv", "--hidden", "4", "--epochs", "2", "--device", "cpu", "--quiet"];
    place.succeed(&[&train[..], &["--preset", "plain", "--out", "m.safetensors"]].concat());
    place.succeed(&["importance", "--model", "m.safetensors", "--device", "cpu", "--svg", "i.svg"]);
    let svg = std::fs::read_to_string(place.path("i.svg")).unwrap();
    assert!(svg.contains("\\u{1b}[2J"), "{svg}");
    assert!(!svg.chars().any(|letter| letter.is_control() && letter != '\n' || letter == '\u{202e}'));
}
