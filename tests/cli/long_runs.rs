//! Runs of ten thousand epochs need no more memory and open files than short ones.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::program::Workplace;

/// Returns the memory of a process in bytes, and its number of open files.
fn held(process: u32) -> [i64; 2] {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: i64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    [1024 * kilobytes, std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as i64]
}

/// Trains `epochs` epochs of two steps, and compares the process's usage after a tenth of them and after
/// half: the remaining output does not fit into a pipe, so the process is still running.
fn train(device: &str, epochs: u64) {
    let place = Workplace::new();
    place.write("t.csv", "a,b,c\n1,2,x\n2,1,y\n3,4,x\n4,2,y\n5,1,x\n6,7,y\n");
    let epochs_text = epochs.to_string();
    let arguments =
        ["train", "--data", "t.csv", "--target", "c", "--device", device, "--epochs", &epochs_text];
    let others =
        ["--preset", "plain", "--hidden", "3", "--batch-size", "4", "--out", "run", "--format", "json"];
    let mut command = place.command(&[&arguments[..], &others].concat());
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut counts, mut summary, mut seen) = (Vec::new(), Value::Null, 0);
    for line in BufReader::new(process.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "epoch" {
            seen += 1;
            assert_eq!(event["epoch"], seen, "{device}");
            assert!(event["train_loss"].as_f64().unwrap().is_finite(), "{device}: {event}");
            if seen == epochs / 10 || seen == epochs / 2 {
                counts.push(held(process.id()));
            }
        }
        summary = event;
    }
    assert!(process.wait().unwrap().success());
    assert_eq!((seen, &summary["epochs"]), (epochs, &epochs.into()), "{device}");
    let history = std::fs::read_to_string(place.path("run/history.csv")).unwrap();
    assert_eq!(history.lines().count() as u64, epochs + 1);
    let [[first, files], [last, files_later]] = counts[..] else { panic!("{counts:?}") };
    // The metrics of an epoch are stored: less than half a kilobyte. A megabyte is left to the allocator.
    let most = 512 * epochs as i64 + (1 << 20);
    assert!(last - first < most, "{device}: {first} bytes, then {last}");
    // A file that is being written may be open.
    assert!((files - files_later).abs() <= 1, "{device}: {files} files, then {files_later}");
}

#[test]
fn ten_thousand_epochs_take_no_more_than_a_thousand() {
    train("cpu", 10_000);
}

#[test]
fn a_thousand_epochs_on_a_gpu_take_no_more_than_a_hundred() {
    for device in ["vulkan", "gl"] {
        if !Workplace::new().adapters(device).is_empty() {
            train(device, 1000);
        }
    }
}
