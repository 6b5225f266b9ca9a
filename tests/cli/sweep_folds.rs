//! Ensembles of members trained on folds: picked on out-of-fold rows, and trained again on all rows.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tinytrain::model::{Ensemble, EnsembleMember};
use tinytrain::train::load_model;

use super::sweep::{bytes, members, swept};
use crate::program::Workplace;

/// Number of rows of each group; each group is a fold, the largest first.
const GROUPS: [usize; 3] = [110, 80, 60];

/// Returns pseudorandom whole numbers.
fn noise(row: usize, below: usize) -> usize {
    (row * 7919 + row * row * 104_729) % 10_007 % below
}

/// Returns a folder with a table with the columns a, b, group and target, and the rows of each fold in a
/// separate file. Group means differ, so that inputs and targets are scaled differently in each fold.
fn grouped(target: impl Fn(usize, [usize; 2]) -> String) -> Workplace {
    let place = Workplace::new();
    let header = "a,b,group,target\n";
    let (mut all, mut row) = (header.to_owned(), 0);
    for (group, rows) in GROUPS.into_iter().enumerate() {
        let mut own = String::new();
        for _ in 0..rows {
            let [a, b] = [40 * group + noise(row, 100), noise(row + 5_000, 50)];
            writeln!(own, "{a},{b},g{group},{}", target(group, [a, b])).unwrap();
            row += 1;
        }
        place.write(&format!("fold{group}.csv"), header.to_owned() + &own);
        all += &own;
    }
    place.write("t.csv", all);
    place
}

/// Returns a table of classes, one of which occurs only in the second group.
fn classes() -> Workplace {
    grouped(|group, [a, b]| match (group, a > 80, b > 25) {
        (1, false, true) => "only".to_owned(),
        (_, is_large, _) => ["low", "high"][usize::from(is_large)].to_owned(),
    })
}

fn values() -> Workplace {
    grouped(|group, [a, b]| (3 * a + 1000 * group + b * b).to_string())
}

const SPACE: &str = "hidden = [[6], [3, 3], []]\nlr = [0.1, 0.01]\nscale = [\"standard\", \"minmax\"]\n";
/// Enough for bags.
const PICKS: &str = "8";
const COMMON: [&str; 16] = [
    "--space",
    "space.toml",
    "--trials",
    "8",
    "--preset",
    "plain",
    "--epochs",
    "6",
    "--target",
    "target",
    "--group",
    "group",
    "--folds",
    "3",
    "--ensemble",
    PICKS,
];

fn picks(ensemble: &Value) -> Vec<(u64, u32)> {
    let pick = |pick: &Value| (pick["member"].as_u64().unwrap(), pick["picks"].as_u64().unwrap() as u32);
    ensemble["members"].as_array().unwrap().iter().map(pick).collect()
}

/// Returns the results of `eval` on each fold's rows, for an ensemble of the fold's picked models.
fn evaluated(place: &Workplace, folder: &str, picked: &[(u64, u32)]) -> Vec<Value> {
    let of_fold = |fold: usize| {
        let model = |member: &u64| {
            load_model(&place.path(&format!("{folder}/members/{member:05}-fold-{}.safetensors", fold + 1)))
                .unwrap()
        };
        let mut first = model(&picked[0].0);
        let partner = |(member, picks): &(u64, u32)| {
            let model = model(member);
            assert_eq!(model.transform, first.transform, "one ensemble has one transform in each fold");
            EnsembleMember { picks: *picks, network: model.network, parameters: model.parameters }
        };
        let partners = picked[1..].iter().map(partner).collect();
        first.ensemble = Some(Ensemble { picks: picked[0].1, partners });
        place.write("together.safetensors", first.to_bytes().unwrap());
        let (data, common) = (format!("fold{fold}.csv"), ["--device", "cpu", "--format", "json"]);
        let line = ["eval", "--model", "together.safetensors", "--data", &data];
        place.succeed(&[&line[..], &common].concat()).objects().remove(0)
    };
    (0..3).map(of_fold).collect()
}

/// Returns the mean over all rows of a measure of each fold.
fn mean(evaluated: &[Value], of: impl Fn(&Value) -> f64) -> f64 {
    let sum: f64 = evaluated.iter().zip(GROUPS).map(|(fold, rows)| of(fold) * rows as f64).sum();
    sum / GROUPS.iter().sum::<usize>() as f64
}

/// Returns a model's predictions for all rows: numbers after the first `skip` columns.
fn predicted(place: &Workplace, model: &str, skip: usize) -> Vec<f64> {
    let text = place.succeed(&["predict", "--model", model, "t.csv", "--device", "cpu"]).stdout;
    let numbers = text.lines().skip(1).flat_map(|line| line.split(',').skip(skip));
    numbers.map(|number| number.parse().unwrap()).collect()
}

/// Checks that the ensemble predicts the mean of the networks that `train` gives on all rows.
fn assert_refit(place: &Workplace, objects: &[Value], folder: &str, skip: usize) {
    let (summary, ended) = (objects.last().unwrap(), members(objects));
    let trained = |member: u64| {
        let line = ended[&member]["arguments"].as_array().unwrap();
        // Without held-out rows there are no groups.
        let word = |word: &'_ Value| word.as_str().unwrap().replace("--group=", "--exclude=");
        let line: Vec<String> = line.iter().map(word).collect();
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        place.succeed(&[&["train"], &line[..], &["--out", "alone.safetensors", "--quiet"]].concat());
        predicted(place, "alone.safetensors", skip)
    };
    let picked = picks(&summary["ensemble"]);
    let together = predicted(place, &format!("{folder}/ensemble.safetensors"), skip);
    let mut mean = vec![0.0; together.len()];
    for (member, picks) in &picked {
        let own = trained(*member);
        assert_eq!(own.len(), mean.len());
        mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += f64::from(*picks) / 8.0 * own);
    }
    // Values are f32 after centering, even near 0; probabilities of classes have six decimals.
    let bound = 2e-7 * mean.iter().fold(10.0f64, |most, mean| most.max(mean.abs()));
    for (together, mean) in together.iter().zip(&mean) {
        assert!((together - mean).abs() <= bound, "{together} {mean}");
    }
    let best = summary["best_member"].as_u64().unwrap();
    assert_eq!(trained(best), predicted(place, &format!("{folder}/best.safetensors"), skip));
}

#[test]
fn classes_are_picked_by_rows_out_of_fold() {
    let place = classes();
    // A member that diverges is in no ensemble.
    place.write("space.toml", SPACE.replace("0.01]", "0.01, 1e30]"));
    let objects = swept(&place, &[&COMMON[..], &["--out", "s", "--seed", "2"]].concat());
    let (summary, ended) = (objects.last().unwrap(), members(&objects));
    let ensemble = &summary["ensemble"];
    let picked = picks(ensemble);
    assert_eq!(picked.iter().map(|(_, picks)| picks).sum::<u32>(), 8);
    assert!(summary["failed"].as_u64().unwrap() > 0 && picked.len() > 1, "{summary}");
    for (number, member) in &ended {
        let expected: Value = match member["end"].as_str().unwrap() {
            "done" => (1..4).map(|fold| format!("members/{number:05}-fold-{fold}.safetensors")).collect(),
            _ => Value::Null,
        };
        assert_eq!(member["fold_models"], expected);
        assert_eq!(
            place.path(&format!("s/members/{number:05}-fold-3.safetensors")).exists(),
            !expected.is_null()
        );
    }
    let folds = evaluated(&place, "s", &picked);
    let loss = mean(&folds, |fold| fold["loss"].as_f64().unwrap());
    let accuracy = mean(&folds, |fold| fold["accuracy"].as_f64().unwrap());
    assert!((ensemble["loss"].as_f64().unwrap() / loss - 1.0).abs() < 1e-6, "{loss}: {ensemble}");
    assert!((ensemble["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-9, "{accuracy}: {ensemble}");
    assert_eq!([&ensemble["picked_by"], &ensemble["test_loss"]], [&json!("out_of_fold"), &Value::Null]);
    // The loss of a mean is at most the mean of the losses.
    let alone =
        |member: u64| mean(&evaluated(&place, "s", &[(member, 1)]), |fold| fold["loss"].as_f64().unwrap());
    let bound: f64 = picked.iter().map(|(member, picks)| f64::from(*picks) / 8.0 * alone(*member)).sum();
    assert!(loss <= bound, "{loss} {bound}");
    assert_refit(&place, &objects, "s", 1);
    // Text output.
    let again = place.succeed(&["sweep", "--resume", "s", "--quiet"]).stdout;
    let line = again.lines().last().unwrap();
    assert!(
        line.starts_with("ensemble: 8 picks of ") && line.contains(" on out-of-fold rows, model "),
        "{again}"
    );
    let inspected = place.succeed(&["inspect", "--model", "s/ensemble.safetensors"]).stdout;
    assert!(inspected.contains(&format!("ensemble of {} networks", picked.len())), "{inspected}");
}

#[test]
fn values_are_compared_in_the_unit_of_all_rows() {
    let place = values();
    place.write("space.toml", SPACE.replace("0.1, 0.01", "0.03, 0.01"));
    let text = std::fs::read_to_string(place.path("t.csv")).unwrap();
    let targets = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
    let targets: Vec<f64> = targets.collect();
    let center = targets.iter().sum::<f64>() / targets.len() as f64;
    let variance = targets.iter().map(|value| (value - center).powi(2)).sum::<f64>() / targets.len() as f64;
    for (scale, unit) in [("standard", variance), ("none", 1.0)] {
        // Unscaled targets need small steps.
        let more = ["--task", "regression", "--scale-target", scale, "--optimizer", "adam", "--out", scale];
        let objects = swept(&place, &[&COMMON[..], &more].concat());
        let ensemble = &objects.last().unwrap()["ensemble"];
        let folds = evaluated(&place, scale, &picks(ensemble));
        let loss = mean(&folds, |fold| fold["rmse"].as_f64().unwrap().powi(2)) / unit;
        assert!(
            (ensemble["loss"].as_f64().unwrap() / loss - 1.0).abs() < 1e-5,
            "{scale}, {loss}: {ensemble}"
        );
        assert_eq!([&ensemble["picked_by"], &ensemble["accuracy"]], [&json!("out_of_fold"), &Value::Null]);
        assert_refit(&place, &objects, scale, 0);
    }
}

#[test]
fn a_resumed_sweep_gives_the_same_ensemble() {
    let place = classes();
    place.write("space.toml", SPACE);
    let whole = swept(&place, &[&COMMON[..], &["--out", "whole", "--threads", "1"]].concat());
    let files = ["ensemble.safetensors", "best.safetensors", "members/00003-fold-2.safetensors"];
    let other = swept(&place, &[&COMMON[..], &["--out", "cut", "--threads", "2"]].concat());
    let ensemble = |objects: &[Value]| {
        let mut ensemble = objects.last().unwrap()["ensemble"].clone();
        ensemble["model"] = Value::Null;
        ensemble
    };
    assert_eq!(ensemble(&other), ensemble(&whole));
    for file in files {
        assert_eq!(bytes(&place, &format!("cut/{file}")), bytes(&place, &format!("whole/{file}")));
    }
    // Simulates a kill after members 0 to 4, when another member had saved a part of its models. Members end
    // in any order.
    let results = String::from_utf8(bytes(&place, "cut/results.jsonl")).unwrap();
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["member"].as_u64().unwrap();
    let cut: String = results.split_inclusive('\n').filter(|line| number(line) < 5).collect();
    place.write("cut/results.jsonl", cut);
    for name in ["ensemble.safetensors", "best.safetensors", "members/00007-fold-3.safetensors"] {
        std::fs::remove_file(place.path(&format!("cut/{name}"))).unwrap();
    }
    let resumed = place.succeed(&["sweep", "--resume", "cut", "--format", "json"]).objects();
    assert_eq!((members(&resumed).len(), ensemble(&resumed)), (3, ensemble(&whole)));
    for file in files {
        assert_eq!(bytes(&place, &format!("cut/{file}")), bytes(&place, &format!("whole/{file}")));
    }
    // Without the models of a fold, nothing is picked or written.
    std::fs::remove_file(place.path("cut/members/00003-fold-2.safetensors")).unwrap();
    let outcome = place.run(&["sweep", "--resume", "cut"]);
    let refused = |member: u32, folder: &str, found: u32| {
        format!(
            "error: --ensemble: expected the models of 3 folds of trial {member} in {folder}, found {found}; \
             a sweep saves them if it is started with --ensemble\n"
        )
    };
    assert_eq!((outcome.code, outcome.stderr), (2, refused(3, "cut", 2)));
    let few = [
        &["--space", "space.toml", "--trials", "1", "--preset", "plain", "--epochs", "1", "--out", "few"],
        &COMMON[8..14],
    ];
    let few = few.concat();
    assert_eq!(members(&swept(&place, &few))[&0]["fold_models"], Value::Null);
    let outcome = place.run(&["sweep", "--resume", "few", "--ensemble", "2"]);
    assert_eq!((outcome.code, outcome.stderr), (2, refused(0, "few", 0)));
}

#[cfg(unix)]
#[test]
fn a_sweep_interrupted_during_its_refit_can_be_resumed() {
    let place = classes();
    place.write("space.toml", "lr = [0.01, 0.02]\nhidden = [[16]]\n");
    let arguments = [&COMMON[4..6], &COMMON[8..], &["--space", "space.toml", "--grid", "--epochs", "3000"]];
    let arguments = [&arguments.concat()[..], &["--threads", "1", "--out"]].concat();
    let whole = swept(&place, &[&arguments[..], &["whole"]].concat());
    let common = ["sweep", "--device", "cpu", "--data", "t.csv", "--format", "json"];
    let mut command = place.command(&[&common[..], &arguments, &["cut"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ended = events.by_ref().filter(|line| line.contains(r#""event":"member""#)).take(2).count();
    assert_eq!(ended, 2);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    events.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "error: interrupted; 2 of 2 trials are finished and saved in cut; continue with tinytrain sweep --resume cut\n";
    assert_eq!((output.status.code(), error.as_str()), (Some(130), expected));
    assert!(!place.path("cut/ensemble.safetensors").exists());
    let resumed = place.succeed(&["sweep", "--resume", "cut", "--format", "json"]).objects();
    assert_eq!(members(&resumed).len(), 0);
    assert_eq!(picks(&resumed.last().unwrap()["ensemble"]), picks(&whole.last().unwrap()["ensemble"]));
    for file in ["ensemble.safetensors", "best.safetensors"] {
        assert_eq!(bytes(&place, &format!("cut/{file}")), bytes(&place, &format!("whole/{file}")));
    }
}

/// The last rows train in no fold, since they are the latest: their excessive weights only affect training on
/// all rows.
#[test]
fn a_network_that_diverges_on_all_rows_is_left_out() {
    let place = Workplace::new();
    let row = |row: usize, last: Option<[&str; 2]>| {
        let [a, b] = [noise(row, 100), noise(row + 5_000, 50)];
        let classes = last.filter(|_| row >= 90).unwrap_or(["low", "high"]);
        format!("{a},{b},{row},{}\n", classes[usize::from(a + b > 70)])
    };
    for (name, last) in [("even.csv", None), ("uneven.csv", Some(["vast", "huge"]))] {
        let rows: String = (0..120).map(|number| row(number, last)).collect();
        place.write(name, "a,b,when,target\n".to_owned() + &rows);
    }
    let settings = ["{\"hidden\":[],\"lr\":0.1}\n", "{\"hidden\":[8],\"optimizer\":\"adam\",\"lr\":0.01}\n"];
    place.write("both.jsonl", settings.concat());
    place.write("first.jsonl", settings[0]);
    let run = |data: &str, settings: &str, more: &[&str]| {
        let line = [
            "sweep", "--device", "cpu", "--format", "json", "--preset", "plain", "--epochs", "5", "--folds",
            "3",
        ];
        let of_data = ["--target", "target", "--time", "when", "--data", data, "--settings", settings];
        let weights = if data == "even.csv" { &[][..] } else { &["--class-weights", "1,1e30,1,1e30"] };
        place.run(&[&line[..], &of_data, weights, more].concat())
    };
    let even = run("even.csv", "both.jsonl", &["--ensemble", "8", "--out", "even"]);
    let uneven = run("uneven.csv", "both.jsonl", &["--ensemble", "8", "--out", "uneven"]);
    assert_eq!((even.code, uneven.code), (0, 0), "{}{}", even.stderr, uneven.stderr);
    let warning = uneven.stderr.clone();
    let ended = uneven.objects();
    let left = members(&ended)[&1].clone();
    let [even, uneven] = [even.objects(), uneven.objects()].map(|objects| objects.last().unwrap().clone());
    assert_eq!(
        (picks(&even["ensemble"]), &even["model"]),
        (vec![(0, 4), (1, 4)], &json!("even/best.safetensors"))
    );
    // The results belong to the remaining member: its mean loss over three folds of 30 rows.
    assert_eq!(
        (picks(&uneven["ensemble"]), &uneven["model"]),
        (vec![(1, 4)], &json!("uneven/best.safetensors"))
    );
    let expected =
        "warning: trial 0 is left out, as training on all rows failed: the loss became inf at step ";
    assert!(warning.starts_with(expected) && warning.lines().count() == 1, "{warning}");
    let alone = &left["loss"].as_f64().unwrap();
    assert!((uneven["ensemble"]["loss"].as_f64().unwrap() - alone).abs() < 1e-7, "{alone}: {uneven}");
    let outcome = run("uneven.csv", "first.jsonl", &["--ensemble", "8", "--out", "alone"]);
    let expected = "error: training the best trial, 0, on all rows failed: the loss became inf at step ";
    assert!(outcome.code == 3 && outcome.stderr.starts_with(expected), "{}", outcome.stderr);
    for file in ["alone/best.safetensors", "alone/ensemble.safetensors"] {
        assert!(!place.path(file).exists(), "{file}");
    }
}
