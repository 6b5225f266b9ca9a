//! Help, version, and an unread standard output.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::program::Workplace;

/// Options of every command that trains.
const TRAINING: [&str; 9] =
    ["batch-size", "lr", "hidden", "seed", "data", "label-column", "device", "threads", "schedule"];

#[test]
fn help_names_every_option_and_gives_an_example() {
    let place = Workplace::new();
    let trains = |own: &[&'static str]| [&TRAINING[..], own].concat();
    for (command, options) in [
        (
            "train",
            trains(&[
                "epochs",
                "test",
                "bounds-checks",
                "out",
                "profile",
                "folds",
                "metric",
                "tensorboard",
                "format",
                "quiet",
                "verbose",
            ]),
        ),
        ("eval", vec!["model", "data", "label-column", "device", "bounds-checks", "format"]),
        (
            "profile",
            trains(&["steps", "bounds-checks", "no-timestamps", "trace", "plots", "compare", "format"]),
        ),
        ("devices", vec!["format"]),
        ("importance", vec!["model", "data", "metric", "repeats", "seed", "svg", "device", "format"]),
        ("export", vec!["format", "model", "out"]),
        ("completions", vec!["help"]),
        ("man", vec!["help"]),
        ("report", vec!["out", "data", "target", "device", "bounds-checks", "delimiter"]),
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
    assert!(outcome.stderr.contains("Usage: tinytrain [OPTIONS] <COMMAND>"), "{}", outcome.stderr);
}

/// More epochs than lines fit into a pipe.
const EPOCHS: [&str; 6] = ["--epochs", "1000", "--hidden", "4", "--preset", "plain"];

#[test]
fn training_continues_when_its_output_is_closed() {
    let place = Workplace::new();
    place.write("t.csv", "0,1\n1,2\n0,1\n1,3\n");
    let train = |out| {
        let task = ["--target", "0", "--task", "classification"];
        [&["train", "--data", "t.csv", "--device", "cpu", "--out", out], &task[..], &EPOCHS[..]].concat()
    };
    place.succeed(&train("whole.safetensors"));
    for format in ["text", "json"] {
        let mut command = place.command(&train("m.safetensors"));
        command.args(["--format", format, "--profile", "p"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(stderr, "standard output is closed; training continues without it\nwrote p\n");
        assert!(
            fs::read(place.path("m.safetensors")).unwrap()
                == fs::read(place.path("whole.safetensors")).unwrap(),
            "{format}"
        );
        fs::remove_file(place.path("p")).expect("what comes after training is done too");
    }
}

#[test]
fn closing_the_output_of_a_list_is_not_a_failure() {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--device", "cpu", "--out", "m.safetensors"]);
    let quiet = ["train", "--data", "data", "--epochs", "1", "--device", "cpu", "--quiet"];
    for arguments in
        [&["devices"][..], &["eval", "--model", "m.safetensors", "--data", "data", "--device", "cpu"], &quiet]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_to_a_full_disk_is_a_failure() {
    let place = Workplace::with_data();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = ["train", "--data", "data", "--device", "cpu", "--epochs", "1"];
    let output = place.command(&arguments).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
}

#[test]
fn names_of_other_tools_get_a_suggestion() {
    let place = Workplace::new();
    for (arguments, own) in [
        (&["train", "--random-state", "3"][..], "--seed"),
        (&["train", "--learning-rate=0.1"], "--lr"),
        (&["sweep", "--n-jobs", "2"], "--threads"),
        (&["fit", "--data", "t.csv"], "train"),
    ] {
        let outcome = place.run(arguments);
        assert_eq!(outcome.code, 2);
        let tip = format!("; the same is called {own} here; see --help\n");
        assert!(outcome.stderr.ends_with(&tip), "{}", outcome.stderr);
    }
}

#[test]
fn commands_suggest_their_own_options_only() {
    let outcome = Workplace::new().run(&["eval", "--cv", "5"]);
    assert_eq!(outcome.code, 2);
    assert!(!outcome.stderr.contains("--folds"), "{}", outcome.stderr);
}
