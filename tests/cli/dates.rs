//! Columns of dates as numeric inputs.

use serde_json::json;

use crate::program::Workplace;

const CPU: [&str; 4] = ["--device", "cpu", "--format", "json"];

/// Rows of a time and a temperature: higher in summer, and by day. Every tenth time is missing.
fn weather(rows: std::ops::Range<usize>) -> String {
    let row = |row: usize| {
        let (month, day, hour) = (1 + row % 12, 1 + row * 5 % 28, row * 7 % 24);
        let warm = 20.0 - 3.0 * (month as f64 - 7.0).abs() - 0.5 * (hour as f64 - 14.0).abs();
        let time =
            if row % 10 == 9 { String::new() } else { format!("2023-{month:02}-{day:02}T{hour:02}:00") };
        format!("{time},{},{warm}\n", row % 5)
    };
    "when,noise,warm\n".to_owned() + &rows.map(row).collect::<String>()
}

#[test]
fn dates_are_numbers_by_default() {
    let place = Workplace::new();
    // More rows than are inspected at first, and than are read in one block.
    place.write("t.csv", weather(0..6000));
    place.write("v.csv", weather(6000..6240));
    let train = [
        "train",
        "--data",
        "t.csv",
        "--test",
        "v.csv",
        "--target",
        "warm",
        "--task",
        "regression",
        "--epochs",
        "8",
    ];
    let more = ["--hidden", "16", "--optimizer", "adam", "--lr", "0.02", "--out", "m.safetensors"];
    let outcome = place.succeed(&[&train[..], &more, &CPU].concat());
    let line = "1 column holds dates: when; their inputs are days since 1970, month, day of the week and hour, if any; use --categorical to treat them as text";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    let r2 = outcome.objects().last().unwrap()["test_r2"].as_f64().unwrap();
    assert!(r2 > 0.8, "{r2}");
    let model = place.model("m.safetensors");
    let columns = json!(["when.days", "when.month", "when.weekday", "when.hour", "noise"]).to_string();
    assert_eq!(model.columns(), columns);
    assert_eq!(model.at("/data/schema/inputs/3/position"), 0);
    assert_eq!(model.at("/data/schema/dates"), &json!([[0, 4]]));
    let found =
        place.succeed(&[&["eval", "--model", "m.safetensors"][..], &CPU].concat()).objects().remove(0);
    assert!((found["r2"].as_f64().unwrap() - r2).abs() < 1e-9, "{found}");
    // Columns are found by name, in any order, and a single row has the same prediction.
    place.write("one.csv", "noise,when\n3,2023-07-02 14:00\n");
    place.write("same.csv", "when,noise\n2023/7/2 16:00:00+02:00,3\n");
    let predicted = ["one.csv", "same.csv"]
        .map(|file| place.succeed(&["predict", "--model", "m.safetensors", file, "--device", "cpu"]).stdout);
    assert_eq!(predicted[0], predicted[1]);
    let warm: f64 = predicted[0].lines().nth(1).unwrap().parse().unwrap();
    assert!((warm - 20.0).abs() < 4.0, "{warm}");
    place.write("bad.csv", "when,noise\n2023-07-02,1\nsoon,3\n");
    let bad = place.run(&["predict", "--model", "m.safetensors", "bad.csv", "--device", "cpu"]);
    let expected = "error: bad.csv, row 3, column 1 (when): expected a date such as 2026-11-22, as in the training table \
                    (use --categorical to treat the column as text in training, or --missing-marker to name a text that stands for a missing date), \
                    found \"soon\"";
    assert_eq!((bad.code, bad.error()), (2, expected));
    // Exports use the same numbers as inputs.
    place.succeed(&["export", "--format", "onnx", "--model", "m.safetensors", "--out", "exported"]);
    let exported =
        place.succeed(&["export", "--format", "c", "--model", "m.safetensors", "--out", "-"]).stdout;
    assert!(exported.contains("when.days") && exported.contains("noise"), "{exported}");
}

#[test]
fn dates_without_times_have_no_hour_and_may_be_text() {
    let place = Workplace::new();
    let row =
        |row: usize| format!("2024-0{}-1{},{},{}\n", 1 + row % 3, row % 2, row % 7, ["x", "y"][row % 2]);
    let table = "day,a,class\n".to_owned() + &(0..60).map(row).collect::<String>();
    place.write("t.csv", &table);
    let inputs = |arguments: &[&str]| {
        let common =
            ["train", "--data", "t.csv", "--target", "class", "--epochs", "1", "--out", "m.safetensors"];
        place.succeed(&[&common[..], arguments, &CPU].concat());
        place.model("m.safetensors").columns()
    };
    assert_eq!(inputs(&[]), json!(["day.days", "day.month", "day.weekday", "a"]).to_string());
    assert_eq!(inputs(&["--categorical", "day"]), json!(["day", "a"]).to_string());
    assert_eq!(inputs(&["--include", "day"]), json!(["day.days", "day.month", "day.weekday"]).to_string());
    let inspected = place.succeed(&["inspect", "t.csv", "--target", "class"]).stdout;
    assert!(
        inspected.contains("1 column holds dates") && inspected.contains("--include day a"),
        "{inspected}"
    );
    assert!(inspected.contains("day.weekday"), "{inspected}");
    place.write("t.csv", table + &row(3).repeat(100) + "2024-05-01 12:00,1,x\n");
    let outcome = place.run(&["train", "--data", "t.csv", "--target", "class", "--device", "cpu"]);
    assert!(
        outcome.code == 2 && outcome.error().contains("expected a date without a time of day"),
        "{}",
        outcome.stderr
    );
}

/// A cell is parsed once for all its inputs; neighbouring date columns must not be confused.
#[test]
fn dates_side_by_side_have_their_own_parts() {
    let place = Workplace::new();
    let table = |day: &dyn Fn(usize) -> String| {
        let row = |row: usize| format!("{}.5,{},{}\n", row % 7, day(row), ["x", "y"][row % 2]);
        (0..200).map(row).collect::<String>()
    };
    let days = |row: usize| {
        (
            format!("2024-0{}-1{}", 1 + row % 3, row % 2),
            format!("19{}-07-0{} 1{}:30", 60 + row % 9, 1 + row % 5, row % 8),
        )
    };
    place
        .write("t.csv", "a,from,to,class\n".to_owned() + &table(&|row| [days(row).0, days(row).1].join(",")));
    place.write(
        "u.csv",
        "a,to,between,from,class\n".to_owned()
            + &table(&|row| [&days(row).1, "0", &days(row).0].map(String::from).join(",")),
    );
    place.succeed(&[
        "train",
        "--data",
        "t.csv",
        "--epochs",
        "2",
        "--hidden",
        "4",
        "--out",
        "m.safetensors",
        "--device",
        "cpu",
    ]);
    let predicted = ["t.csv", "u.csv"]
        .map(|file| place.succeed(&["predict", "--model", "m.safetensors", file, "--device", "cpu"]).stdout);
    assert_eq!(predicted[0], predicted[1]);
    let inspected = place.succeed(&[&["inspect", "t.csv"][..], &CPU[2..]].concat()).objects().remove(0);
    let numbers = |at: usize| {
        ["least", "median", "greatest"].map(|name| inspected["columns"][at][name].as_f64().unwrap())
    };
    // 2024-01-10 is day 19,732, a Wednesday; 1960-07-01 is day -3,471, a Friday, and 1968-07-05 day -545.
    assert_eq!([numbers(1)[0], numbers(1)[2], numbers(2)[2]], [19_732.0, 19_793.0, 3.0]);
    assert_eq!(
        [numbers(4)[0], numbers(4)[2], numbers(5)[1], numbers(7)[0], numbers(7)[2]],
        [-3471.0, -545.0, 7.0, 10.5, 17.5]
    );
}

#[test]
fn dates_whose_year_comes_last_are_named() {
    let place = Workplace::new();
    let rows: String = (0..60)
        .map(|row| format!("{}/{}/2024,{},{}\n", 1 + row % 28, 1 + row % 3, row % 7, row % 2))
        .collect();
    place.write("t.csv", "when,x,class\n".to_owned() + &rows);
    let train = ["train", "--data", "t.csv", "--target", "class", "--epochs", "1", "--out", "m.safetensors"];
    let outcome = place.succeed(&[&train[..], &CPU].concat());
    let line = "column when holds dates such as \"1/1/2024\", which are treated as text; write them as 2024-12-31 to use them as dates";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

#[test]
fn dates_of_zeros_are_missing_and_months_may_have_names() {
    let place = Workplace::new();
    for odd in [0, 50, 150] {
        for (cell, said) in [
            ("0000-00-00", true),
            ("0000-00-00 00:00:00", true),
            ("\"Apr 01, 2020\"", false),
            ("1-Apr-2020", false),
        ] {
            let row = |row: usize| {
                let date = if row == odd {
                    cell.to_owned()
                } else {
                    format!("2020-{:02}-{:02}", row % 12 + 1, row % 28 + 1)
                };
                format!("{date},{},{}\n", row % 7, ["a", "b"][row % 2])
            };
            place.write("t.csv", "when,x,y\n".to_owned() + &(0..200).map(row).collect::<String>());
            let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
            assert_eq!(found["columns"][0]["name"], "when.days", "{cell} {odd}");
            assert_eq!(found["columns"][0]["missing"], usize::from(said));
            let train = [
                "train",
                "--device",
                "cpu",
                "--epochs",
                "1",
                "--data",
                "t.csv",
                "--target",
                "y",
                "--out",
                "m.safetensors",
            ];
            let stderr = place.succeed(&train).stderr;
            let line = "1 date of zeros (0000-00-00) is treated as missing";
            assert_eq!(stderr.contains(line), said, "{stderr}");
        }
        // Other text gives the same error at any place.
        let row = |row: usize| {
            format!(
                "{},{},{}\n",
                if row == odd { "soon" } else { "2020-01-02" },
                row % 7,
                ["a", "b"][row % 2]
            )
        };
        place.write("t.csv", "when,x,y\n".to_owned() + &(0..200).map(row).collect::<String>());
        let outcome = place.run(&["inspect", "t.csv"]);
        assert!(
            outcome.code == 2 && outcome.error().contains("expected a date without a time of day"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.error().contains(&format!("row {}", odd + 2)));
    }
    // A column of only such dates.
    let row = |row: usize| {
        format!(
            "\"{} {}, 2020\",{}\n",
            ["Jan", "February", "Sept"][row % 3],
            row % 28 + 1,
            ["a", "b"][row % 2]
        )
    };
    place.write("t.csv", "when,y\n".to_owned() + &(0..60).map(row).collect::<String>());
    let found = place.succeed(&["inspect", "t.csv", "--format", "json"]).objects().remove(0);
    assert_eq!(
        (&found["columns"][1]["name"], &found["columns"][1]["greatest"]),
        (&json!("when.month"), &json!(9.0))
    );
}
