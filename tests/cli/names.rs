//! File and column names that a terminal or a shell would misinterpret.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::program::{Outcome, Points, Rows, Workplace};

/// Ends the line, reverses the text, clears the screen.
const NAME: &str = "a\n\u{202e}b\u{1b}[2J";

fn train(place: &Workplace, data: &OsStr, arguments: &[&str]) -> Outcome {
    let common = ["train", "--hidden", "4", "--epochs", "1", "--device", "cpu", "--data"];
    let output = place.command(&common).arg(data).args(arguments).output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn assert_printable(text: &str) {
    let raw = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
    assert!(!text.contains(raw), "{text:?}");
}

#[test]
fn names_reach_the_terminal_with_escapes() {
    let place = Workplace::new();
    place.write(NAME, Rows::new(100, 1).csv());
    let text = train(&place, NAME.as_ref(), &["--out", "m\u{202e}.safetensors"]);
    assert_eq!((text.code, text.stderr.as_str()), (0, ""));
    assert_printable(&text.stdout);
    assert!(text.stdout.contains("\nwrote $'m\\xe2\\x80\\xae.safetensors'\n"), "{}", text.stdout);

    let json = train(&place, NAME.as_ref(), &["--out", "m\u{202e}.safetensors", "--format", "json"]);
    assert_printable(&json.stdout);
    assert_eq!(json.objects().last().unwrap()["model"], "m\u{202e}.safetensors");

    let eval = ["eval", "--model", "m\u{202e}.safetensors", "--device", "cpu", "--data", NAME];
    let text = place.succeed(&eval);
    assert_printable(&text.stdout);
    assert!(text.stdout.contains(r"of a\n\u{202e}b\u{1b}[2J, on"), "{}", text.stdout);
    let json = place.succeed(&[&eval[..], &["--format", "json"]].concat());
    assert_printable(&json.stdout);
    assert_eq!(json.objects()[0]["data"], NAME);
}

#[test]
fn errors_and_notices_are_escaped_too() {
    let place = Workplace::new();
    let missing = train(&place, NAME.as_ref(), &[]);
    assert_eq!((missing.code, missing.stderr.lines().count()), (2, 1));
    assert_printable(&missing.stderr);
    assert!(missing.stderr.contains(r"a\n\u{202e}b\u{1b}[2J"), "{}", missing.stderr);
    place.write("t.csv", "a\u{202e},class\nx,1\n");
    let column = train(&place, "t.csv".as_ref(), &["--label-column", "class"]);
    assert_eq!(column.code, 2);
    assert_printable(&column.stderr);
    let usage = place.run(&["train", "--\u{202e}\u{9b}"]);
    assert_eq!((usage.code, usage.stderr.lines().count()), (2, 1));
    assert_printable(&usage.stderr);
}

/// The printed command for evaluating the model works in a shell.
#[cfg(target_os = "linux")]
#[test]
fn the_printed_command_can_be_copied_into_a_shell() {
    let program = Path::new(env!("CARGO_BIN_EXE_tinytrain")).parent().unwrap();
    let path = std::env::join_paths([program, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    for (name, column) in [
        (&b"it's $HOME"[..], "the class"),
        (br"a\b\", r"c\d"),
        (b"-x", "-y"),
        (b"\xff(\xc3", "--help"),
        (NAME.as_bytes(), "c\u{202e}\u{7f}"),
    ] {
        let place = Workplace::new();
        let data = OsStr::from_bytes(name);
        let table = Rows::new(100, 1).csv_label_last().replacen("class", column, 1);
        std::fs::write(place.path("").join(data), table).unwrap();
        // After a space, a value that begins with a dash would be an option.
        let option = |option: &str, end: &str| {
            let mut argument = OsString::from(option);
            argument.push(data);
            argument.push(end);
            argument
        };
        let output = place
            .command(&["train", "--hidden", "4", "--epochs", "1", "--device", "cpu"])
            .arg(format!("--label-column={column}"))
            .args([option("--data=", ""), option("--out=", ".safetensors")])
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let line = stdout.lines().find_map(|line| line.strip_prefix("evaluate the model: ")).unwrap();
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{line} --device cpu --format json")]);
        let output = shell.current_dir(place.path("")).env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.starts_with(b"{\"model\":"), "{line}");
    }
}

/// Colours are never written into files and pipes, except on request.
#[test]
fn colours_are_written_on_request_and_names_stay_escaped() {
    let place = Workplace::new();
    place.write(NAME, Points::new(300, 4).csv(["low", "mid", "high"]));
    let train = ["--data", NAME, "--hidden", "4", "--epochs", "2", "--preset", "plain", "--device", "cpu"];
    let held_out = ["--validation-fraction", "0.3"];
    let run = |more: &[&str]| place.succeed(&[&["train"][..], &train, &held_out, more].concat()).stdout;
    let [plain, never] = [run(&["--out", "a"]), run(&["--color", "never", "--out", "b"])];
    assert_printable(&plain);
    assert_printable(&never);
    let coloured = run(&["--color=always", "--out", "c"]);
    let stars: Vec<&str> = coloured.lines().filter(|line| line.contains(" %*")).collect();
    let is_bold = |line: &str| line.starts_with("\u{1b}[1m") && line.ends_with("\u{1b}[0m");
    assert!(!stars.is_empty() && stars.iter().all(|line| is_bold(line)), "{coloured:?}");
    assert_eq!(coloured.matches('\u{1b}').count(), 2 * stars.len(), "{coloured:?}");

    let missing = |color: &str| place.run(&["eval", color, "--model", NAME]).stderr;
    let line = missing("--color=never");
    assert_printable(&line);
    assert_eq!(missing("--color=always"), line.replacen("error:", "\u{1b}[31merror:\u{1b}[0m", 1));
    let few = ["sweep", "--trials", "2", "--color", "always"];
    let sweep = place.succeed(&[&["--color", "always"], &few[..3], &train[..], &["--out", "s"]].concat());
    assert!(sweep.stderr.contains("\n\u{1b}[33mwarning:\u{1b}[0m 60 validation rows"), "{}", sweep.stderr);
    let best: Vec<&str> = sweep.stdout.lines().filter(|line| is_bold(line)).collect();
    assert!(best.len() == 1 && best[0].starts_with("\u{1b}[1m   1  "), "{}", sweep.stdout);
    // The colour is not part of the sweep.
    let again = place.succeed(&["sweep", "--resume", "s"]).stdout;
    assert!(again.contains("2 trials were finished before and not trained again"), "{again}");
    assert_printable(&again);

    let compared = place.succeed(&["compare", "a", "c", "--color", "always"]).stdout;
    let plain = place.succeed(&["compare", "a", "c"]).stdout;
    assert_printable(&plain);
    assert_eq!(compared.lines().next(), Some("                     \u{1b}[1ma      \u{1b}[0m  c"));
    let without = compared.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<String>>();
    assert_eq!(lines(&without), lines(&plain));
    let check = place.succeed(&["check", "--device", "cpu", "--color", "always"]).stdout;
    let passed = check.matches("\u{1b}[32mpass\u{1b}[0m\n").count();
    assert!(
        passed > 5 && check.contains(&format!("\u{1b}[32m{passed} of {passed} checks passed")),
        "{check}"
    );
}
