//! Help, version, and a standard output that nobody reads.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::program::Workplace;

/// The options of every command that trains.
const TRAINING: [&str; 8] =
    ["batch-size", "lr", "hidden", "seed", "data", "label-column", "device", "schedule"];

#[test]
fn help_names_every_option_and_gives_an_example() {
    let place = Workplace::new();
    let trains = |own: &[&'static str]| [&TRAINING[..], own].concat();
    for (command, options) in [
        (
            "train",
            trains(&["epochs", "test", "checked", "no-tune", "out", "profile", "format", "quiet", "verbose"]),
        ),
        ("eval", vec!["model", "data", "label-column", "device", "checked", "format"]),
        (
            "profile",
            trains(&["steps", "checked", "no-tune", "no-timestamps", "trace", "plots", "compare", "format"]),
        ),
        ("devices", vec!["format"]),
        ("tune", trains(&["seconds", "format"])),
    ] {
        let outcome = place.succeed(&[command, "--help"]);
        assert!(outcome.stderr.is_empty());
        for option in options {
            assert!(outcome.stdout.contains(&format!("--{option}")), "{command}: {option}");
        }
        assert!(outcome.stdout.contains(&format!("\n  tinytrain {command}")), "{}", outcome.stdout);
        assert!(!outcome.stdout.contains('\u{1b}'), "no colours where there is no terminal");
        assert!(place.succeed(&["--help"]).stdout.contains(command));
    }
    assert_eq!(place.succeed(&["--version"]).stdout, concat!("tinytrain ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn no_command_is_a_usage_error_with_help() {
    let outcome = Workplace::new().run(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("Usage: tinytrain <COMMAND>"), "{}", outcome.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let place = Workplace::with_data();
    for format in ["text", "json"] {
        let arguments =
            ["train", "--data", "data", "--device", "cpu", "--epochs", "100000", "--format", format];
        let mut child =
            place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let place = Workplace::with_data();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = ["train", "--data", "data", "--device", "cpu", "--epochs", "1"];
    let output = place.command(&arguments).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
}
