//! Limits of the process: a run without enough memory ends with one line at any point.

use std::process::{Command, Output, Stdio};

use crate::program::{Rows, Workplace};

/// Runs the program with this limit of address space, or of data, in kB.
fn limited(place: &Workplace, option: &str, kilobytes: usize, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_tinytrain");
    let script = format!("ulimit {option} {kilobytes} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, program]).args(arguments).current_dir(place.path("."));
    command.env("TINYTRAIN_CACHE", "").env_remove("RUST_BACKTRACE").stdin(Stdio::null()).output().unwrap()
}

/// Returns approximately the least address space with which the program starts, in kB: it differs slightly
/// between starts because of address randomization.
fn least(place: &Workplace, option: &str) -> usize {
    let starts = |kilobytes| limited(place, option, kilobytes, &["--version"]).status.success();
    512 + (1..).map(|step| step * 512).find(|kilobytes| starts(*kilobytes)).unwrap()
}

#[test]
fn no_limit_of_memory_makes_a_run_abort() {
    let place = Workplace::with_data();
    place.write("table.csv", Rows::new(3000, 3).csv());
    for option in ["-v", "-d"] {
        let least = least(&place, option);
        for (data, hidden) in [("data", "12"), ("table.csv", "12"), ("data", "2000,1000")] {
            let arguments = [
                "train",
                "--device",
                "cpu",
                "--quiet",
                "--epochs",
                "1",
                "--out",
                "m.safetensors",
                "--data",
                data,
                "--hidden",
                hidden,
            ];
            let (mut kilobytes, mut failures) = (least, 0);
            loop {
                let output = limited(&place, option, kilobytes, &arguments);
                let error = String::from_utf8(output.stderr).unwrap();
                let what = format!("{option} {kilobytes}, {data}, {hidden}: {error}");
                match output.status.code() {
                    Some(0) => break,
                    Some(1 | 2) => failures += 1,
                    _ => panic!("{what}{}", output.status),
                }
                assert_eq!(error.lines().count(), 1, "{what}");
                assert!(error.starts_with("error: "), "{what}");
                kilobytes += 256 + kilobytes / 32;
            }
            assert!(failures > 0 || hidden == "12", "{option}, {data}, {hidden}");
        }
    }
}

#[test]
fn a_network_larger_than_the_limit_is_refused_before_it_is_made() {
    let place = Workplace::with_data();
    let arguments = ["train", "--device", "cpu", "--data", "data", "--hidden", "4000,4000"];
    for option in ["-v", "-d"] {
        let output = limited(&place, option, 200_000, &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("network needs") && error.contains("available"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
