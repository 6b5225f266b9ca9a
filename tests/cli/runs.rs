//! Run folders: their contents, resuming, repeating, listing and comparing.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use console::measure_text_width;
use tinytrain::model::Model;
use tinytrain::train::Checkpoint;

use crate::program::{Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

const TRAIN: [&str; 9] =
    ["train", "--data", "t.csv", "--validation-fraction", "0.2", "--device", "cpu", "--format", "json"];
const SMALL: [&str; 4] = ["--preset", "plain", "--hidden", "9"];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(500, 4).csv(NAMES));
    place
}

fn names(place: &Workplace, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<String> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(place: &Workplace, name: &str) -> Vec<u8> {
    std::fs::read(place.path(name)).unwrap()
}

#[test]
fn a_run_is_a_folder_by_which_it_can_be_repeated() {
    let place = place();
    let ways: [&[&str]; 4] = [
        &["--preset", "plain", "--hidden", "9,4", "--epochs", "3"],
        &[
            "--preset",
            "plain",
            "--hidden",
            "none",
            "--optimizer",
            "adam",
            "--lr-schedule",
            "cosine",
            "--epochs",
            "3",
        ],
        &["--epochs", "2", "--lr", "0.02"],
        &["--preset", "plain", "--scale", "robust", "--dropout", "0.1", "--seed", "7", "--epochs", "2"],
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let (first, second) = (format!("a{number}"), format!("b{number}"));
        place.succeed(&[&TRAIN[..], way, &["--out", &first]].concat());
        assert_eq!(
            names(&place, &first),
            ["checkpoint.safetensors", "config.toml", "history.csv", "log.txt", "model.safetensors"]
        );
        let config = format!("{first}/config.toml");
        place.succeed(&["train", "--config", &config, "--out", &second, "--quiet"]);
        let model = |folder: &str| read(&place, &format!("{folder}/model.safetensors"));
        assert!(model(&first) == model(&second), "{way:?}");
        let text = |folder: &str| String::from_utf8(read(&place, &format!("{folder}/config.toml"))).unwrap();
        assert_eq!(text(&first), text(&second));
        let history = String::from_utf8(read(&place, &format!("{first}/history.csv"))).unwrap();
        assert_eq!(history.lines().count(), 1 + way.last().unwrap().parse::<usize>().unwrap_or(2));
    }
    // The command line takes precedence.
    place.succeed(&[
        "train",
        "--config",
        "a0/config.toml",
        "--out",
        "c",
        "--epochs",
        "1",
        "--hidden",
        "5",
        "--quiet",
    ]);
    assert_eq!(place.model("c").sizes(), [3, 5, 3]);
    assert_eq!(String::from_utf8(read(&place, "c/history.csv")).unwrap().lines().count(), 2);
    let eval =
        place.succeed(&["eval", "--model", "c", "--device", "cpu", "--data", "t.csv", "--format", "json"]);
    assert_eq!(eval.objects()[0]["samples"], 500);
    for (text, expected) in [
        ("lrr = 3", "bad.toml: expected options of `tinytrain train`, found \"lrr\""),
        ("lr = -3", "bad.toml: --lr: expected a finite number above 0, found -3"),
        ("lr = 3\nlr = 4", "bad.toml, row 2: expected settings of a run in TOML"),
        ("out = \"x\"", "bad.toml: expected options of `tinytrain train`, found \"out\""),
    ] {
        place.write("bad.toml", text);
        let outcome = place.run(&["train", "--config", "bad.toml"]);
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// There is a checkpoint before the first step; a run killed even earlier starts from the beginning, whether
/// resumed or started.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_before_its_first_checkpoint_can_be_resumed() {
    let place = place();
    let arguments = [&TRAIN[..], &SMALL, &["--seed", "3"]].concat();
    let with = |more: &[&'static str]| [&arguments[..], more].concat();
    place.succeed(&with(&["--epochs", "2", "--out", "whole"]));
    let mut child = place.command(&with(&["--epochs", "100000000", "--out", "cut"]));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let checkpoint = place.path("cut/checkpoint.safetensors");
    while !checkpoint.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without a checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let first = Checkpoint::from_bytes(&std::fs::read(&checkpoint).unwrap(), &checkpoint).unwrap();
    assert_eq!((first.progress.steps, first.progress.epochs.len(), first.state.step), (0, 0, 0));
    let weights = |run: &str| {
        let path = place.path(&format!("{run}/model.safetensors"));
        Model::load(path).unwrap().parameters
    };
    for (name, left) in
        [("first", &["config.toml", "checkpoint.safetensors"][..]), ("none", &["config.toml"])]
    {
        std::fs::create_dir(place.path(name)).unwrap();
        for file in left {
            std::fs::copy(place.path(&format!("cut/{file}")), place.path(&format!("{name}/{file}"))).unwrap();
        }
        place.succeed(&["train", "--resume", name, "--epochs", "2", "--quiet"]);
        assert!(weights(name) == weights("whole"), "{name}");
    }
    // Only the files of a run that was killed before it wrote its settings.
    std::fs::create_dir(place.path("empty")).unwrap();
    place.write("empty/run.lock", "1");
    place.write("empty/.tinytrain-abcdef", "half");
    place.succeed(&with(&["--epochs", "2", "--out", "empty"]));
    assert!(weights("empty") == weights("whole"));
}

#[test]
fn a_time_limit_counts_from_the_start_of_the_program() {
    let place = place();
    let outcome = place.run(&[&TRAIN[..], &SMALL, &["--max-time", "1ms", "--out", "r"]].concat());
    assert_eq!(outcome.code, 1);
    let expected = "error: the time limit of 1ms ended before the first step: ";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    assert!(!place.path("r/model.safetensors").exists());
}

/// A time limit within an epoch stops the run there: a partial epoch does not count, and the continued run
/// trains all of it.
#[test]
fn a_run_that_its_time_limit_stops_continues_bit_for_bit() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(4000, 4).csv(NAMES));
    let arguments =
        [&TRAIN[..], &["--preset", "plain", "--hidden", "300,300", "--epochs", "3", "--quiet"]].concat();
    place.succeed(&[&arguments[..], &["--out", "whole"]].concat());
    let rows_of = |folder: &str| {
        let history = String::from_utf8(read(&place, &format!("{folder}/history.csv"))).unwrap();
        let rows = |line: &str| line.rsplit(',').nth(1).unwrap().to_owned();
        history.lines().skip(1).map(rows).collect::<Vec<String>>()
    };
    let all = rows_of("whole");
    let mut stopped = 0;
    for milliseconds in [20, 40, 80, 120, 160, 240, 320, 480, 640, 960] {
        let (folder, limit) = (format!("r{milliseconds}"), format!("{milliseconds}ms"));
        let outcome = place.run(&[&arguments[..], &["--max-time", &limit, "--out", &folder]].concat());
        if outcome.code == 1 {
            assert!(outcome.stderr.contains("ended before the first step"), "{}", outcome.stderr);
            continue;
        }
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let rows = rows_of(&folder);
        assert_eq!(rows, all[..rows.len()], "whole epochs alone");
        if rows.len() < 3 {
            stopped += 1;
            let listed = place.succeed(&["runs", "."]).stdout;
            let line = listed.lines().find(|line| line.starts_with(&folder)).unwrap();
            assert!(line.contains("resumable"), "{line}");
        }
        place.succeed(&["train", "--resume", &folder, "--max-time", "1h", "--quiet"]);
        assert!(place.model(&folder).tensors == place.model("whole").tensors, "{limit}");
    }
    assert!(stopped > 0, "no limit ended a run before its end");
}

#[test]
fn a_checkpoint_of_other_settings_is_refused() {
    let place = place();
    let arguments = [&TRAIN[..], &SMALL, &["--optimizer", "adam", "--epochs", "2", "--quiet", "--out", "r"]];
    place.succeed(&arguments.concat());
    let settings = String::from_utf8(read(&place, "r/config.toml")).unwrap();
    let before = read(&place, "r/model.safetensors");
    for (name, value) in [
        ("optimizer", "\"adamw\""),
        ("optimizer", "\"sgd\""),
        ("lr", "0.5"),
        ("lr-schedule", "\"cosine\""),
        ("betas", "[0.9, 0.1]"),
        ("eps", "1.0"),
        ("weight-decay", "0.5"),
        ("clip-norm", "0.001"),
        ("label-smoothing", "0.5"),
        ("class-weights", "[1, 2, 3]"),
        ("lr-factors", "\"biases=0.5\""),
        ("warmup", "20"),
        ("init", "\"xavier\""),
        ("init-seed", "77"),
        ("batch-size", "7"),
        ("dropout", "0.5"),
        ("keep", "\"last\""),
    ] {
        let others = settings.lines().filter(|line| !line.starts_with(&format!("{name} = ")));
        let changed: String = others.map(|line| format!("{line}\n")).collect();
        place.write("r/config.toml", format!("{changed}{name} = {value}\n"));
        let outcome = place.run(&["train", "--resume", "r", "--epochs", "4", "--quiet"]);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(&format!(" {} was ", if name == "betas" { "beta2" } else { name })),
            "{name}: {}",
            outcome.stderr
        );
        assert!(read(&place, "r/model.safetensors") == before, "{name}");
    }
    place.write("r/config.toml", &settings);
    place.succeed(&["train", "--resume", "r", "--epochs", "4", "--quiet"]);
}

#[cfg(unix)]
#[test]
fn a_stopped_run_resumes_bit_for_bit() {
    let place = place();
    let arguments =
        [&TRAIN[..], &SMALL, &["--optimizer", "adam", "--epochs", "400", "--checkpoint-every", "50steps"]]
            .concat();
    place.succeed(&[&arguments[..], &["--out", "whole"]].concat());
    let whole = |name: &str| read(&place, &format!("whole/{name}"));
    for (number, signal) in ["-INT", "-TERM", "-KILL", "-KILL"].into_iter().enumerate() {
        let folder = format!("cut{number}");
        let mut child = place.command(&[&arguments[..], &["--out", &folder]].concat());
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let wanted = format!("\"epoch\":{}", 20 + 30 * number);
        assert!(lines.by_ref().any(|line| line.contains(&wanted)));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        lines.for_each(drop);
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        if signal != "-KILL" {
            let expected = format!("; continue with tinytrain train --resume {folder}\n");
            assert!(error.ends_with(&expected), "{error}");
        }
        let resumed = place.succeed(&["train", "--resume", &folder, "--format", "json"]).objects();
        let trained = resumed.iter().filter(|event| event["event"] == "epoch").count();
        assert!((1..400).contains(&trained), "{trained}");
        assert!(
            whole("model.safetensors") == read(&place, &format!("{folder}/model.safetensors")),
            "{signal}"
        );
        let columns = |text: Vec<u8>| -> Vec<String> {
            let text = String::from_utf8(text).unwrap();
            // All fields except the time.
            text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect()
        };
        assert_eq!(columns(whole("history.csv")), columns(read(&place, &format!("{folder}/history.csv"))));
        assert!(!names(&place, &folder).contains(&"run.lock".to_owned()));
    }
    // Resuming with more epochs equals a run with this number from the start.
    let short = [&TRAIN[..], &SMALL, &["--optimizer", "adam", "--epochs", "7", "--out", "short"]].concat();
    place.succeed(&short);
    place.succeed(&["train", "--resume", "short", "--epochs", "400", "--quiet"]);
    assert!(place.model("whole").tensors == place.model("short").tensors);
    // Then nothing is left to train.
    let again = place.succeed(&["train", "--resume", "short"]).stdout;
    assert!(again.contains("validation accuracy "), "{again}");
    for (arguments, expected) in [
        (&["--lr", "3"][..], "--lr cannot be combined with --resume: a run continues with its own settings"),
        (&["--config", "whole/config.toml"], "cannot be used with"),
    ] {
        let outcome = place.run(&[&["train", "--resume", "short"], arguments].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    place.write("t.csv", Points::new(400, 4).csv(NAMES));
    let outcome = place.run(&["train", "--resume", "short"]);
    assert!(
        outcome.stderr.contains("expected the 400 training rows of the run, found 320"),
        "{}",
        outcome.stderr
    );
    let outcome = place.run(&["train", "--resume", "nowhere"]);
    assert!(outcome.stderr.contains("cannot read nowhere/config.toml"), "{}", outcome.stderr);
}

#[test]
fn two_runs_never_write_into_one_folder() {
    let place = place();
    let endless = [&TRAIN[..], &SMALL, &["--epochs", "100000000", "--out", "r"]].concat();
    let mut child = place.command(&endless).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let id = child.id();
    let other = place.run(&["train", "--resume", "r"]);
    assert_eq!(other.stderr, format!("error: cannot write into r, where process {id} is training\n"));
    let other = place.run(&endless);
    assert_eq!(
        other.stderr,
        "error: --out: r already holds a run; use --resume r to continue it, or choose another folder\n"
    );
    assert!(place.succeed(&["runs", "."]).stdout.contains("running"));
    child.kill().unwrap();
    child.wait().unwrap();
    // The lock ended with the process.
    assert!(!place.succeed(&["runs", "."]).stdout.contains("running"));
}

#[test]
fn a_run_that_fails_before_it_has_saved_anything_leaves_nothing() {
    let place = place();
    let before = place.entries();
    let outcome = place.run(&[&TRAIN[..], &SMALL, &["--lr", "1e30", "--activation", "identity"]].concat());
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert_eq!(place.entries(), before);
}

#[test]
fn the_cpu_replaces_unavailable_devices() {
    let place = place();
    let arguments = [
        "train",
        "--data",
        "t.csv",
        "--preset",
        "plain",
        "--epochs",
        "2",
        "--device",
        "metal",
        "--out",
        "m.safetensors",
    ];
    let outcome = place.run(&arguments);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--fallback cpu"), "{}", outcome.stderr);
    let outcome = place.succeed(&[&arguments[..], &["--fallback", "cpu"]].concat());
    assert!(
        outcome.stderr.contains("; training continues on the CPU engine, from the beginning\n"),
        "{}",
        outcome.stderr
    );
    let same = [&arguments[..7], &["--device", "cpu", "--out", "n.safetensors"]].concat();
    place.succeed(&same);
    assert!(place.model("m.safetensors").tensors == place.model("n.safetensors").tensors);
}

#[test]
fn runs_are_listed_and_compared() {
    let place = place();
    assert_eq!(place.run(&["runs"]).code, 2, "there is no such folder");
    for lr in ["0.1", "0.001"] {
        let line = ["train", "--data", "t.csv", "--device", "cpu", "--preset", "plain", "--quiet"];
        let more = ["--hidden", "6", "--lr", lr, "--epochs", "3", "--validation-fraction", "0.2"];
        place.succeed(&[&line[..], &more].concat());
    }
    let found: Vec<String> = names(&place, "runs").iter().map(|name| format!("runs/{name}")).collect();
    assert!(found.len() == 2 && found.iter().all(|name| name.contains("-t")), "{found:?}");
    let text = place.succeed(&["runs"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    // The differing settings are under each run.
    assert_eq!((lines.len(), lines[0].split_whitespace().next()), (5, Some("run")), "{text}");
    assert_eq!((lines[2], lines[4]), ("    lr 0.1", "    lr 0.001"));
    assert!([lines[1], lines[3]].iter().all(|line| line.contains("done") && line.contains("val acc ")));
    assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    let objects = place.succeed(&["runs", "--format", "json"]).objects();
    assert_eq!((&objects[0]["epochs"], &objects[0]["settings"]["hidden"]), (&3.into(), &"6".into()));
    let compared = place.succeed(&["compare", &found[0], &found[1]]).stdout;
    let row = |name: &str| {
        let line =
            compared.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{compared}"));
        line[name.len()..].split("  ").filter(|cell| !cell.trim().is_empty()).count()
    };
    assert_eq!([row("validation accuracy"), row("lr"), row("kept epoch")], [2, 2, 2]);
    assert!(!compared.contains("hidden"));
    assert_eq!(place.run(&["compare", &found[0], "t.csv"]).code, 2);
}

#[test]
fn a_run_that_patience_has_ended_stopped_early_and_the_list_fits_80_columns() {
    let place = place();
    let long = format!("runs/{}", "long-name-".repeat(9));
    for (folder, more) in [
        ("runs/patient", &["--patience", "1"][..]),
        ("runs/accurate", &["--target-accuracy", "0.01"]),
        (
            &long,
            &[
                "--target-accuracy",
                "0.01",
                "--hidden",
                "21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40",
            ],
        ),
    ] {
        place.succeed(
            &[&TRAIN[..], &["--preset", "plain", "--epochs", "500", "--quiet", "--out", folder], more]
                .concat(),
        );
    }
    let objects = place.succeed(&["runs", "--format", "json"]).objects();
    assert_eq!(objects.len(), 3);
    for run in &objects {
        assert_eq!(run["state"], "stopped early", "{run}");
        assert!(run["epochs"].as_u64().unwrap() < 500, "{run}");
    }
    let text = place.succeed(&["runs"]).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("\nlong-name-long-name-long-name...  stopped early "), "{text}");
    assert!(text.contains("    hidden 21,22,23") && text.contains("patience 1"), "{text}");
    // With more patience it can continue.
    let config = std::fs::read_to_string(place.path("runs/patient/config.toml")).unwrap();
    place.write("runs/patient/config.toml", config.replace("patience = 1", "patience = 100"));
    let objects = place.succeed(&["runs", "--format", "json"]).objects();
    let states: Vec<&str> = objects.iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["stopped early", "stopped early", "resumable"]);
}

#[test]
fn runs_at_their_start_and_sweeps_are_listed_in_aligned_columns() {
    let place = place();
    for name in ["日本語の名前がとても長い実行の名前", "über", "a\tb"] {
        place.succeed(&[&TRAIN[..], &SMALL, &["--epochs", "2", "--out", &format!("runs/{name}")]].concat());
    }
    let sweep =
        "sweep --data t.csv --device cpu --preset plain --hidden 4 --epochs 3 --trials 2 --out runs/search";
    place.succeed(&sweep.split(' ').collect::<Vec<&str>>());
    // Killed before it had a history.
    let config = read(&place, "runs/über/config.toml");
    place.write("runs/killed/config.toml", &config);
    let listed = place.succeed(&["runs"]);
    assert_eq!(listed.stderr, "");
    let lines: Vec<&str> = listed.stdout.lines().collect();
    let rows: Vec<&str> = lines.iter().filter(|line| !line.starts_with(' ')).copied().collect();
    let columns = |name: &str| {
        let row = rows.iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).take(4).collect::<Vec<&str>>()
    };
    assert_eq!((rows.len(), columns("run")), (6, vec!["run", "state", "epochs", "best"]));
    assert_eq!(columns("killed"), ["killed", "resumable", "0", "no epoch"]);
    assert_eq!(columns("a\\tb")[1..3], ["done", "2"]);
    let search = columns("search");
    assert!(search[1..3] == ["sweep", "6"] && search[3].starts_with("acc "), "{search:?}");
    assert!(lines.iter().any(|line| line.starts_with("    2 trials  best ")), "{lines:?}");
    for row in &rows {
        let before = &row[..row.find("  ").unwrap()];
        let begin = row.len() - row[before.len()..].trim_start().len();
        assert_eq!(measure_text_width(&row[..begin]), rows[0].find("state").unwrap(), "{row}");
        assert!(measure_text_width(row) <= 80, "{row}");
    }
    let objects = place.succeed(&["runs", "--format", "json"]).objects();
    let found = &objects[4];
    assert_eq!(
        (&found["sweep"], &found["members"], &found["epochs"]),
        (&"runs/search".into(), &2.into(), &6.into())
    );
    // It starts from the beginning, as the list states.
    place.succeed(&["train", "--resume", "runs/killed", "--quiet"]);
    assert!(read(&place, "runs/killed/model.safetensors") == read(&place, "runs/über/model.safetensors"));
    let compared = place.succeed(&["compare", "runs/killed", "runs/über"]).stdout;
    assert!(!compared.contains("-0.00"), "{compared}");
}

#[test]
fn names_of_other_kinds_of_files_are_refused_as_folders() {
    let place = place();
    for (command, out, parts) in [
        (
            "train",
            "model.onnx",
            "--out: expected a folder, or a file named *.safetensors, found model.onnx; use tinytrain export --format onnx --model RUN --out model.onnx to export a trained model",
        ),
        (
            "train",
            "model.PT",
            "--out: expected a folder, or a file named *.safetensors, found model.PT; use tinytrain export to export a trained model to other programs",
        ),
        (
            "train",
            "model.pkl",
            "--out: expected a folder, or a file named *.safetensors, found model.pkl; use tinytrain export to export a trained model to other programs",
        ),
        (
            "sweep",
            "model.json",
            "--out: expected a folder, found model.json; use tinytrain export to export a trained model to other programs",
        ),
    ] {
        let before = place.entries();
        let outcome = place.run(&[command, "--data", "t.csv", "--device", "cpu", "--quiet", "--out", out]);
        assert_eq!((outcome.code, outcome.error()), (2, format!("error: {parts}").as_str()));
        assert_eq!(place.entries(), before);
    }
}

#[test]
fn the_model_of_a_run_is_the_kept_one_or_that_of_the_last_checkpoint() {
    let place = place();
    let common = [
        &TRAIN[..],
        &["--preset", "plain", "--epochs", "500", "--lr", "1", "--patience", "4", "--no-temperature"],
    ]
    .concat();
    let summary = place.succeed(&[&common[..], &["--out", "r"]].concat()).objects().pop().unwrap();
    let (kept, epochs) = (summary["kept_epoch"].as_u64().unwrap(), summary["epochs"].as_u64().unwrap());
    assert!(kept + 4 == epochs, "{summary}");
    place.succeed(&[&common[..], &["--keep", "last", "--out", "l"]].concat());
    let evaluated = |model: &[&str]| {
        let line = ["eval", "--device", "cpu", "--data", "t.csv", "--format", "json", "--model"];
        place.succeed(&[&line[..], model].concat()).objects()[0]["loss"].clone()
    };
    let last = evaluated(&["r", "--which", "last"]);
    assert_eq!(last, evaluated(&["l"]));
    assert_ne!(last, evaluated(&["r", "--which", "best"]));
    assert_eq!(evaluated(&["r"]), evaluated(&["r/model.safetensors"]));
    std::fs::remove_file(place.path("r/checkpoint.safetensors")).unwrap();
    for model in ["r", "r/model.safetensors"] {
        let outcome = place.run(&["inspect", "--model", model, "--which", "last"]);
        let expected = format!(
            "error: {model}: expected the folder of a run for --which last, found no checkpoint.safetensors: the run stopped before its first checkpoint"
        );
        assert_eq!((outcome.code, outcome.error()), (2, expected.as_str()));
    }
    let outcome = place.run(&["train", "--resume", "r"]);
    let expected = "error: cannot resume r: it has no checkpoint.safetensors, as the run stopped before its first checkpoint, or the \
                    file was removed; use --config r/config.toml to start it again";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
    std::fs::remove_file(place.path("r/model.safetensors")).unwrap();
    let outcome = place.run(&["eval", "--model", "r"]);
    let expected = "error: r: expected the folder of a run with a model, found no model.safetensors: the run stopped before its first \
                    checkpoint; use tinytrain train --resume r to continue it";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
}

#[test]
fn a_file_of_settings_may_be_written_by_hand() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(60, 3).csv(["low", "mid", "high"]));
    place.write(
        "hand.toml",
        "data = \"t.csv\"\nheader = true\nhidden = [6, 4]\nactivation = [\"relu\", \"tanh\"]\nepochs = 1\ntensorboard = false\n",
    );
    for more in [&["--out", "run"][..], &["--folds", "3"]] {
        place.succeed(&[&["train", "--config", "hand.toml", "--device", "cpu"], more].concat());
    }
    place.write("both.toml", "data = \"t.csv\"\ntensorboard = true\n");
    let outcome = place.run(&["train", "--config", "both.toml", "--device", "cpu", "--folds", "3"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.error().contains("both.toml") && outcome.error().contains("--tensorboard"),
        "{}",
        outcome.stderr
    );
}
