//! The files of `tests/bad/`: the exact message for each, within a gigabyte of memory.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::program::Workplace;

/// Contents of `tests/bad/expected.toml`.
#[derive(Deserialize)]
struct Expected {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    /// Description of the fault.
    what: String,
    command: Vec<String>,
    /// Expected first warning, if any.
    warning: Option<String>,
    /// Expected line on standard error; `None` if the file is accepted.
    line: Option<String>,
}

fn copy(from: &Path, place: &Workplace, below: &str) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
        match path.is_dir() {
            true => copy(&path, place, &format!("{name}/")),
            false => place.write(&name, std::fs::read(&path).unwrap()),
        }
    }
}

/// Returns exit code and standard error of the program, with limited address space if the system supports it.
fn run(place: &Workplace, arguments: &[String]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_tinytrain");
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 1000000 && exec \"$0\" \"$@\"", program]);
        shell
    } else {
        Command::new(program)
    };
    command.args(arguments).current_dir(place.path(".")).env("TINYTRAIN_CACHE", "").stdin(Stdio::null());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_bad_file_is_refused_in_its_own_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let text = std::fs::read_to_string(folder.join("expected.toml")).unwrap();
    let Expected { case: cases } = toml::from_str(&text).unwrap();
    let place = Workplace::new();
    copy(&folder, &place, "");
    let before = place.entries();
    let mut faults = Vec::new();
    for Case { what, command, warning, line } in &cases {
        let told = warning.iter().chain(line).map(|line| format!("{line}\n")).collect();
        let expected = (Some(if line.is_some() { 2 } else { 0 }), told);
        let found = run(&place, command);
        if found != expected {
            faults.push(format!(
                "{what}: {}\n  expected {expected:?}\n  found    {found:?}",
                command.join(" ")
            ));
        }
        assert_eq!(place.entries(), before, "{what}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // Each file of the corpus belongs to a case.
    let words: Vec<&String> = cases.iter().flat_map(|case| &case.command).collect();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_used = words.iter().any(|word| **word == name);
        assert!(is_used || ["README.md", "expected.toml", "t.csv"].contains(&name.as_str()), "{name}");
    }
}
