//! `tinytrain sweep`: its members, and its results.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{Outcome, Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];

/// Members that differ in all settings in which members may differ.
const MIXED: &str = r#"{"hidden":[1]}
{"hidden":[3],"activation":"selu"}
{"hidden":[17,3],"dropout":0.3}
{"hidden":[63],"optimizer":"adam","lr":0.01}
{"hidden":[65,17],"optimizer":"adamw","lr":0.003,"weight-decay":0.1}
{"hidden":[]}
{"hidden":[],"optimizer":"rmsprop","lr":0.01}
{"hidden":[8,8,8],"activation":["relu","tanh","mish"]}
{"hidden":[8],"label-smoothing":0.2}
{"hidden":[8],"lr-schedule":"cosine","warmup":3}
{"hidden":[8],"batch-size":7}
{"hidden":[8],"clip-norm":0.1,"optimizer":"momentum"}
{"hidden":[8],"scale":"quantile"}
{"hidden":[8],"class-weights":"balanced"}
{"hidden":[8],"optimizer":"nesterov","epochs":5}
{"hidden":[12],"embeddings":"pbld","lr-schedule":"coslog4","optimizer":"adam","epochs":6}
"#;

/// Runs a sweep of small networks on `t.csv`.
pub fn sweep(place: &Workplace, arguments: &[&str]) -> Outcome {
    let common = ["sweep", "--device", "cpu", "--data", "t.csv", "--format", "json"];
    place.run(&[&common[..], arguments].concat())
}

#[track_caller]
pub fn swept(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    let outcome = sweep(place, arguments);
    assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
    outcome.objects()
}

/// Returns the finished members by number.
pub fn members(objects: &[Value]) -> BTreeMap<u64, &Value> {
    let members = objects.iter().filter(|object| object["event"] == "member");
    members.map(|member| (member["member"].as_u64().unwrap(), member)).collect()
}

pub fn bytes(place: &Workplace, name: &str) -> Vec<u8> {
    std::fs::read(place.path(name)).unwrap()
}

pub fn table() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(257, 4).csv(NAMES));
    place
}

#[test]
fn a_member_is_the_same_file_trained_separately_or_among_others() {
    let place = table();
    place.write("mixed.jsonl", MIXED);
    let common =
        ["--settings", "mixed.jsonl", "--preset", "plain", "--epochs", "4", "--test-fraction", "0.2"];
    let objects = swept(&place, &[&common[..], &["--threads", "3", "--out", "s"]].concat());
    let ended = members(&objects);
    assert_eq!(ended.len(), 16);
    assert_eq!(ended[&14]["epochs"], 5);
    for (number, member) in &ended {
        let line: Vec<&str> =
            member["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let alone = [&["train"], &line[..], &["--out", "alone.safetensors", "--format", "json"]].concat();
        let alone = place.succeed(&alone).objects();
        // The files differ only in the number of threads.
        let same = |name: &str| {
            let bytes = bytes(&place, name);
            let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
            let text = String::from_utf8(bytes[8..header].to_vec()).unwrap();
            let mut header_object: Value = serde_json::from_str(&text).unwrap();
            let text = header_object["__metadata__"]["tinytrain"].as_str().unwrap();
            let mut metadata: Value = serde_json::from_str(text).unwrap();
            metadata["origin"] = Value::Null;
            header_object["__metadata__"] = metadata;
            (header_object, bytes[header..].to_vec())
        };
        assert_eq!(
            same("alone.safetensors"),
            same(&format!("s/members/{number:05}.safetensors")),
            "{member}"
        );
        let summary = alone.last().unwrap();
        assert_eq!(summary["test_accuracy"], member["test_accuracy"], "{member}");
        assert_eq!(summary["test_loss"], member["test_loss"]);
    }
    // The history has all epochs, and the leaderboard all members, best first.
    let history = String::from_utf8(bytes(&place, "s/history.csv")).unwrap();
    assert_eq!(history.lines().count(), 1 + 14 * 4 + 5 + 6);
    let board = String::from_utf8(bytes(&place, "s/leaderboard.csv")).unwrap();
    assert_eq!(board.lines().count(), 17);
    let best = objects.last().unwrap()["best_member"].as_u64().unwrap();
    let better = |member: &Value| (member["accuracy"].as_f64().unwrap(), -member["loss"].as_f64().unwrap());
    assert!(ended.values().all(|member| better(member) <= better(ended[&best])));
    assert_eq!(
        bytes(&place, "s/best.safetensors"),
        bytes(&place, &format!("s/members/{best:05}.safetensors"))
    );
    assert!(board.lines().nth(1).unwrap().starts_with(&format!("1,{best},done,")), "{board}");
}

#[test]
fn the_same_seed_gives_the_same_members_on_any_number_of_threads() {
    let place = table();
    place.write("space.toml", "lr = { log = [1e-3, 1e-1] }\nhidden = [[4], [8, 4], []]\n");
    let common = ["--space", "space.toml", "--trials", "7", "--preset", "plain", "--epochs", "2"];
    let with = |more: &[&str]| swept(&place, &[&common[..], more].concat());
    let one = with(&["--out", "one", "--threads", "1"]);
    with(&["--out", "three", "--threads", "3"]);
    for number in 0..7 {
        let name = format!("members/{number:05}.safetensors");
        assert_eq!(bytes(&place, &format!("one/{name}")), bytes(&place, &format!("three/{name}")));
    }
    assert_eq!(bytes(&place, "one/best.safetensors"), bytes(&place, "three/best.safetensors"));
    let ranks = |name: &str| {
        let text = String::from_utf8(bytes(&place, &format!("{name}/leaderboard.csv"))).unwrap();
        text.lines().map(|line| line.split(',').take(6).collect::<Vec<_>>().join(",")).collect::<Vec<_>>()
    };
    assert_eq!(ranks("one"), ranks("three"));
    let other = with(&["--out", "other", "--seed", "2"]);
    assert_ne!(members(&one)[&0]["settings"], members(&other)[&0]["settings"]);
}

#[test]
fn an_ensemble_predicts_the_mean_of_its_members() {
    let place = table();
    let common = ["--preset", "plain", "--epochs", "3", "--test-fraction", "0.3", "--trials", "8"];
    place.write("space.toml", "lr = { log = [1e-3, 1e-1] }\nhidden = [[4], [8, 4], []]\n");
    let arguments = [&common[..], &["--space", "space.toml", "--ensemble", "5", "--out", "s"]].concat();
    let objects = swept(&place, &arguments);
    let summary = objects.last().unwrap();
    let picked: Vec<(u64, f64)> = summary["ensemble"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| (member["member"].as_u64().unwrap(), member["picks"].as_f64().unwrap()))
        .collect();
    assert_eq!(picked.iter().map(|(_, picks)| picks).sum::<f64>(), 5.0);
    let probabilities = |model: &str| -> Vec<f64> {
        let arguments = ["predict", "--model", model, "t.csv", "--device", "cpu"];
        let text = place.succeed(&arguments).stdout;
        let numbers = text.lines().skip(1).flat_map(|line| line.split(',').skip(1));
        numbers.map(|number| number.parse().unwrap()).collect()
    };
    let mut mean = vec![0.0; 257 * 3];
    for (member, picks) in &picked {
        let own = probabilities(&format!("s/members/{member:05}.safetensors"));
        mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += picks / 5.0 * own);
    }
    let together = probabilities("s/ensemble.safetensors");
    assert_eq!(together.len(), mean.len());
    // Both are printed with six decimals.
    let off = together.iter().zip(&mean).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off <= 1.1e-6, "{off}");
    let arguments = ["eval", "--model", "s/ensemble.safetensors", "--device", "cpu", "--format", "json"];
    let evaluated = place.succeed(&arguments).objects();
    assert_eq!(evaluated[0]["accuracy"], summary["ensemble"]["test_accuracy"]);
    assert!(
        (evaluated[0]["loss"].as_f64().unwrap() - summary["ensemble"]["test_loss"].as_f64().unwrap()).abs()
            < 1e-9
    );
    let inspected = place.succeed(&["inspect", "--model", "s/ensemble.safetensors"]).stdout;
    assert!(inspected.contains(&format!("ensemble of {} networks", picked.len())), "{inspected}");
}

#[test]
fn values_are_swept_and_put_together_too() {
    let place = Workplace::new();
    let row = |row: usize| format!("{},{},{}\n", row % 13, row % 7, 3 * (row % 13) + 100 * (row % 7));
    place.write("t.csv", "a,b,target\n".to_owned() + &(0..200).map(row).collect::<String>());
    let arguments = [
        "--target",
        "target",
        "--task",
        "regression",
        "--preset",
        "plain",
        "--epochs",
        "5",
        "--trials",
        "5",
        "--ensemble",
        "4",
        "--test-fraction",
        "0.2",
        "--out",
        "s",
    ];
    let objects = swept(&place, &arguments);
    let ended = members(&objects);
    let losses: Vec<f64> = ended.values().map(|member| member["loss"].as_f64().unwrap()).collect();
    let summary = objects.last().unwrap();
    assert_eq!(summary["loss"].as_f64().unwrap(), losses.iter().copied().fold(f64::INFINITY, f64::min));
    assert_eq!((&summary["accuracy"], &summary["ensemble"]["accuracy"]), (&Value::Null, &Value::Null));
    // The square of a mean is at most the mean of the squares.
    let picks = summary["ensemble"]["members"].as_array().unwrap();
    let share = |member: &Value| member["picks"].as_f64().unwrap() / 4.0;
    let loss = |member: &Value| ended[&member["member"].as_u64().unwrap()]["loss"].as_f64().unwrap();
    let mean: f64 = picks.iter().map(|member| share(member) * loss(member)).sum();
    let together = summary["ensemble"]["loss"].as_f64().unwrap();
    assert!(0.0 < together && together <= mean * 1.000_001, "{summary}, {mean}");
    let arguments = ["eval", "--model", "s/ensemble.safetensors", "--device", "cpu", "--format", "json"];
    let evaluated = place.succeed(&arguments).objects();
    assert_eq!(evaluated[0]["rmse"], summary["ensemble"]["test_rmse"]);
}

#[test]
fn a_grid_is_trained_wholly_and_each_of_its_settings_from_several_seeds() {
    let place = table();
    place.write("space.toml", "lr = { log = [0.001, 0.1], points = 2 }\nhidden = [[4], []]\n");
    let arguments = [
        "--space",
        "space.toml",
        "--grid",
        "--seeds",
        "2",
        "--preset",
        "plain",
        "--epochs",
        "1",
        "--out",
        "s",
    ];
    let objects = swept(&place, &arguments);
    let ended = members(&objects);
    let settings: Vec<(&Value, &Value)> =
        ended.values().map(|member| (&member["settings"]["hidden"], &member["settings"]["lr"])).collect();
    let expected = [
        (json!([4]), json!(0.001)),
        (json!([4]), json!(0.1)),
        (json!([]), json!(0.001)),
        (json!([]), json!(0.1)),
    ];
    for (pair, (hidden, lr)) in settings.chunks(2).zip(&expected) {
        assert_eq!(pair, [(hidden, lr), (hidden, lr)]);
    }
    assert_ne!(ended[&0]["loss"], ended[&1]["loss"]);
}

#[test]
fn a_diverging_member_does_not_affect_others() {
    let place = table();
    place.write("space.toml", "lr = [1e30, 0.1, 0.01]\nhidden = [[4]]\n");
    let arguments = ["--space", "space.toml", "--grid", "--preset", "plain", "--epochs", "2", "--out", "s"];
    let objects = swept(&place, &arguments);
    let ended = members(&objects);
    assert_eq!(ended[&0]["end"], "failed");
    assert!(ended[&0]["reason"].as_str().unwrap().starts_with("the loss became "), "{}", ended[&0]);
    assert_eq!((&ended[&1]["end"], &ended[&2]["end"]), (&json!("done"), &json!("done")));
    assert_eq!(objects.last().unwrap()["failed"], 1);
    assert!(!place.path("s/members/00000.safetensors").exists());
    // If all members diverge, there is no best one.
    place.write("space.toml", "lr = 1e30\nhidden = [[4]]\n");
    let arguments = [
        "sweep",
        "--data",
        "t.csv",
        "--device",
        "cpu",
        "--space",
        "space.toml",
        "--trials",
        "1",
        "--preset",
        "plain",
    ];
    let outcome = place.run(&arguments);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("results.jsonl for the reasons\n"), "{}", outcome.stderr);
}

/// A member's score equals the score of `train --folds` with its settings.
#[test]
fn folds_judge_members_by_their_mean() {
    let place = table();
    place.write("space.toml", "lr = [0.05, 0.01]\nhidden = [[4]]\n");
    let arguments = [
        "--space",
        "space.toml",
        "--grid",
        "--preset",
        "plain",
        "--epochs",
        "3",
        "--folds",
        "3",
        "--out",
        "s",
    ];
    let objects = swept(&place, &arguments);
    for member in members(&objects).values() {
        let line: Vec<&str> =
            member["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let alone = [&["train"], &line[..], &["--folds", "3", "--format", "json"]].concat();
        let alone = place.succeed(&alone).objects();
        let mean = alone.last().unwrap()["mean"]["test_accuracy"].as_f64().unwrap();
        assert!((member["accuracy"].as_f64().unwrap() - mean).abs() < 1e-12, "{member}");
    }
    // The best settings were trained again, on all rows.
    let inspected =
        place.succeed(&["eval", "--model", "s/best.safetensors", "--data", "t.csv", "--device", "cpu"]);
    assert!(inspected.stdout.contains("257 samples"), "{}", inspected.stdout);
}

/// Options of the command line leave the space, and a table is searched around its preset.
#[test]
fn given_options_are_fixed() {
    let place = table();
    let objects = swept(&place, &["--hidden", "5", "--trials", "3", "--epochs", "2", "--out", "s"]);
    // The first trial is the network of `train`.
    assert_eq!(members(&objects)[&0]["settings"], json!({}));
    for member in members(&objects).values().skip(1) {
        let names: Vec<&String> = member["settings"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["batch-size", "dropout", "embeddings", "lr", "lr-schedule"]);
        let model = place.model(&format!("s/{}", member["model"].as_str().unwrap()));
        assert_eq!(model.setting("hidden"), "5");
        assert_eq!((member["chosen"]["metric"].as_str(), &member["end"]), (Some("log-loss"), &"done".into()));
    }
    let more = [
        "--lr-schedule",
        "coslog4",
        "--lr",
        "0.01",
        "--batch-size",
        "32",
        "--dropout",
        "0.5",
        "--embeddings",
        "none",
    ];
    let objects = swept(&place, &[&more[..], &["--trials", "2", "--epochs", "1", "--out", "f"]].concat());
    for member in members(&objects).values().skip(1) {
        let names: Vec<&String> = member["settings"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["hidden"]);
        let model = place.model(&format!("f/{}", member["model"].as_str().unwrap()));
        assert_eq!((model.setting("lr_schedule"), model.setting("lr")), ("coslog4", "0.01"));
    }
    place.write("space.toml", "lr = { log = [0.01, 0.1] }\nhidden = [[3], [4]]\n");
    let outcome = sweep(&place, &["--lr", "0.1", "--space", "space.toml", "--out", "t"]);
    let line = "error: space.toml: --lr is on the command line, too; remove one of them";
    assert_eq!((outcome.code, outcome.error()), (2, line));
}

/// The chosen metric orders trials, and is printed first.
#[test]
fn a_metric_orders_the_trials() {
    let place = table();
    let common = ["--trials", "4", "--epochs", "3", "--metric", "auc"];
    let objects = swept(&place, &[&common[..], &["--out", "s"]].concat());
    let of = |member: &Value| -> f64 { member["chosen"]["value"].as_f64().unwrap() };
    let mut all: Vec<f64> = members(&objects).values().map(|member| of(member)).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    let board = std::fs::read_to_string(place.path("s/leaderboard.csv")).unwrap();
    let mut rows = csv::Reader::from_reader(board.as_bytes());
    let place_of = rows.headers().unwrap().iter().position(|name| name == "validation_auc").unwrap();
    let found: Vec<f64> = rows.records().map(|row| row.unwrap()[place_of].parse().unwrap()).collect();
    assert!(found == all && all[0] > all[3], "{found:?} {all:?}");
    let text = place
        .succeed(&[&["sweep", "--device", "cpu", "--data", "t.csv", "--out", "t"], &common[..]].concat());
    assert!(text.stdout.contains("  auc  ") && text.stdout.contains(", auc 0."), "{}", text.stdout);
}

#[test]
fn unsupported_options_are_refused_before_anything_is_written() {
    let place = table();
    place.write("good.toml", "lr = 0.1");
    let before = place.entries();
    for (space, arguments, expected) in [
        ("lrr = 3", &[][..], "bad.toml: expected options of `tinytrain train`, found \"lrr\""),
        ("lr = -3", &[], "trial 0: --lr: expected a finite number above 0, found -3"),
        (
            "seed = 3",
            &[],
            "bad.toml: expected an option that may differ between trials, found \"seed\"; put it on",
        ),
        ("lr = { log = [1, 0.5] }", &[], "bad.toml: expected lr as a value, a list of values, "),
        ("lr = 0.1\nlr = 0.2", &[], "bad.toml, row 2: expected settings in TOML"),
        (
            "lr = { range = [0.1, 0.2] }",
            &["--grid"],
            "bad.toml: lr: a grid needs points = N for a range, such as { range = [0.1, 0.5], points = 3 }",
        ),
        ("loss = \"mse\"", &[], "bad.toml: expected an option that may differ"),
        ("batch-size = 8", &["--patience", "0"], "invalid value '0' for '--patience <EPOCHS>'"),
        (
            "scale = \"none\"\nclip = \"smooth\"\nhidden=\"x\"",
            &[],
            "bad.toml: --hidden: expected a whole number from 0 on, found \"x\"",
        ),
        (
            "lr = 1",
            &["--folds", "3", "--test-fraction", "0.2"],
            "error: the argument '--folds <N>' cannot be used with '--test-fraction <FRACTION>'",
        ),
        ("lr = 1", &["--profile", "p"], "--profile cannot be combined with `tinytrain sweep`"),
        ("lr = 1", &["--test", "nothere.csv"], "cannot read nothere.csv"),
    ] {
        place.write("bad.toml", space);
        let outcome = sweep(&place, &[&["--space", "bad.toml", "--out", "s"], arguments].concat());
        assert_eq!(outcome.code, 2, "{space}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{space}: {}", outcome.stderr);
        std::fs::remove_file(place.path("bad.toml")).unwrap();
        assert_eq!(place.entries(), before, "{space}");
    }
}
