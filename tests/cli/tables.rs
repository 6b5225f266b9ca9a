//! Tables of numbers: encoding of values, and selection of columns.

use crate::program::{Outcome, Points, Rows, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Runs `train` of a small network on the CPU engine, saved as `m`.
fn train(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["train", "--device", "cpu", "--hidden", "8", "--out", "m.safetensors", "--epochs", "2"];
    place.run(&[&common[..], arguments].concat())
}

/// Runs the same, which must succeed.
#[track_caller]
fn trained(place: &Workplace, arguments: &[&str]) -> Outcome {
    let outcome = train(place, &[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome
}

/// Runs the same, which must fail with one line that contains these parts.
#[track_caller]
fn refused(place: &Workplace, arguments: &[&str], parts: &[&str]) {
    let outcome = train(place, arguments);
    assert_eq!(outcome.code, 2, "{arguments:?}: {} {}", outcome.stdout, outcome.stderr);
    for part in parts {
        assert!(outcome.error().contains(part), "no {part:?} in {}", outcome.stderr);
    }
}

fn bundled(name: &str) -> String {
    format!("{}/data/tables/{name}.csv", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn defaults_learn_the_bundled_tables() {
    let place = Workplace::new();
    // Of iris only 30 rows are test rows, so a single split is not conclusive.
    for (name, seeds, target, least) in [
        ("iris", 1..=3, None, 0.9),
        ("wine", 1..=1, None, 0.9),
        ("breast_cancer", 1..=1, None, 0.9),
        ("digits", 1..=1, Some("digit"), 0.92),
    ] {
        let file = bundled(name);
        let accuracies: Vec<f64> = seeds
            .map(|seed: u32| {
                let seed = seed.to_string();
                let common =
                    ["train", "--data", &file, "--test-fraction", "0.2", "--device", "cpu", "--quiet"];
                let target = target.map(|target| ["--target", target]);
                let target: Vec<&str> = target.into_iter().flatten().collect();
                let line = place.succeed(&[&common[..], &["--seed", &seed], &target].concat()).stdout;
                let accuracy = line.strip_prefix("test accuracy ").unwrap().split_once(" %, model ").unwrap();
                accuracy.0.parse::<f64>().unwrap() / 100.0
            })
            .collect();
        let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
        assert!(mean >= least, "{name}: {accuracies:?}");
    }
}

#[test]
fn a_run_reports_its_choices() {
    let place = Workplace::new();
    let arguments =
        ["train", "--device", "cpu", "--hidden", "8", "--out", "m.safetensors", "--test-fraction", "0.2"];
    let table = bundled("iris");
    let iris = [&arguments[..], &["--data", &table]].concat();
    let text = place.succeed(&[&iris[..], &["--preset", "plain"]].concat()).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "120 rows, 4 inputs scaled, target species of 3 classes: setosa, versicolor, virginica"
    );
    assert_eq!(
        lines[2],
        "342 epochs of 8 steps, batches of 16 rows (chosen for this table size), learning rate 0.1"
    );
    let text = place.succeed(&iris).stdout;
    assert_eq!(
        text.lines().nth(2),
        Some(
            "64 epochs of 2 steps, batches of 64 rows (--preset table), adam, learning rate 0.005 (coslog4)"
        )
    );
}

#[test]
fn rows_sorted_by_label_are_learnt_like_others() {
    let place = Workplace::new();
    place.write("sorted.csv", Points::new(12_000, 5).sorted().csv(["0", "1", "2"]));
    let target = ["--label-column", "kind"];
    let objects = trained(&place, &[&["--data", "sorted.csv"], &target[..]].concat()).objects();
    let eval =
        ["eval", "--model", "m.safetensors", "--data", "sorted.csv", "--device", "cpu", "--format", "json"];
    let evaluated =
        place.succeed(&[&eval[..], &target].concat()).objects().remove(0)["accuracy"].as_f64().unwrap();
    let last = objects.iter().rfind(|object| object["event"] == "epoch").unwrap();
    let trained_with = last["train_accuracy"].as_f64().unwrap();
    assert!((evaluated - trained_with).abs() < 0.03, "{evaluated} of {trained_with}");
    assert!(evaluated > 0.8, "{evaluated}");
}

#[test]
fn images_sorted_by_label_are_read_first_on_request() {
    let place = Workplace::new();
    let mut rows = Rows::new(9000, 3);
    place.write("mixed.csv", rows.csv());
    // The first block contains every class, so that only the order is detected.
    let mut order: Vec<usize> = (0..9000).collect();
    order[4096..].sort_by_key(|row| rows.classes[*row]);
    rows.pixels = order.iter().map(|row| rows.pixels[*row]).collect();
    rows.classes = order.iter().map(|row| rows.classes[*row]).collect();
    place.write("sorted.csv", rows.csv());
    let remedy = "found rows that are sorted by label; use --read-all to read all rows before training";
    refused(&place, &["--data", "sorted.csv"], &["sorted.csv, column 1", remedy]);
    for arguments in [&["--data", "sorted.csv", "--read-all"][..], &["--data", "mixed.csv"]] {
        let last = trained(&place, arguments).objects();
        let last = last.iter().rfind(|object| object["event"] == "epoch").unwrap();
        let file = arguments[1];
        let eval =
            ["eval", "--model", "m.safetensors", "--data", file, "--device", "cpu", "--format", "json"];
        let evaluated = place.succeed(&eval).objects().remove(0)["accuracy"].as_f64().unwrap();
        assert!((evaluated - last["train_accuracy"].as_f64().unwrap()).abs() < 0.03, "{file}: {evaluated}");
    }
    refused(&place, &["--data", &bundled("iris"), "--read-all"], &["--read-all", "images in a CSV table"]);
}

#[test]
fn the_reason_for_waiting_for_all_images_is_reported() {
    let place = Workplace::new();
    place.write("images.csv", Rows::new(5000, 3).csv());
    place.write("few.csv", Rows::new(4000, 3).csv());
    place.write("points.csv", Points::new(5000, 3).csv(NAMES));
    for (file, options, reason) in [
        ("images.csv", &["--scale", "standard"][..], Some("the scaling of columns depends on all of them")),
        ("images.csv", &["--test-fraction", "0.1"], Some("some of them are held out")),
        ("images.csv", &[], None),
        ("few.csv", &["--test-fraction", "0.1"], None),
        // All rows of a table are read in any case.
        ("points.csv", &["--target", "kind"], None),
    ] {
        let outcome = train(&place, &[&["--data", file, "--preset", "plain"], options].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let line = outcome.stderr.lines().find(|line| line.contains("before training starts"));
        let expected =
            reason.map(|reason| format!("all 5,000 rows are read before training starts, as {reason}"));
        assert_eq!(line, expected.as_deref(), "{file} {options:?}");
    }
}

#[test]
fn one_odd_row_does_not_change_the_scaling_of_images() {
    let place = Workplace::new();
    let csv = Rows::new(200, 3).csv();
    place.write("t.csv", csv.clone() + "0,1.5,2,3" + &",0".repeat(61) + "\n");
    assert_eq!(trained(&place, &["--data", "t.csv"]).objects()[0]["scaling"], "1/255");
    assert_eq!(place.model("m.safetensors").at("/transform"), "bytes");
    assert_eq!(place.model("m.safetensors").at("/data/image/height"), 8);
    // 63 columns are not an image.
    let narrow: String = csv.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    place.write("narrow.csv", narrow);
    assert_eq!(trained(&place, &["--data", "narrow.csv"]).objects()[0]["scaling"], "columns");
}

#[test]
fn values_are_scaled_as_asked() {
    let place = Workplace::new();
    let points = Points::new(300, 8);
    place.write("t.csv", points.csv(NAMES));
    for (scale, expected) in [("none", "1"), ("bytes", "1/255"), ("standard", "columns"), ("auto", "columns")]
    {
        let objects =
            trained(&place, &["--data", "t.csv", "--preset", "plain", "--scale", scale, "--lr", "1e-9"])
                .objects();
        let model = place.model("m.safetensors");
        assert_eq!(objects[0]["scaling"], expected);
        assert_eq!(model.at("/transform").is_object(), expected == "columns");
    }
    let model = place.model("m.safetensors");
    let (means, deviations) = (model.scaling("center"), model.scaling("width"));
    assert_eq!((means.len(), deviations.len()), (3, 3));
    for column in 0..3 {
        // Values are read as the nearest f32.
        let values = || points.values.iter().map(|row| f64::from(row[column] as f32));
        let mean = values().sum::<f64>() / 300.0;
        let deviation = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / 300.0).sqrt();
        assert!((means[column] - mean).abs() <= 1e-12 * (mean.abs() + deviation), "{means:?}");
        assert!((deviations[column] / deviation - 1.0).abs() < 1e-10, "{deviations:?}");
    }
}

#[test]
fn the_target_is_named_or_known_by_its_name() {
    let place = Workplace::new();
    // Columns a, b, c and the label, as numbers so that its type does not reveal it.
    let rows = Points::new(60, 4).rows(["0", "1", "2"]);
    for name in ["label", "Class", "TARGET", "y", "Y"] {
        place.write("t.csv", format!("a,b,c,{name}\n{rows}"));
        assert_eq!(trained(&place, &["--data", "t.csv"]).objects()[0]["target"], name);
    }
    place.write("t.csv", format!("a,b,c,last\n{rows}"));
    for target in [["--target", "last"], ["--target", "3"], ["--target", "-1"], ["--label-column", "last"]] {
        let objects =
            trained(&place, &[&["--data", "t.csv", "--preset", "plain"][..], &target].concat()).objects();
        assert_eq!((&objects[0]["target"], &objects[0]["layers"][0]), (&"last".into(), &3.into()));
    }
    refused(
        &place,
        &["--data", "t.csv"],
        &["t.csv", "which column holds the labels", "a, b, c, last", "--target"],
    );
    place.write("t.csv", format!("a,class,c,label\n{rows}"));
    refused(&place, &["--data", "t.csv"], &["a, class, c, label", "--target"]);
    // Without a header: the only text column, or none.
    place.write("t.csv", Points::new(60, 4).rows(NAMES));
    assert_eq!(trained(&place, &["--data", "t.csv"]).objects()[0]["target"], 3);
    place.write("t.csv", rows);
    refused(&place, &["--data", "t.csv"], &["the columns 0 to 3, without names", "--target"]);
    let digit = |class: usize| format!("{class}{}\n", format!(",{}", 99 * class).repeat(784));
    place.write("t.csv", (0..20).map(|row| digit(row % 3)).collect::<String>());
    assert_eq!(trained(&place, &["--data", "t.csv"]).objects()[0]["target"], 0);
}

#[test]
fn columns_that_number_the_rows_are_left_out() {
    let place = Workplace::new();
    let numbered = |rows: usize, broken: usize| -> String {
        let text = Points::new(rows, 4).rows(NAMES);
        let line = |(row, line): (usize, &str)| {
            format!("{},{line}\n", if row >= broken { 7 * row + 1 } else { row })
        };
        ",a,b,c,kind\n".to_owned() + &text.lines().enumerate().map(line).collect::<String>()
    };
    place.write("t.csv", numbered(150, 150));
    let outcome = trained(&place, &["--data", "t.csv", "--preset", "plain"]);
    assert_eq!(outcome.objects()[0]["layers"], serde_json::json!([3, 8, 3]));
    assert!(outcome.error().contains("left out column") && outcome.error().contains("--include"));
    let quiet = trained(&place, &["--data", "t.csv", "--quiet"]);
    assert_eq!(quiet.stderr, "");
    let only = trained(&place, &["--data", "t.csv", "--preset", "plain", "--include", "0", "a"]);
    assert_eq!((&only.objects()[0]["layers"][0], only.stderr.as_str()), (&2.into(), ""));
    assert_eq!(place.model("m.safetensors").columns(), "[\"\",\"a\"]");

    // The column has a name, so that only its values are detected.
    place.write("t.csv", "number".to_owned() + &numbered(150, 120));
    refused(&place, &["--data", "t.csv"], &["t.csv", "column number", "row 122", "--include"]);
    assert_eq!(
        trained(&place, &["--data", "t.csv", "--preset", "plain", "--include", "number", "a", "b", "c"])
            .objects()[0]["layers"][0],
        4
    );
    let left = trained(&place, &["--data", "t.csv", "--preset", "plain", "--exclude", "number", "b"]);
    assert_eq!((&left.objects()[0]["layers"][0], left.stderr.as_str()), (&2.into(), ""));
    assert_eq!(place.model("m.safetensors").columns(), "[\"a\",\"c\"]");
}

#[test]
fn every_way_to_write_a_table_gives_the_same_network() {
    let place = Workplace::new();
    let csv = Points::new(120, 6).csv(NAMES);
    place.write("t.csv", &csv);
    trained(&place, &["--data", "t.csv"]);
    let expected = place.model("m.safetensors").tensors;
    let decimal_comma = csv.replace(',', ";").replace('.', ",");
    for (text, arguments) in [
        (csv.replace(',', ";"), &[][..]),
        (csv.replace(',', "\t"), &[]),
        (csv.replace(',', "|"), &[]),
        (decimal_comma.clone(), &[]),
        (decimal_comma, &["--delimiter", ";", "--decimal", ","]),
        (csv.replace(',', ":"), &["--delimiter", ":"]),
        (csv.replace(',', "\t"), &["--delimiter", "tab", "--decimal", "."]),
        (csv.replace('\n', "\r\n"), &[]),
    ] {
        place.write("t.csv", &text);
        trained(&place, &[&["--data", "t.csv"], arguments].concat());
        assert!(place.model("m.safetensors").tensors == expected, "{arguments:?}: {:?}", &text[..40]);
    }
}

#[test]
fn cells_that_cannot_be_inputs_or_labels_are_one_line() {
    let place = Workplace::new();
    let csv = Points::new(60, 6).csv(NAMES);
    for (last, parts) in [
        ("1,2,inf,low\n", ["row 62, column 3 (c)", "a finite number"]),
        ("1,2,3,\n", ["row 62, column 4 (kind)", "every row needs one"]),
    ] {
        place.write("t.csv", csv.clone() + last);
        refused(&place, &["--data", "t.csv"], &parts);
    }
    place.write("t.csv", Points::new(60, 6).csv(["1.5", "2.5", "3.25"]));
    refused(
        &place,
        &["--data", "t.csv", "--target", "kind", "--task", "classification"],
        &["a fraction", "values are predicted by regression"],
    );
}

#[test]
fn rows_without_end_are_refused_where_they_begin() {
    let place = Workplace::new();
    let csv = Points::new(60, 6).csv(NAMES);
    let long = format!("{},1,2,low\n", "1".repeat(5000));
    place.write("t.csv", csv.clone() + &long);
    let limit = ["--data", "t.csv", "--max-row-bytes", "4096"];
    refused(
        &place,
        &limit,
        &["t.csv, row 62", "at most 4096 bytes in a row", "use --max-row-bytes to raise the limit"],
    );
    place.write("t.csv", format!("{}a\n", "a,".repeat(300)) + &"1,".repeat(300) + "0\n");
    refused(&place, &limit, &["t.csv, row 1", "at most 256 columns", "use --max-row-bytes to raise"]);
}

#[test]
fn several_markers_of_missing_values_are_given_in_two_ways() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{}.5,c{}\n", row * 7 % 11, row, row % 2);
    let odd = "-999,1.5,c1\n---,XX,c0\n";
    place.write("t.csv", "a,b,y\n".to_owned() + &(0..40).map(row).collect::<String>() + odd);
    for options in [
        &["--missing-marker", "-999", "XX", "--missing-marker=---"][..],
        &["--missing-marker=-999", "--missing-marker=XX", "--missing-marker=---"],
    ] {
        trained(&place, &[&["--data", "t.csv"], options].concat());
        let model = place.model("m.safetensors");
        assert_eq!(
            model.at("/data/schema/missing"),
            &serde_json::json!(["-999", "XX", "---"]),
            "{options:?}"
        );
    }
    refused(&place, &["--data", "t.csv", "--missing-marker=-999", "XX"], &["unexpected argument 'XX'"]);
}
