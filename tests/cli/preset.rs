//! `--preset table` and its components: embeddings, trained scaling factors, clipping.

use serde_json::Value;

use crate::program::{Outcome, Workplace, noise};

/// Returns a column of 12 cities with a value each, one of three kinds, and a number with a nonlinear effect;
/// the target is the value, or whether it is high.
fn cities(rows: usize, seed: u64) -> String {
    let mut noise = noise(seed);
    let row = |row: usize| {
        let (city, kind, x) = (row * 7 % 12, row * 5 % 3, noise());
        let value = (city as f64 * 1.7).sin() + x * x + if kind == 1 { 1.0 } else { 0.0 };
        let high = if value > 1.0 { "high" } else { "low" };
        format!("city {city},{},{x:.4},{value:.4},{high}\n", ["a", "b", "c"][kind])
    };
    "city,kind,x,value,level\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

fn workplace() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", cities(600, 3));
    place
}

/// Trains on `t.csv` and saves `m`; returns the events.
fn train(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    let common = [
        "train",
        "--device",
        "cpu",
        "--data",
        "t.csv",
        "--out",
        "m.safetensors",
        "--epochs",
        "12",
        "--format",
        "json",
    ];
    place.succeed(&[&common[..], arguments].concat()).objects()
}

const VALUES: [&str; 4] = ["--target", "value", "--exclude", "level"];
const CLASSES: [&str; 4] = ["--target", "level", "--exclude", "value"];
const VALIDATED: [&str; 4] = ["--validation-fraction", "0.2", "--test-fraction", "0.2"];

#[test]
fn numbers_of_wide_tables_are_not_embedded() {
    let place = Workplace::new();
    let names = (0..1001).map(|column| format!("x{column},")).collect::<String>() + "class\n";
    let row = |row: usize| {
        let cells: String = (0..1001).map(|column| format!("{},", (row * 7 + column) % 11)).collect();
        format!("{cells}{}\n", ["a", "b"][row % 2])
    };
    place.write("t.csv", names + &(0..12).map(row).collect::<String>());
    for (exclude, inputs) in [("x0", 4 * 1000), ("", 1001)] {
        let exclude: &[&str] = if exclude.is_empty() { &[] } else { &["--exclude", exclude] };
        let events = train(&place, &[&["--hidden", "3"], exclude].concat());
        assert_eq!(events[0]["layers"], serde_json::json!([inputs, 3, 2]));
    }
}

#[test]
fn tables_take_it_and_images_do_not() {
    let place = workplace();
    let preset = |arguments: &[&str]| {
        let events = train(&place, &[&CLASSES, arguments].concat());
        (events[0]["preset"].as_str().unwrap().to_owned(), events[0]["layers"].clone())
    };
    // 12 embedded cities, three kinds, one number as four inputs.
    let table = ("table".to_owned(), serde_json::json!([8 + 3 + 4, 256, 256, 256, 2]));
    for arguments in
        [&VALIDATED[..], &["--preset", "table"], &["--test-fraction", "0.2"], &["--validation-fraction", "0"]]
    {
        assert_eq!(preset(arguments), table, "{arguments:?}");
    }
    let plain = ("plain".to_owned(), serde_json::json!([12, 300, 100, 2]));
    assert_eq!(preset(&[&VALIDATED[..], &["--preset", "plain"]].concat()), plain);
    let all_one_hot = preset(&["--preset", "plain", "--one-hot", "12"]);
    assert_eq!(all_one_hot.1[0], 12 + 3 + 1);
    let images = Workplace::with_data();
    let common =
        ["train", "--device", "cpu", "--data", "data", "--epochs", "1", "--hidden", "4", "--format", "json"];
    let events = images
        .succeed(&[&common[..], &["--validation-fraction", "0.2", "--out", "m.safetensors"]].concat())
        .objects();
    assert_eq!(events[0]["preset"], "plain");
}

/// `--verbose` prints the preset's options, and these options train the same model.
#[test]
fn it_is_a_list_of_options() {
    let place = workplace();
    let common = ["train", "--device", "cpu", "--data", "t.csv", "--out", "m.safetensors", "--verbose"];
    for target in [&VALUES, &CLASSES] {
        let outcome = place.succeed(&[&common[..], target, &VALIDATED, &["--epochs", "3"]].concat());
        let model = std::fs::read(place.path("m.safetensors")).unwrap();
        let line = outcome.stderr.lines().find_map(|line| line.strip_prefix("--preset table sets ")).unwrap();
        let options: Vec<&str> = line.split(' ').collect();
        let spelled = [&common[..], target, &VALIDATED, &["--preset", "plain"], &options].concat();
        place.succeed(&spelled);
        assert!(std::fs::read(place.path("m.safetensors")).unwrap() == model, "{line}");
    }
}

/// `eval` and `predict` give the same results for the test rows as training, also with embeddings.
#[test]
fn saved_models_reproduce_the_metrics_of_training() {
    let place = workplace();
    for embeddings in ["none", "pbld"] {
        let options = [&VALUES[..], &VALIDATED, &["--embeddings", embeddings]].concat();
        let summary = train(&place, &options).pop().unwrap();
        assert!(summary["test_r2"].as_f64().unwrap() > 0.5, "{summary}");
        let evaluated =
            place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"]);
        assert_eq!(evaluated.objects()[0]["r2"], summary["test_r2"]);
        place.write("new.csv", "city,kind,x\ncity 3,b,0.25\n,b,0.25\ncity 99,b,0.25\n");
        let outcome = place.run(&["predict", "--model", "m.safetensors", "new.csv", "--device", "cpu"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let values: Vec<&str> = outcome.stdout.lines().collect();
        // Neither a missing nor an unknown city occurs in training: both are zeros.
        assert!(values.len() == 4 && values[1] != values[2] && values[2] == values[3], "{values:?}");
        let kinds =
            ["1 cell holds an unknown category in column city", "1 cell misses a category in column city"];
        assert!(kinds.iter().all(|kind| outcome.stderr.contains(kind)), "{}", outcome.stderr);
        let model = place.model("m.safetensors");
        assert_eq!(model.at("/transform/columns/is_numbered"), true);
        // Read as f64, two numbers are one.
        assert_eq!(2 * model.numbers("e1").len(), 12 * 8);
        let importance = ["importance", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
        let importance = place.succeed(&importance).objects().remove(0);
        let columns: Vec<&Value> =
            importance["columns"].as_array().unwrap().iter().map(|it| &it["column"]).collect();
        assert!(columns.len() == 3 && columns[2] == "x", "{columns:?}");
        let shown = place.succeed(&["inspect", "--model", "m.safetensors"]).stdout;
        assert!(shown.contains("an embedding of 8 numbers"), "{shown}");
        assert_eq!(shown.contains("three mixtures of waves"), embeddings == "pbld");
    }
}

#[test]
fn every_device_trains_it() {
    let place = workplace();
    let options = [&VALUES[..], &VALIDATED, &["--embeddings", "pbld", "--hidden", "16"]].concat();
    let on = |device: &str| {
        let common =
            ["train", "--data", "t.csv", "--out", "m.safetensors", "--epochs", "12", "--format", "json"];
        place.succeed(&[&common[..], &options, &["--device", device]].concat()).objects()
    };
    let r2 = |events: &[Value]| events[events.len() - 1]["test_r2"].as_f64().unwrap();
    let (cpu, gpu) = (on("cpu"), on("gpu"));
    assert_eq!((&cpu[0]["schedule"], &gpu[0]["schedule"]), (&Value::Null, &"fused".into()));
    assert!((r2(&cpu) - r2(&gpu)).abs() < 0.02, "{} {}", r2(&cpu), r2(&gpu));
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let place = workplace();
    for (arguments, part) in [
        (&["--lr-factors", "scale=-1"][..], "--lr-factors"),
        (&["--one-hot", "0"], "--one-hot"),
        (&["--preset", "tables"], "--preset"),
        (&["--embeddings", "plr"], "--embeddings"),
        (&["--momentum", "0.5"], "--momentum: expected --optimizer momentum, nesterov or rmsprop"),
    ] {
        let common = ["train", "--device", "cpu", "--data", "t.csv"];
        let outcome = place.run(&[&common[..], &CLASSES, &VALIDATED, arguments].concat());
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

#[test]
fn clipping_is_refused_where_it_would_clip_nothing() {
    let place = workplace();
    place.write_idx("data/train", &crate::program::Rows::new(40, 1));
    let common = [
        "train",
        "--device",
        "cpu",
        "--epochs",
        "1",
        "--hidden",
        "4",
        "--out",
        "m.safetensors",
        "--clip",
        "smooth",
    ];
    let table = ["--data", "t.csv", "--target", "level", "--include", "x"];
    let expected = "error: --clip: expected columns that are scaled (standard, minmax or robust) for smooth clipping, found ";
    for (arguments, found) in [
        (
            &[&table[..], &["--scale", "quantile"]].concat()[..],
            "ranks of values (quantile), which have no outliers",
        ),
        (&[&table[..], &["--scale", "none"]].concat(), "values as they are (none)"),
        (&[&table[..], &["--scale", "bytes"]].concat(), "values divided by 255 (bytes)"),
        // Also with text columns, which become inputs automatically.
        (&["--data", "t.csv", "--target", "level", "--scale", "none"], "values as they are (none)"),
        (&["--data", "data"], "values divided by 255 (bytes)"),
    ] {
        let outcome = place.run(&[&common[..], arguments].concat());
        assert_eq!((outcome.code, outcome.error()), (2, &*format!("{expected}{found}")), "{arguments:?}");
    }
    for scale in ["standard", "minmax", "robust", "auto"] {
        place.succeed(&[&common[..], &table, &["--scale", scale]].concat());
    }
}

/// The preset clips scaled columns, except those scaled by ranks, and accepts all data.
#[test]
fn the_preset_clips_scaled_columns() {
    let place = workplace();
    place.write_idx("data/train", &crate::program::Rows::new(40, 1));
    let options = ["train", "--device", "cpu", "--out", "m.safetensors", "--epochs", "1", "--verbose"];
    let table = [&["--data", "t.csv"][..], &CLASSES].concat();
    for (data, scale, clips) in [
        (&table[..], "quantile", false),
        (&table, "none", false),
        (&table, "minmax", true),
        (&table, "auto", true),
        (&["--data", "data"], "auto", false),
    ] {
        let outcome = place.succeed(&[&options[..], data, &["--preset", "table", "--scale", scale]].concat());
        for said in [format!("--scale {scale}"), "--clip auto".to_owned()] {
            assert!(outcome.stderr.contains(&said), "{said}: {}", outcome.stderr);
        }
        let model = place.succeed(&["inspect", "--model", "m.safetensors"]);
        assert_eq!(model.stdout.contains("clipped"), clips, "{scale}: {}", model.stdout);
    }
}

/// Returns a table of `rows` rows with two classes, or a class for every two rows.
fn classes(rows: usize, many: bool) -> String {
    let row = |row: usize| {
        let class = if many { row / 2 } else { row % 2 };
        format!("{},{},class {class}\n", row % 7, row % 11)
    };
    "a,b,class\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn a_fifth_of_a_table_validates_by_default_unless_rows_are_few() {
    let place = Workplace::new();
    let train = |data: &str, arguments: &[&str]| {
        let common =
            ["train", "--data", data, "--device", "cpu", "--hidden", "4", "--out", "run", "--epochs", "2"];
        let _ = std::fs::remove_dir_all(place.path("run"));
        place.succeed(&[&common[..], arguments].concat())
    };
    place.write("few.csv", classes(199, false));
    place.write("enough.csv", classes(200, false));
    place.write("classes.csv", classes(300, true));
    place.write("images.csv", crate::program::Rows::new(300, 3).csv());
    let few = "all rows train, as they are few; use --validation-fraction 0.2 to hold some out and keep the best epoch";
    let enough = "40 rows are held out for validation; use --validation-fraction 0 to train on all rows, or --refit to train on all of them afterwards";
    let has = |outcome: &Outcome, line: &str| outcome.stderr.lines().any(|found| found == line);
    let outcome = train("few.csv", &[]);
    assert!(has(&outcome, few) && !outcome.stdout.contains("val loss"), "{}", outcome.stderr);
    let outcome = train("classes.csv", &[]);
    assert!(has(&outcome, few) && !outcome.stdout.contains("val loss"), "{}", outcome.stderr);
    let outcome = train("enough.csv", &[]);
    assert!(has(&outcome, enough) && outcome.stdout.contains("val loss"), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("160 rows, 2 inputs"), "{}", outcome.stdout);
    // The settings contain the decisions, and result in the same model.
    let settings = std::fs::read_to_string(place.path("run/config.toml")).unwrap();
    assert!(settings.contains("validation-fraction = 0.2"), "{settings}");
    let model = place.model("run").tensors;
    place.write("settings.toml", settings);
    train("enough.csv", &["--config", "settings.toml"]);
    assert!(place.model("run").tensors == model);
    train("enough.csv", &["--validation-fraction", "0.2"]);
    assert!(place.model("run").tensors == model);
    // A validation file replaces the fraction, also a fraction in a settings file.
    let outcome = train("enough.csv", &["--config", "settings.toml", "--validation", "few.csv"]);
    assert!(outcome.stdout.contains("200 rows, 2 inputs") && outcome.stdout.contains("val loss"));
    for (data, arguments) in [
        ("enough.csv", &["--validation-fraction", "0"][..]),
        ("enough.csv", &["--preset", "plain"]),
        ("images.csv", &[]),
    ] {
        let outcome = train(data, arguments);
        let said = [few, enough].iter().any(|line| has(&outcome, line));
        assert!(!said && !outcome.stdout.contains("val loss"), "{arguments:?}: {}", outcome.stderr);
    }
    // Groups affect the held-out rows, and have no effect without them.
    assert!(train("enough.csv", &["--group", "a"]).stdout.contains("val loss"));
    let outcome = place.run(&["train", "--data", "few.csv", "--group", "a"]);
    assert!(
        outcome.code == 2 && outcome.error().contains("--group: expected rows to hold out"),
        "{}",
        outcome.stderr
    );
    let folds = [
        "train",
        "--data",
        "enough.csv",
        "--device",
        "cpu",
        "--folds",
        "2",
        "--epochs",
        "2",
        "--format",
        "json",
    ];
    let folds = place.succeed(&folds).objects();
    assert!(folds[0]["rows"] == 80 && folds[0]["validation_accuracy"].is_number(), "{}", folds[0]);
}

#[test]
fn epochs_are_fewer_where_no_rows_validate() {
    let place = Workplace::new();
    place.write("t.csv", classes(200, false));
    let epochs = |arguments: &[&str]| {
        let common = ["--data", "t.csv", "--device", "cpu", "--out", "m.safetensors"];
        let summary = place.train(&[&common[..], arguments].concat()).pop().unwrap();
        summary["epochs"].as_u64().unwrap()
    };
    assert_eq!(epochs(&["--validation-fraction", "0"]), 64);
    assert_eq!(epochs(&["--patience", "none"]), 256);
}

/// Returns a table without information about its classes.
fn noisy() -> Workplace {
    let (place, mut noise) = (Workplace::new(), noise(5));
    let rows: String = (0..60).map(|_| format!("{},{}\n", noise(), u8::from(noise() < 0.5))).collect();
    place.write("t.csv", "x,class\n".to_owned() + &rows);
    place
}

const NOISY: [&str; 10] =
    ["--preset", "table", "--data", "t.csv", "--validation-fraction", "0.3", "--hidden", "4", "--lr", "0.02"];

#[test]
fn a_run_of_it_ends_when_40_epochs_have_brought_nothing_better() {
    let place = noisy();
    let run = |out: &str, arguments: &[&str]| {
        let common = ["train", "--device", "cpu", "--format", "json", "--out", out];
        let summary = place.succeed(&[&common[..], &NOISY, arguments].concat()).objects().pop().unwrap();
        (summary["epochs"].as_u64().unwrap(), summary["kept_epoch"].as_u64().unwrap())
    };
    let model = |run: &str| std::fs::read(place.path(run).join("model.safetensors")).unwrap();
    let (epochs, kept) = run("run", &[]);
    assert!(epochs == kept + 40 && epochs < 256, "{epochs} {kept}");
    let (short, best) = run("short", &["--patience", "3"]);
    assert!(short == best + 3 && short < epochs, "{short}");
    assert_eq!(run("all", &["--patience", "none"]), (256, kept));
    assert_eq!(run("last", &["--keep", "last"]), (256, 256));
    let runs = place.succeed(&["runs", ".", "--format", "json"]).objects();
    let states: Vec<(&str, &str)> =
        runs.iter().map(|run| (run["run"].as_str().unwrap(), run["state"].as_str().unwrap())).collect();
    assert!(states.len() == 4 && states.iter().any(|it| it.0.ends_with("run") && it.1 == "stopped early"));
    // A resumed run ends there, too.
    assert_eq!(run("parts", &["--target-accuracy", "0.01"]), (1, 1));
    let resumed =
        place.succeed(&["train", "--resume", "parts", "--target-accuracy", "0.999", "--format", "json"]);
    assert_eq!(resumed.objects().pop().unwrap()["epochs"], epochs);
    assert!(model("parts") == model("run"));
    place.write("s.jsonl", "{\"lr\":0.02}\n");
    let common = ["sweep", "--device", "cpu", "--settings", "s.jsonl", "--out", "s"];
    let swept = place.succeed(&[&common[..], &NOISY, &["--format", "json"]].concat()).objects();
    assert!(swept.iter().any(|it| it["event"] == "member" && it["epochs"] == epochs), "{swept:?}");
}

/// Label smoothing flattens probabilities; the temperature in the model compensates for it.
#[test]
fn models_trained_with_label_smoothing_are_divided_by_their_temperature() {
    let place = workplace();
    let common = [
        "train", "--device", "cpu", "--format", "json", "--preset", "plain", "--hidden", "8", "--data",
        "t.csv",
    ];
    let smoothed = ["--label-smoothing", "0.1", "--epochs", "6", "--lr", "0.3"];
    let run = |out: &str, arguments: &[&str]| {
        let line = [&common[..], &CLASSES, &VALIDATED, &smoothed, &["--out", out], arguments].concat();
        place.succeed(&line).objects().pop().unwrap()
    };
    let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
    let (tempered, plain) = (run("t", &[]), run("p", &["--no-temperature"]));
    for set in ["validation", "test"] {
        let [accuracy, loss] = ["accuracy", "loss"].map(|name| format!("{set}_{name}"));
        assert_eq!(tempered[&accuracy], plain[&accuracy]);
        let [new, old] = [&tempered, &plain].map(|summary| summary[&loss].as_f64().unwrap());
        assert!(new < 0.97 * old, "{set}: {new} {old}");
    }
    let [new, old] = ["t/model.safetensors", "p/model.safetensors"].map(|name| place.model(name));
    let temperature: f64 = new.setting("temperature").parse().unwrap();
    assert!(temperature > 0.1 && temperature < 0.9, "{temperature}");
    // Read as f64, two numbers are one.
    let halves = |number: f64| [number.to_bits() as u32, (number.to_bits() >> 32) as u32].map(f32::from_bits);
    for tensor in ["w1", "b1", "w2", "b2"] {
        let divisor = if tensor.ends_with('2') { temperature as f32 } else { 1.0 };
        let [new, old] = [&new, &old].map(|model| model.numbers(tensor).into_iter().flat_map(halves));
        for (new, old) in new.zip(old) {
            assert!((new * divisor - old).abs() <= 1e-6 * old.abs(), "{tensor} {new} {old}");
        }
    }
    // The metrics match the file.
    let evaluated = place.succeed(&["eval", "--model", "t", "--device", "cpu", "--format", "json"]);
    let [loss, told] =
        [&evaluated.objects()[0]["loss"], &tempered["test_loss"]].map(|it| it.as_f64().unwrap());
    assert!((loss - told).abs() < 1e-6 * told, "{loss} {told}");
    let settings = std::fs::read_to_string(place.path("p/config.toml")).unwrap();
    assert!(settings.contains("no-temperature = true"), "{settings}");
    // Checkpoints contain no temperature: a resumed run is the same, whether it was ended early or completed.
    assert_eq!(run("r", &["--target-accuracy", "0.01"])["epochs"], 1);
    for _ in 0..2 {
        let resume = ["train", "--resume", "r", "--target-accuracy", "0.999", "--format", "json"];
        let summary = place.succeed(&resume).objects().pop().unwrap();
        assert_eq!(summary["test_loss"], tempered["test_loss"]);
        assert!(bytes("r/model.safetensors") == bytes("t/model.safetensors"));
    }
    // Without validation rows, or without smoothing, there is no temperature.
    let out = ["--out", "n", "--epochs", "1"];
    place.succeed(&[&common[..], &CLASSES, &["--label-smoothing", "0.1"], &out].concat());
    assert!(!std::fs::read_to_string(place.path("n/log.txt")).unwrap().contains("temperature"));
    let inspected = |model: &str| place.succeed(&["inspect", "--model", model, "--format", "json"]).stdout;
    assert!(inspected("t").contains("temperature") && !inspected("n").contains("temperature"));
}
