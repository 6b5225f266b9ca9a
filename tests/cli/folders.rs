//! Folders of runs and sweeps that other programs, links and special files interfere with.

use std::os::unix::fs::symlink;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::program::{Points, Workplace};

const NAMES: [&str; 3] = ["low", "mid", "high"];
const QUICK: [&str; 9] =
    ["--data", "t.csv", "--preset", "plain", "--hidden", "8", "--device", "cpu", "--quiet"];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(60, 4).csv(NAMES));
    place
}

fn train(place: &Workplace, more: &[&str]) {
    place.succeed(&[&["train"], &QUICK[..], more].concat());
}

fn start(place: &Workplace, arguments: &[&str]) -> Child {
    place.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn text(place: &Workplace, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

/// Programs started together with the same `--out`: one of them gets the folder, with all of its files, and
/// the others leave it unchanged.
#[test]
fn of_programs_that_start_with_one_folder_at_once_one_has_it() {
    let place = place();
    let run = [&["train"], &QUICK[..], &["--epochs", "2", "--out"]].concat();
    let sweep = [&["sweep"], &QUICK[..], &["--epochs", "1", "--trials", "2", "--out"]].concat();
    let files = ["config.toml", "history.csv", "log.txt", "checkpoint.safetensors", "model.safetensors"];
    for (number, programs) in
        [[&run, &run, &run], [&run, &sweep, &run], [&sweep, &sweep, &run]].iter().cycle().take(15).enumerate()
    {
        let out = format!("r{number}");
        let children: Vec<Child> =
            programs.iter().map(|program| start(&place, &[&program[..], &[&out]].concat())).collect();
        let codes: Vec<Option<i32>> =
            children.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
        assert!(codes.iter().all(|code| [Some(0), Some(2)].contains(code)), "{codes:?}");
        let done = codes.iter().filter(|code| **code == Some(0)).count();
        assert_eq!(done, 1, "{out}: {codes:?}");
        let winner = codes.iter().position(|code| *code == Some(0)).unwrap();
        let names: &[&str] = match programs[winner][0] {
            "train" => &files,
            _ => &["sweep.json", "results.jsonl", "history.csv", "leaderboard.csv", "best.safetensors"],
        };
        for name in names {
            assert!(
                place.path(&format!("{out}/{name}")).is_file(),
                "{out}: {name} of {}",
                programs[winner][0]
            );
        }
        assert_eq!(place.path(&format!("{out}/config.toml")).exists(), programs[winner][0] == "train");
    }
}

#[test]
fn targets_of_links_are_unchanged() {
    let place = place();
    place.write("precious.txt", "precious text");
    let refused = |arguments: &[&str], name: &str, reason: &str| {
        let outcome = place.run(arguments);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&format!("cannot write {name}: {reason}")), "{}", outcome.stderr);
        assert_eq!(text(&place, "precious.txt"), "precious text");
    };
    let fresh = [&["train"], &QUICK[..], &["--epochs", "1", "--out", "new"]].concat();
    std::fs::create_dir(place.path("new")).unwrap();
    symlink("../precious.txt", place.path("new/run.lock")).unwrap();
    refused(&fresh, "new/run.lock", "it is a link");
    std::fs::remove_file(place.path("new/run.lock")).unwrap();
    std::fs::hard_link(place.path("precious.txt"), place.path("new/run.lock")).unwrap();
    refused(&fresh, "new/run.lock", "it has another name, too (a hard link)");

    train(&place, &["--epochs", "1", "--out", "run"]);
    let resume = ["train", "--resume", "run", "--epochs", "2", "--quiet"];
    for name in ["run.lock", "history.csv", "log.txt", "model.safetensors", "checkpoint.safetensors"] {
        let place_of = format!("run/{name}");
        let kept = place.path("kept");
        let is_there = std::fs::rename(place.path(&place_of), &kept).is_ok();
        symlink("../precious.txt", place.path(&place_of)).unwrap();
        // An invalid checkpoint is not even read.
        if name == "checkpoint.safetensors" {
            assert_eq!(place.run(&resume).code, 2);
            assert_eq!(text(&place, "precious.txt"), "precious text");
        } else {
            refused(&resume, &place_of, "it is a link");
        }
        std::fs::remove_file(place.path(&place_of)).unwrap();
        if is_there {
            std::fs::rename(&kept, place.path(&place_of)).unwrap();
        }
    }
    place.succeed(&resume);
}

#[test]
fn a_replaced_run_folder_is_unchanged() {
    let place = place();
    train(&place, &["--epochs", "3", "--out", "other"]);
    let files = ["config.toml", "history.csv", "log.txt", "model.safetensors", "checkpoint.safetensors"];
    let contents =
        |folder: &str| files.map(|name| std::fs::read(place.path(&format!("{folder}/{name}"))).unwrap());
    let before = contents("other");
    let endless = [&["train"], &QUICK[..], &["--epochs", "100000000", "--out", "run"]].concat();
    let child = place.command(&endless).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.path("run/model.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::rename(place.path("run"), place.path("moved")).unwrap();
    std::fs::rename(place.path("other"), place.path("run")).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let expected =
        "error: run: the folder was moved, removed or replaced meanwhile; nothing more is written there\n";
    // The folder does not exist between the two renames.
    assert!(error.ends_with(expected) || error.contains("No such file"), "{error}");
    assert_eq!(output.status.code(), Some(2));
    assert!(contents("run") == before);
    // The run continues in the moved folder.
    place.succeed(&["train", "--resume", "moved", "--max-time", "1s", "--quiet"]);
}

/// No second output overwrites a file of a run or a sweep.
#[test]
fn no_output_is_a_file_of_a_run_or_a_sweep() {
    let place = place();
    train(&place, &["--epochs", "1", "--out", "run"]);
    place.succeed(&[&["sweep"], &QUICK[..], &["--epochs", "1", "--trials", "2", "--out", "sweep"]].concat());
    let before = place.entries();
    let run_file = "which is a file of a run; choose another name";
    let other = [&["train"], &QUICK[..], &["--epochs", "1"]].concat();
    for (arguments, expected) in [
        (&[&other[..], &["--out", "new", "--profile", "run/config.toml"]].concat()[..], run_file),
        (&[&other[..], &["--out", "new", "--profile", "new/history.csv"]].concat(), "is a file of the run"),
        (&[&other[..], &["--out", "run/checkpoint.safetensors"]].concat(), run_file),
        (
            &[&other[..], &["--config", "run/config.toml", "--out", "new", "--profile", "t.csv"]].concat(),
            "t.csv",
        ),
        (&["predict", "--model", "run", "t.csv", "--out", "run/history.csv"], run_file),
        (&["export", "--format", "c", "--model", "run", "--out", "run/log.txt"], run_file),
        (&["importance", "--model", "run", "--svg", "sweep/results.jsonl"], "which is a file of a sweep"),
        (&["report", "run", "--out", "sweep/members/00000.safetensors"], "which is a file of a sweep"),
        (&["report", "run", "--out", "sweep/sweep.json"], "which is a file of a sweep"),
    ] {
        let outcome = place.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(place.entries(), before, "{arguments:?}");
    }
}

/// Settings and results must be regular files of a limited size: pipes would block, devices never end.
#[test]
fn special_and_huge_settings_files_are_refused() {
    let place = place();
    train(&place, &["--epochs", "1", "--out", "run"]);
    let fifo = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(fifo.success());
    std::fs::File::create(place.path("huge")).unwrap().set_len(20 << 30).unwrap();
    let sweep = ["sweep", "--data", "t.csv", "--device", "cpu"];
    for (file, reason) in [
        ("pipe", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        ("huge", "it has more than 16 MiB"),
    ] {
        for arguments in [
            vec!["train", "--config", file],
            [&sweep[..], &["--space", file]].concat(),
            [&sweep[..], &["--settings", file]].concat(),
        ] {
            let outcome = place.run(&arguments);
            let expected = format!("error: cannot read {file}: {reason}");
            assert_eq!((outcome.code, outcome.error()), (2, expected.as_str()), "{arguments:?}");
        }
    }
    for name in ["config.toml", "history.csv", "checkpoint.safetensors"] {
        for target in ["../pipe", "/dev/zero"] {
            let path = place.path(&format!("run/{name}"));
            let kept = place.path("kept");
            std::fs::rename(&path, &kept).unwrap();
            symlink(target, &path).unwrap();
            let outcome = place.run(&["train", "--resume", "run", "--epochs", "2", "--quiet"]);
            assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
            let outcome = place.run(&["runs", "."]);
            let is_read = name != "checkpoint.safetensors";
            let warned = format!("run/{name}: it is not a regular file");
            assert_eq!(outcome.stderr.contains(&warned), is_read, "{}", outcome.stderr);
            std::fs::remove_file(&path).unwrap();
            std::fs::rename(&kept, &path).unwrap();
        }
    }
}

#[test]
fn names_of_models_stay_inside_the_folder_of_a_sweep() {
    let place = place();
    place.write("secret.txt", "secret");
    place.succeed(&[&["sweep"], &QUICK[..], &["--epochs", "1", "--trials", "2", "--out", "s"]].concat());
    let results = text(&place, "s/results.jsonl");
    for name in ["../secret.txt", "/etc/passwd", "members/00001.safetensors", "members/../../secret.txt"] {
        place.write("s/results.jsonl", results.replace("members/00000.safetensors", name));
        let outcome = place.run(&["sweep", "--resume", "s", "--ensemble", "2"]);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("expected a model of trial 0, such as members/00000.safetensors, found")
        );
    }
    place.write("s/results.jsonl", &results);
    std::fs::remove_file(place.path("s/members/00000.safetensors")).unwrap();
    symlink("../../secret.txt", place.path("s/members/00000.safetensors")).unwrap();
    let outcome = place.run(&["sweep", "--resume", "s", "--ensemble", "2"]);
    assert!(outcome.code == 2 && outcome.stderr.contains("it is a link"), "{}", outcome.stderr);
    // A linked folder leads outside, too.
    std::fs::remove_dir_all(place.path("s/members")).unwrap();
    symlink("..", place.path("s/members")).unwrap();
    place.write("00000.safetensors", "precious");
    place.write("s/results.jsonl", "");
    let outcome = place.run(&["sweep", "--resume", "s", "--quiet"]);
    assert_eq!((outcome.code, outcome.error()), (2, "error: cannot write s/members: it is a link"));
    assert_eq!(text(&place, "00000.safetensors"), "precious");
}

#[test]
fn counts_that_no_machine_holds_are_refused_with_numbers() {
    let place = place();
    let before = place.entries();
    let sweep = ["sweep", "--data", "t.csv", "--device", "cpu", "--out", "s"];
    for (more, expected) in [
        (&["--trials", "1000000000"][..], "a sweep of 1000000000 trials needs 4.1 TB of memory, but only "),
        (&["--seeds", "1000000000000"], "a sweep of 1000000000000 trials needs 4.1 PB of memory, but only "),
        (
            &["--trials", "4", "--seeds", "18446744073709551615"],
            "a sweep of 73786976294838206460 trials needs ",
        ),
        (&["--ensemble", "1000000000"], "expected a whole number from 1 to 10000"),
        (&["--threads", "18446744073709551615"], "expected a whole number from 1 to 1024"),
    ] {
        let outcome = place.run(&[&sweep[..], more].concat());
        assert_eq!(outcome.code, 2, "{more:?}: {}", outcome.stderr);
        assert!(outcome.error().contains(expected), "{more:?}: {}", outcome.stderr);
    }
    assert_eq!(place.entries(), before);
    train(&place, &["--epochs", "1", "--out", "m.safetensors"]);
    let most = "18446744073709551615";
    for arguments in [
        ["predict", "--model", "m.safetensors", "t.csv", "--threads", most],
        ["importance", "--model", "m.safetensors", "--data=t.csv", "--repeats", most],
    ] {
        let outcome = place.run(&arguments);
        assert!(outcome.error().contains("expected a whole number from "), "{}", outcome.stderr);
        assert_eq!(outcome.code, 2);
    }
}

/// Without memory for its first step, a run leaves no folder.
#[cfg(target_os = "linux")]
#[test]
fn a_run_without_memory_leaves_nothing() {
    let place = place();
    let before = place.entries();
    let mut refused = 0;
    for kilobytes in (20_000..46_000).step_by(2_000) {
        let script = format!("ulimit -v {kilobytes}; exec \"$@\"");
        let arguments =
            ["train", "--data", "t.csv", "--preset", "plain", "--hidden", "600,600", "--device", "cpu"];
        let arguments = [&arguments[..], &["--epochs", "1", "--out", "r"]].concat();
        let program = place.command(&arguments);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, "sh"]).arg(program.get_program()).args(program.get_args());
        let output = shell.current_dir(place.path("")).env("TINYTRAIN_CACHE", "").output().unwrap();
        if place.path("r/model.safetensors").exists() {
            std::fs::remove_dir_all(place.path("r")).unwrap();
        } else if !output.status.success() {
            refused += 1;
            assert_eq!(place.entries(), before, "{kilobytes}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(refused > 0, "no limit was small enough");
}
