//! `tinytrain inspect`: detected properties of data, and contents of models.

use serde_json::json;

use crate::program::{Rows, Workplace};

const TABLE: &str = "id;name;colour;size;class\n1;n1;red;1,5;x\n2;n2;;2,5;y\n3;n3;red;;x\n4;n4;blue;10;x\n";

#[test]
fn a_table_is_described() {
    let place = Workplace::new();
    place.write("t.csv", TABLE);
    let json = place.succeed(&["inspect", "t.csv", "--format", "json", "--exclude", "name"]).objects();
    assert_eq!(
        json[0],
        json!({
            "rows": 4,
            "image": null,
            "columns": [
                { "name": "colour", "position": 2, "missing": 1, "distinct": 2, "type": "categories",
                  "categories": [{ "name": "red", "rows": 2 }, { "name": "blue", "rows": 1 }] },
                { "name": "size", "position": 3, "missing": 1, "distinct": 3, "type": "number",
                  "least": 1.5, "median": 2.5, "greatest": 10.0, "rounded": false },
            ],
            "left_out": [{ "column": "id", "why": "numbers the rows" }],
            "task": "classification",
            "targets": ["class"],
            "classes": [{ "name": "x", "rows": 3 }, { "name": "y", "rows": 1 }],
        })
    );
    let text = place.succeed(&["inspect", "t.csv", "--exclude", "name"]).stdout;
    for line in [
        "4 rows, 2 input columns",
        "colour  categories        1         2  red 2, blue 1",
        "size    numbers           1         3  1.5 to 10, median 2.5",
        "left out column id: looks like a row number; use --include to use it",
        "target class, 2 classes",
        "x         3  75.00 %",
    ] {
        assert!(text.lines().any(|found| found.trim_end() == line), "no {line:?} in\n{text}");
    }
}

#[test]
fn its_command_line_reads_the_same_without_finding_anything_out() {
    let place = Workplace::new();
    place.write("a table.csv", TABLE);
    let options = ["--exclude", "name", "--missing-marker", "10"];
    let text = place.succeed(&[&["inspect", "a table.csv"][..], &options].concat()).stdout;
    let command = text.lines().last().unwrap();
    assert_eq!(
        command,
        "tinytrain train --data 'a table.csv' --header yes --delimiter ';' --decimal , --task classification --target class \
         --include colour size --categorical colour --missing-marker=10"
    );
    let robust = [
        "--scale",
        "robust",
        "--input-scaling",
        "--scale-target",
        "none",
        "--include",
        "name",
        "--categorical",
        "name",
    ];
    let said = place.succeed(&[&["inspect", "a table.csv"][..], &robust].concat()).stdout;
    assert!(said.trim_end().ends_with(" --categorical name --input-scaling=yes --scale=robust"), "{said}");
    let train = |options: &[&str], out: &str| {
        let common = ["--device", "cpu", "--hidden", "3", "--epochs", "2", "--out", out];
        place.succeed(&[&["train", "--data", "a table.csv"][..], options, &common].concat());
        place.model(out)
    };
    let said: Vec<&str> = command.split(' ').skip(5).map(|word| word.trim_matches('\'')).collect();
    let (found, said) = (train(&options, "m1"), train(&said, "m2"));
    assert!(found.tensors == said.tensors);
    assert_eq!(found.at("/transform/columns").to_string(), said.at("/transform/columns").to_string());
}

#[test]
fn a_model_and_images_are_described() {
    let place = Workplace::with_data();
    let text = place.succeed(&["inspect", "data"]).stdout;
    assert!(text.contains("images of 8 x 8"), "{text}");
    place.write("t.csv", TABLE.replace("10", "2,5"));
    let options =
        ["--exclude", "name", "--device", "cpu", "--hidden", "3", "--epochs", "2", "--out", "m.safetensors"];
    place.succeed(
        &[&["train", "--preset", "plain", "--data", "t.csv", "--scale", "minmax"][..], &options].concat(),
    );
    let text = place.succeed(&["inspect", "--model", "m.safetensors"]).stdout;
    for part in [
        "5-3-2 network, 26 parameters, loss cross-entropy",
        "one of blue, red",
        "a separate category",
        "(value - 1.5) / 1",
        "2.5, and an input that marks missing values",
        "optimizer: sgd",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let json = place.succeed(&["inspect", "--model", "m.safetensors", "--format", "json"]).objects();
    assert_eq!(
        json[0]["columns"][1],
        json!({ "name": "size", "inputs": 2, "type": "number", "center": 1.5, "width": 1.0, "fill": 2.5, "missing": true })
    );
    let outcome = place.run(&["inspect", "t.csv", "--task", "regression"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.error().contains("row 2, column 5 (class)"), "{}", outcome.stderr);
}

#[test]
fn columns_of_groups_and_times_are_not_inputs() {
    let place = Workplace::new();
    let row =
        |row: usize| format!("{},p{},2026/11/{:02} 10:30,{}\n", row * 7 % 10, row % 9, 1 + row % 28, row % 2);
    place.write("t.csv", "a,a person,day,y\n".to_owned() + &(0..60).map(row).collect::<String>());
    for (option, column, said) in
        [("--group", "a person", "--group='a person'"), ("--time", "day", "--time=day")]
    {
        let other = if column == "day" { "a person" } else { "day" };
        let options = ["t.csv", "--target", "y", option, column, "--exclude", other];
        let json = place.succeed(&[&["inspect", "--format", "json"][..], &options].concat()).objects();
        let columns = json[0]["columns"].as_array().unwrap();
        assert_eq!((columns.len(), &columns[0]["name"]), (1, &json!("a")));
        let text = place.succeed(&[&["inspect"][..], &options].concat()).stdout;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[lines.len() - 2],
            format!(
                "the same with all options spelled out ({option} needs rows to hold out: add --validation-fraction, --test-fraction or \
                 --folds):"
            )
        );
        let command = lines[lines.len() - 1];
        assert!(command.ends_with(&format!(" --target y --include a {said}")), "{command}");
        let said = said.replace('\'', "");
        let mut words: Vec<&str> =
            command.split(' ').skip(1).take_while(|word| !word.starts_with(option)).collect();
        words.extend([
            said.as_str(),
            "--test-fraction",
            "0.2",
            "--device",
            "cpu",
            "--epochs",
            "1",
            "--out",
            "m.safetensors",
        ]);
        place.succeed(&words);
        assert_eq!(place.model("m.safetensors").setting(&option[2..]), column);
    }
    let outcome = place.run(&["inspect", "t.csv", "--target", "y", "--time", "a person"]);
    assert_eq!(outcome.code, 2);
    let line = "error: t.csv, row 2, column 2 (a person): expected a time: a number, or a date such as 2026-11-22, 2026/11/22 10:30 or \
                2026-11-22T10:30:00+02:00, found \"p0\"";
    assert_eq!(outcome.error(), line);
    assert_eq!(place.run(&["inspect", "t.csv", "--group", "day", "--time", "day"]).code, 2);
}

#[test]
fn many_columns_are_a_range() {
    let place = Workplace::new();
    let rows = Rows::new(60, 3);
    place.write("t.csv", rows.csv());
    let text = place.succeed(&["inspect", "t.csv"]).stdout;
    let command = text.lines().last().unwrap();
    assert!(command.ends_with(" --target class --include p0..p63"), "{command}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let more = ["--device", "cpu", "--hidden", "4", "--epochs", "1", "--out", "m.safetensors"];
    place.succeed(&[&words[..], &more].concat());
    let names: Vec<String> = (0..64).map(|pixel| format!("p{pixel}")).collect();
    assert_eq!(place.model("m.safetensors").columns(), json!(names).to_string());
    // Numbers that are not pixels share a line.
    let row = |row: usize| {
        let cells: Vec<String> = (0..70).map(|column| format!("{}.5", row * column % 50)).collect();
        format!("{},{}\n", cells.join(","), ["a", "b"][row % 2])
    };
    let names: Vec<String> = (0..70).map(|column| format!("c{column}")).collect();
    place.write("wide.csv", format!("{},kind\n", names.join(",")) + &(0..60).map(row).collect::<String>());
    let text = place.succeed(&["inspect", "wide.csv"]).stdout;
    assert!(text.contains("c0..c69  numbers        0        50  0.5 to 49.5"), "{text}");
}
