//! Sweeps that are interrupted, halved, ended by time, or driven by other programs.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::sweep::{bytes, members, sweep, swept, table};
use crate::program::Workplace;

const SPACE: &str = "lr = { log = [1e-3, 1e-1] }\nhidden = [[4], [8, 4], []]\n";

/// Returns the leaderboard without times.
fn board(place: &Workplace, folder: &str) -> Vec<String> {
    let text = String::from_utf8(bytes(place, &format!("{folder}/leaderboard.csv"))).unwrap();
    text.lines().map(|line| line.split(',').take(6).collect::<Vec<_>>().join(",")).collect()
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_resumes_with_the_same_result() {
    let place = table();
    // Ten teams of about four, so that only a few members have ended when the first ones have.
    place.write("space.toml", format!("{SPACE}batch-size = [12, 13, 14, 15, 16]\n"));
    let arguments =
        ["--space", "space.toml", "--trials", "40", "--preset", "plain", "--epochs", "400", "--threads", "2"];
    swept(&place, &[&arguments[..], &["--out", "whole"]].concat());
    for signal in ["-INT", "-KILL"] {
        let folder = format!("cut{signal}");
        let line = [
            &["sweep", "--device", "cpu", "--data", "t.csv", "--format", "json"],
            &arguments[..],
            &["--out", &folder],
        ];
        let mut command = place.command(&line.concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ended = events.by_ref().filter(|line| line.contains(r#""event":"member""#)).take(5).count();
        assert_eq!(ended, 5);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        events.for_each(drop);
        let output = child.wait_with_output().unwrap();
        if signal == "-INT" {
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(130), "{error}");
            assert!(
                error.contains(
                    "of 40 trials are finished and saved in cut-INT; continue with tinytrain sweep --resume"
                ),
                "{error}"
            );
            assert!(place.path("cut-INT/best.safetensors").exists());
        } else {
            // Simulates a kill within a line.
            for (name, half) in [("results.jsonl", "{\"member\":3"), ("history.csv", "39,0,1,0.")] {
                let file =
                    std::fs::OpenOptions::new().append(true).open(place.path(&format!("{folder}/{name}")));
                file.unwrap().write_all(half.as_bytes()).unwrap();
            }
        }
        let before = String::from_utf8(bytes(&place, &format!("{folder}/results.jsonl"))).unwrap();
        let known = before.lines().filter(|line| line.ends_with('}')).count();
        assert!((5..40).contains(&known), "{known}");
        let resumed = place.succeed(&["sweep", "--resume", &folder, "--format", "json"]).objects();
        assert_eq!(members(&resumed).len(), 40 - known, "none is trained twice");
        assert_eq!(board(&place, &folder), board(&place, "whole"));
        for number in 0..40 {
            let name = format!("members/{number:05}.safetensors");
            assert_eq!(bytes(&place, &format!("{folder}/{name}")), bytes(&place, &format!("whole/{name}")));
        }
        let history = String::from_utf8(bytes(&place, &format!("{folder}/history.csv"))).unwrap();
        assert_eq!(history.lines().count(), 1 + 40 * 400);
        // A completed sweep has nothing more to train.
        let again = place.succeed(&["sweep", "--resume", &folder, "--format", "json"]).objects();
        assert_eq!(members(&again).len(), 0);
    }
}

/// Members that wait for comparison with others end as if they had not waited.
#[test]
fn halving_drops_the_worse_and_changes_no_bit_of_the_others() {
    let place = table();
    place.write(
        "space.toml",
        "lr = { log = [1e-3, 1e-1] }\nhidden = [[4], [8, 4]]\noptimizer = [\"sgd\", \"adam\"]\n",
    );
    let arguments =
        ["--space", "space.toml", "--trials", "10", "--preset", "plain", "--epochs", "18", "--keep", "last"];
    let whole = swept(&place, &[&arguments[..], &["--out", "whole"]].concat());
    let halved =
        swept(&place, &[&arguments[..], &["--out", "halved", "--halving", "--threads", "3"]].concat());
    let (whole, ended) = (members(&whole), members(&halved));
    let count = |epochs: u64, end: &str| {
        ended.values().filter(|member| member["epochs"] == epochs && member["end"] == end).count()
    };
    assert_eq!([count(2, "dropped"), count(6, "dropped"), count(18, "done")], [6, 2, 2]);
    let left: Vec<&Value> =
        halved.iter().filter(|event| event["event"] == "halved").map(|event| &event["left"]).collect();
    assert_eq!(left, [4, 2]);
    let history = String::from_utf8(bytes(&place, "whole/history.csv")).unwrap();
    let accuracy = |member: u64, epoch: &str| -> f64 {
        let line = history.lines().find(|line| line.starts_with(&format!("{member},0,{epoch},"))).unwrap();
        line.split(',').nth(6).unwrap().parse().unwrap()
    };
    // The worst continued member is as good as the best dropped one.
    let at = |was_dropped: bool| {
        ended
            .iter()
            .filter(move |(_, member)| (member["epochs"] == 2) == was_dropped)
            .map(|(number, _)| *number)
    };
    let best_dropped = at(true).map(|number| accuracy(number, "2")).fold(0.0, f64::max);
    let worst_kept = at(false).map(|number| accuracy(number, "2")).fold(1.0, f64::min);
    assert!(worst_kept >= best_dropped, "{worst_kept} {best_dropped}");
    for (number, member) in ended.iter().filter(|(_, member)| member["end"] == "done") {
        let name = format!("members/{number:05}.safetensors");
        assert_eq!(bytes(&place, &format!("halved/{name}")), bytes(&place, &format!("whole/{name}")));
        assert_eq!(member["loss"], whole[number]["loss"]);
    }
}

/// A resumed sweep ranks the same members as before: members dropped together are saved together.
#[test]
fn members_are_dropped_all_or_none() {
    let place = table();
    place.write("space.toml", SPACE);
    let arguments =
        ["--space", "space.toml", "--trials", "60", "--preset", "plain", "--epochs", "9", "--halving"];
    let line = [&["sweep", "--device", "cpu", "--data", "t.csv", "--quiet", "--out", "s"][..], &arguments];
    let mut child = place.command(&line.concat()).spawn().unwrap();
    let mut dropped = BTreeSet::new();
    loop {
        let has_ended = child.try_wait().unwrap().is_some();
        let results = std::fs::read_to_string(place.path("s/results.jsonl")).unwrap_or_default();
        dropped.insert(results.matches(r#""end":"dropped""#).count());
        if has_ended {
            break;
        }
    }
    assert!(dropped.is_subset(&[0, 40, 53].into()), "{dropped:?}");
    assert_eq!(dropped.last(), Some(&53));
}

#[test]
fn a_time_limit_keeps_the_trained_members() {
    let place = table();
    place.write("space.toml", SPACE);
    let arguments = [
        "--space",
        "space.toml",
        "--epochs",
        "100000000",
        "--total-time",
        "5s",
        "--threads",
        "2",
        "--out",
        "s",
    ];
    let objects = swept(&place, &[&arguments[..], &["--preset", "plain"]].concat());
    let ended = members(&objects);
    assert_eq!(ended.len(), 2, "as many as threads");
    for member in ended.values() {
        assert_eq!(member["end"], "time");
        assert!(place.path(&format!("s/{}", member["model"].as_str().unwrap())).exists());
    }
    assert!(objects.last().unwrap()["best_member"].is_u64());
    // An open-ended sweep has the same number of trials as at its start.
    let mut command = place.command(&["sweep", "--resume", "s", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let start: Value = serde_json::from_str(&line).unwrap();
    assert_eq!([&start["members"], &start["ended"]], [1000, 2], "{line}");
    for option in [&["--trials", "9"][..], &["--lr", "0.1"], &["--halving"], &["--out", "t"]] {
        let outcome = place.run(&[&["sweep", "--resume", "s"], option].concat());
        let expected = format!(
            "error: {} cannot be combined with --resume: a sweep continues with its own settings\n",
            option[0]
        );
        assert_eq!((outcome.code, outcome.stderr), (2, expected));
    }
}

#[test]
fn a_sweep_continues_when_its_output_is_closed() {
    let place = table();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let line =
        ["sweep", "--device", "cpu", "--data", "t.csv", "--trials", "3", "--epochs", "1", "--out", "s"];
    let output = place.command(&line).stdout(writer).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("standard output is closed; the sweep continues without it\n"), "{stderr}");
    assert!(place.path("s/best.safetensors").exists());
}

/// An optimizer drives a sweep in batches: it provides the settings and reads the results.
#[test]
fn settings_come_on_standard_input_and_results_go_out() {
    let place = table();
    let arguments = ["--settings", "-", "--preset", "plain", "--epochs", "1", "--out", "s"];
    let line =
        [&["sweep", "--device", "cpu", "--data", "t.csv", "--format", "json"], &arguments[..]].concat();
    let mut command = place.command(&line);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"lr\":0.1}\n{\"lr\":0.2,\"hidden\":[3]}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = members(&objects);
    assert_eq!(ended[&1]["settings"], json!({"lr": 0.2, "hidden": [3]}));
    assert!(ended.values().all(|member| member["loss"].is_f64()));
    let outcome = sweep(&place, &["--settings", "t.csv", "--out", "n"]);
    assert!(outcome.stderr.contains("t.csv, row 1: expected a JSON object"), "{}", outcome.stderr);
}

/// On an adapter, members are trained together, by either schedule, and stop, wait and continue together;
/// each model file is the same as trained separately.
#[test]
fn members_of_a_pack_equal_separate_training() {
    let place = table();
    let settings = r#"{"hidden":[3],"lr":0.05}
{"hidden":[9,5],"lr":0.02,"dropout":0.2}
{"hidden":[],"lr":0.1}
{"hidden":[3],"lr":1e30}
{"hidden":[17],"optimizer":"adam","lr":0.01}
{"hidden":[4],"clip-norm":0.1}
"#;
    place.write("settings.jsonl", settings);
    let arguments =
        ["sweep", "--data", "t.csv", "--settings", "settings.jsonl", "--preset", "plain", "--epochs", "9"];
    let more = ["--halving", "--keep", "last", "--device", "vulkan", "--format", "json", "--out", "sweep"];
    let objects = place.succeed(&[&arguments[..], &more].concat()).objects();
    let ended = members(&objects);
    let count = |end: &str| ended.values().filter(|member| member["end"] == end).count();
    assert_eq!([count("failed"), count("dropped"), count("done")], [1, 4, 1], "{objects:?}");
    let line = |member: &Value| -> Vec<String> {
        let words = member["arguments"].as_array().unwrap().iter();
        words.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    assert!(ended.values().all(|member| line(member).contains(&"--schedule=fused".to_owned())));
    let (number, done) = ended.iter().find(|(_, member)| member["end"] == "done").unwrap();
    let words = line(done);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    place.succeed(&[&["train"], &words[..], &["--out", "alone.safetensors", "--quiet"]].concat());
    let member = format!("sweep/members/{number:05}.safetensors");
    assert_eq!(bytes(&place, "alone.safetensors"), bytes(&place, &member));
}

#[test]
fn one_process_writes_into_the_folder_of_a_sweep() {
    let place = table();
    let endless = [
        "sweep",
        "--data",
        "t.csv",
        "--target",
        "c",
        "--preset",
        "plain",
        "--trials",
        "3",
        "--epochs",
        "100000000",
    ];
    let endless = [&endless[..], &["--device", "cpu", "--out", "s"]].concat();
    let mut child = place.command(&endless).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !place.path("s/sweep.json").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    let wanted = format!("error: cannot write into s, where process {} is training\n", child.id());
    let outcome = place.run(&["sweep", "--resume", "s"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (2, wanted.as_str()));
    child.kill().unwrap();
    child.wait().unwrap();
    // Its lock has ended with it.
    let outcome = place.run(&["sweep", "--resume", "s", "--total-time", "1ms", "--quiet"]);
    assert_ne!(outcome.stderr, wanted);
}
