//! Ctrl-C and SIGTERM during training.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Points, Rows, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];
const TRAIN: [&str; 11] = [
    "train",
    "--device",
    "cpu",
    "--hidden",
    "8",
    "--epochs",
    "1000000",
    "--out",
    "m.safetensors",
    "--format",
    "json",
];

fn start(place: &Workplace, arguments: &[&str]) -> Child {
    let mut command = place.command(&[&TRAIN[..], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn kill(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Reads events up to the first that satisfies `is_last`.
fn read_to(events: &mut impl Iterator<Item = String>, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut read = Vec::new();
    for line in events {
        read.push(serde_json::from_str(&line).unwrap());
        if is_last(read.last().unwrap()) {
            return read;
        }
    }
    panic!("it ended before: {read:?}");
}

/// Starts a run, sends a signal after an epoch, and returns its events, its exit code and the line on
/// standard error.
fn interrupted(place: &Workplace, signal: &str, arguments: &[&str]) -> (Vec<Value>, Option<i32>, String) {
    let mut child = start(place, arguments);
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut read = read_to(&mut events, |event| event["epoch"] == 5);
    kill(&child, signal);
    read.extend(events.map(|line| serde_json::from_str::<Value>(&line).unwrap()));
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    (read, output.status.code(), error)
}

#[test]
fn a_signal_ends_training_with_the_model_saved() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(1000, 4).csv(NAMES));
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let (events, found, error) = interrupted(&place, signal, &["--preset", "plain", "--data", "t.csv"]);
        assert_eq!(found, Some(code), "{error}");
        assert!(error.starts_with("error: interrupted; the model after "), "{error}");
        assert!(error.ends_with(" is saved at m.safetensors\n"), "{error}");
        assert!(events.iter().all(|event| event["event"] != "summary"));
        let eval =
            ["eval", "--model", "m.safetensors", "--data", "t.csv", "--device", "cpu", "--format", "json"];
        let accuracy = place.succeed(&eval).objects()[0]["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.8, "{accuracy}");
    }
}

#[test]
fn the_best_model_stays() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(1000, 4).csv(NAMES));
    place.write("v.csv", Points::new(300, 9).csv(NAMES));
    let arguments = ["--data", "t.csv", "--validation", "v.csv", "--lr", "1"];
    let (events, code, error) = interrupted(&place, "-INT", &arguments);
    assert_eq!(code, Some(130), "{error}");
    let best = events.iter().rfind(|event| event["kept"] == true).unwrap();
    assert!(error.contains(&format!("the best model, epoch {}, is saved at m", best["epoch"])), "{error}");
    let eval = ["eval", "--model", "m.safetensors", "--data", "v.csv", "--device", "cpu", "--format", "json"];
    assert_eq!(place.succeed(&eval).objects()[0]["accuracy"], best["validation_accuracy"]);
}

/// Sends signals to a run that waits for rows until it ends, and returns its output.
fn ended_by_many_signals(place: &Workplace) -> Output {
    let mut child = start(place, &["--data", "-", "--target", "class"]);
    let mut input = child.stdin.take().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // Images are trained while they are read; then the run waits for more of them.
    input.write_all(Rows::new(6000, 3).csv().as_bytes()).unwrap();
    input.flush().unwrap();
    read_to(&mut events, |event| event["event"] == "start");
    let mut signals = Command::new("sh")
        .args(["-c", "while :; do kill -INT \"$0\"; done", &child.id().to_string()])
        .spawn()
        .unwrap();
    let rest: Vec<String> = events.collect();
    signals.kill().unwrap();
    signals.wait().unwrap();
    assert!(rest.iter().all(|event| !event.contains("summary")), "{rest:?}");
    child.wait_with_output().unwrap()
}

#[test]
fn a_second_signal_ends_at_once() {
    let place = Workplace::new();
    // The first signal ends the run, too, but with a message; it may do so before the second arrives.
    let at_once = (0..20).map(|_| ended_by_many_signals(&place)).any(|ended| {
        assert_eq!(ended.status.code(), Some(130));
        ended.stderr.is_empty()
    });
    assert!(at_once);
}

/// Waits for the end with this exit code within a few seconds; other tests may use the processor.
fn ends(mut child: Child, code: i32, name: &str) -> String {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} does not hear the signal");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{name}: {error}");
    error
}

/// One signal ends a program whose input stalls before training; no files are left.
#[test]
fn one_signal_is_heard_while_input_stalls() {
    let place = Workplace::new();
    place.write("t.csv", Points::new(1000, 4).csv(NAMES));
    place.succeed(&["train", "--data", "t.csv", "--epochs", "1", "--device", "cpu", "--quiet", "--out", "m"]);
    let before = place.entries();
    let rows = Points::new(1000, 4).csv(NAMES);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for arguments in [
            &["train", "--data", "-", "--device", "cpu", "--out", "new"][..],
            &["train", "--data", "-", "--device", "cpu", "--folds", "3"],
            &["sweep", "--data", "-", "--device", "cpu", "--trials", "2", "--out", "new"],
            &["predict", "--model", "m", "--device", "cpu", "--out", "predicted.csv", "-"],
            &["eval", "--model", "m", "--device", "cpu", "--data", "-"],
            &["importance", "--model", "m", "--device", "cpu", "--data", "-"],
            &["inspect", "-"],
        ] {
            let mut command = place.command(arguments);
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(rows.as_bytes()).unwrap();
            input.flush().unwrap();
            // The program watches for signals from its start; then it waits for rows.
            std::thread::sleep(Duration::from_millis(300));
            kill(&child, signal);
            let error = ends(child, code, arguments[0]);
            assert!(error.ends_with("error: interrupted\n"), "{arguments:?}: {error}");
            assert_eq!(place.entries(), before, "{arguments:?}");
            drop(input);
        }
    }
}

/// A run that waits for rows during its first epoch saves its state.
#[test]
fn one_signal_is_heard_while_a_run_waits_for_rows() {
    let place = Workplace::new();
    let run = ["--data", "-", "--target", "class", "--out", "run"];
    let train: Vec<&str> =
        TRAIN.iter().filter(|word| !["--out", "m.safetensors"].contains(word)).copied().collect();
    let mut command = place.command(&[&train[..], &run].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    input.write_all(Rows::new(6000, 3).csv().as_bytes()).unwrap();
    input.flush().unwrap();
    read_to(&mut events, |event| event["event"] == "start");
    std::thread::sleep(Duration::from_millis(300));
    kill(&child, "-TERM");
    let error = ends(child, 143, "train");
    assert!(error.contains("is saved at run/model.safetensors; continue with"), "{error}");
    assert!(place.path("run/checkpoint.safetensors").exists());
}
