//! Full or read-only disks, folders that vanish, closed outputs, missing home folders: files are complete or
//! do not exist, and the error is one line.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use crate::program::Workplace;

const TRAIN: [&str; 13] = [
    "train", "--data", "t.csv", "--target", "c", "--preset", "plain", "--hidden", "40,40", "--epochs", "4",
    "--device", "cpu",
];
/// Files that a run may leave in its folder.
const FILES: [&str; 5] =
    ["checkpoint.safetensors", "config.toml", "history.csv", "log.txt", "model.safetensors"];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", "a,b,c\n1,2,x\n2,1,y\n3,4,x\n4,2,y\n5,1,x\n6,7,y\n");
    place
}

/// Runs a shell script, in which `$0` is the program and `$@` are these arguments.
fn shell(place: &Workplace, script: &str, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_tinytrain")]).args(arguments);
    shell.current_dir(place.path("")).stdin(Stdio::null()).env("TINYTRAIN_CACHE", "").output().unwrap()
}

/// Returns the single error line.
#[track_caller]
fn error(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(text.starts_with("error: ") && text.lines().count() == 1, "{text:?}");
    text
}

/// Returns whether the tests may mount, in a separate namespace.
fn may_mount() -> bool {
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--mount", "mount", "-t", "tmpfs", "none", "/tmp"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let may = unshare.status().is_ok_and(|status| status.success());
    if !may {
        eprintln!("nothing can be mounted here: no disk is full");
    }
    may
}

/// Checks the folder of a run ended by a full disk; returns whether the run can be resumed.
fn whole(place: &Workplace, folder: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(place.path(folder)) else { return false };
    let names: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| FILES.contains(&name.as_str())), "{names:?}");
    // A folder without a model would have been removed.
    place.succeed(&["inspect", "--model", folder]);
    let history = std::fs::read_to_string(place.path(&format!("{folder}/history.csv"))).unwrap();
    let cells: BTreeSet<usize> = history.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() == 1, "{history}");
    names.contains("checkpoint.safetensors")
}

#[test]
fn files_that_a_limit_ends_are_whole_or_not_there() {
    let place = place();
    let undisturbed = [&TRAIN[..], &["--out", "undisturbed"]].concat();
    place.succeed(&undisturbed);
    let mut ended = BTreeSet::new();
    // Blocks of 512 bytes; without the trap the signal would end the process.
    for blocks in [0, 1, 2, 8, 16, 18, 24, 32, 34, 36, 64] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let folder = format!("r{blocks}");
        let arguments = [&TRAIN[..], &["--checkpoint-every", "1epoch", "--out", &folder]].concat();
        let output = shell(&place, &script, &arguments);
        let goes_on = whole(&place, &folder);
        match output.status.code() {
            Some(0) => assert!(goes_on),
            code => {
                assert_eq!(code, Some(1), "{blocks} blocks");
                let line = error(&output);
                let wanted = format!("error: cannot write {folder}/");
                assert!(line.starts_with(&wanted) && line.contains("File too large"), "{line}");
            }
        }
        ended.insert((output.status.code(), goes_on));
        if goes_on {
            place.succeed(&["train", "--resume", &folder]);
            assert!(place.model(&folder).tensors == place.model("undisturbed").tensors, "{blocks} blocks");
        }
    }
    assert!(ended.contains(&(Some(0), true)) && ended.contains(&(Some(1), false)), "{ended:?}");
}

/// Disks of 16 to 128 kB, which fill up before, during or after a run; the run resumes when there is space.
#[test]
fn a_run_on_a_full_disk_ends_with_a_line_and_resumes_later() {
    if !may_mount() {
        return;
    }
    let place = place();
    place.succeed(&[&TRAIN[..], &["--out", "undisturbed"]].concat());
    let script = "mount -t tmpfs -o size=$1k none d && shift && \"$0\" \"$@\"; code=$?; ls d/r > left 2> ls; \
                  mount -o remount,size=1M d; cp -r d/r r 2> cp; \
                  if [ -e r/checkpoint.safetensors ]; then \"$0\" train --resume r > out 2> notices || exit 99; fi; exit $code";
    std::fs::create_dir(place.path("d")).unwrap();
    let mut ended = BTreeSet::new();
    for size in [16, 24, 28, 32, 36, 40, 44, 48, 56, 64, 128] {
        let size_text = size.to_string();
        let train = [&TRAIN[..], &["--checkpoint-every", "1epoch", "--out", "d/r"]].concat();
        let mut unshare = Command::new("unshare");
        unshare
            .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_tinytrain"), &size_text])
            .args(train);
        let output = unshare.current_dir(place.path("")).stdin(Stdio::null()).output().unwrap();
        let left = std::fs::read_to_string(place.path("left")).unwrap();
        assert!(left.lines().all(|name| FILES.contains(&name)), "{left}");
        let goes_on = whole(&place, "r");
        match output.status.code() {
            Some(0) => assert!(goes_on),
            code => {
                assert_eq!(code, Some(1), "{size} kB: {}", String::from_utf8_lossy(&output.stderr));
                assert!(error(&output).contains("No space left on device"));
            }
        }
        if goes_on {
            assert!(place.model("r").tensors == place.model("undisturbed").tensors, "{size} kB");
        }
        ended.insert((output.status.code(), goes_on));
        let _ = std::fs::remove_dir_all(place.path("r"));
    }
    // Full after a checkpoint, before one, and not at all.
    assert!(ended.contains(&(Some(0), true)) && ended.contains(&(Some(1), false)), "{ended:?}");
}

#[test]
fn a_read_only_folder_is_refused_before_training() {
    let place = place();
    std::fs::create_dir(place.path("d")).unwrap();
    for out in ["d/r", "d/m.safetensors"] {
        let train = [&TRAIN[..], &["--out", out]].concat();
        // User 0 may write anywhere except to a read-only file system.
        let output = if may_mount() {
            let script = "mount -t tmpfs -o ro none d && exec \"$0\" \"$@\"";
            let mut unshare = Command::new("unshare");
            unshare.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_tinytrain")]).args(train);
            unshare.current_dir(place.path("")).stdin(Stdio::null()).output().unwrap()
        } else {
            let script = "chmod 555 d; touch d/probe 2> /dev/null && code=77 || { \"$0\" \"$@\"; code=$?; }; chmod 755 d; exit $code";
            shell(&place, script, &train)
        };
        if output.status.code() == Some(77) {
            eprintln!("nothing keeps this user from writing: no folder is read-only");
            return;
        }
        assert_eq!(output.status.code(), Some(2));
        assert!(error(&output).starts_with("error: cannot write d/"), "{}", error(&output));
        assert_eq!(output.stdout, b"");
    }
}

/// The folder is renamed while the run trains: the run ends, creates no second folder, and resumes under the
/// new name.
#[test]
fn a_folder_that_vanishes_ends_the_run() {
    let place = place();
    let endless = [
        &TRAIN[..11],
        &["--device", "cpu", "--checkpoint-every", "50steps", "--format", "json", "--out", "r"],
    ]
    .concat();
    let endless: Vec<&str> =
        endless.iter().map(|word| if *word == "4" { "100000000" } else { word }).collect();
    let mut run = place.command(&endless);
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The checkpoint exists by then.
    assert!(lines.by_ref().take(200).all(|line| line.unwrap().contains("\"event\"")));
    std::fs::rename(place.path("r"), place.path("moved")).unwrap();
    assert!(lines.count() < 100_000);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = error(&output);
    let expected =
        "error: r: the folder was moved, removed or replaced meanwhile; nothing more is written there";
    assert!(line.starts_with(expected), "{line}");
    assert!(!line.contains("is kept at"), "{line}");
    assert!(!place.path("r").exists());
    let history = || std::fs::read_to_string(place.path("moved/history.csv")).unwrap().lines().count();
    let more = (history() + 4).to_string();
    place.succeed(&["train", "--resume", "moved", "--epochs", &more, "--quiet"]);
    assert_eq!(history(), more.parse::<usize>().unwrap() + 1);
}

#[test]
fn closed_outputs_change_nothing_of_a_run() {
    let place = place();
    place.succeed(&[&TRAIN[..], &["--out", "undisturbed"]].concat());
    for (number, closed) in [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"].into_iter().enumerate() {
        let folder = format!("r{number}");
        let arguments = [&TRAIN[..], &["--out", &folder]].concat();
        let output = shell(&place, &format!("exec \"$0\" \"$@\" {closed}"), &arguments);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{closed}");
        assert!(place.model(&folder).bytes() == place.model("undisturbed").bytes(), "{closed}");
    }
    // An output that accepts no data is an error, reported if possible.
    let arguments = [&TRAIN[..], &["--out", "full"]].concat();
    let output = shell(&place, "exec \"$0\" \"$@\" > /dev/full", &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).contains("cannot write to standard output: No space left"), "{}", error(&output));
    let output = shell(&place, "exec \"$0\" \"$@\" > /dev/full 2> /dev/full", &arguments);
    assert_eq!(output.status.code(), Some(1));
}

/// Commands that only print treat standard output alike: a closed one is no fault, a full one is.
#[test]
fn printing_commands_treat_closed_and_full_outputs_alike() {
    let place = place();
    place.succeed(&[&TRAIN[..], &["--out", "m.safetensors"]].concat());
    for arguments in [
        &["predict", "--model", "m.safetensors", "t.csv"][..],
        &["eval", "--model", "m.safetensors", "--data", "t.csv"],
        &["inspect", "t.csv"],
        &["inspect", "--model", "m.safetensors"],
        &["export", "--format", "c", "--model", "m.safetensors", "--out", "-"],
        &["importance", "--model", "m.safetensors", "--data", "t.csv"],
    ] {
        for (script, code) in [
            ("{ \"$0\" \"$@\"; echo $? > code; } | head -c 0; exit $(cat code)", 0),
            ("\"$0\" \"$@\" >&-", 0),
            ("\"$0\" \"$@\" > /dev/full", 1),
        ] {
            let found = shell(&place, script, arguments).status.code();
            assert_eq!(found, Some(code), "{arguments:?} {script}");
        }
    }
}

#[test]
fn homes_and_caches_may_be_missing() {
    let place = place();
    let gpu = place.adapters("vulkan").first().map(|adapter| adapter["index"].to_string());
    let mut number = 0;
    for device in ["cpu".to_owned()].into_iter().chain(gpu) {
        let homes =
            [None, Some(""), Some("/dev/null/home"), Some("/dev/null"), Some("/proc"), Some("relative")];
        for home in homes {
            for of_cache in [false, true] {
                number += 1;
                let folder = format!("r{number}");
                let mut command =
                    place.command(&[&TRAIN[..11], &["--device", &device, "--out", &folder]].concat());
                command.env_remove("XDG_CACHE_HOME").env_remove("TINYTRAIN_CACHE").env_remove("HOME");
                // Drivers may complain about their caches: this folder always exists, so that kernels are
                // compiled once.
                command.env("MESA_SHADER_CACHE_DIR", place.path("driver"));
                if let Some(home) = home {
                    command.env(if of_cache { "TINYTRAIN_CACHE" } else { "HOME" }, home);
                }
                let output = command.output().unwrap();
                let text = String::from_utf8(output.stderr).unwrap();
                assert!(output.status.success(), "{device}, {home:?}: {text}");
                assert!(!text.contains("tinytrain"), "{device}, {home:?}: {text}");
            }
        }
    }
}

#[test]
fn unsupported_pipes_devices_and_non_utf8_names_are_refused() {
    let place = place();
    assert!(Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    for out in ["fifo", "/dev/null", "/dev/full"] {
        let outcome = place.run(&[&TRAIN[..], &["--out", out]].concat());
        let wanted = format!("error: cannot write {out}: it is not a regular file\n");
        assert_eq!((outcome.code, outcome.stderr), (2, wanted));
    }
    // File names with arbitrary bytes are read and written, but settings of a run are UTF-8.
    let table = shell(&place, "cp t.csv \"$(printf '\\377.csv')\"", &[]);
    assert!(table.status.success());
    let call = |out: &str| {
        let script = format!("exec \"$0\" \"$@\" --data \"$(printf '\\377.csv')\" --out {out}");
        shell(&place, &script, &[&TRAIN[..1], &TRAIN[3..]].concat())
    };
    assert_eq!(call("\"$(printf '\\376.safetensors')\"").status.code(), Some(0));
    let output = call("r");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        error(&output),
        "error: --data: expected UTF-8, as settings are saved as text, found $'\\xff.csv'; use --out FILE.safetensors to save the model alone\n"
    );
    assert!(!place.path("r").exists());
    let sweep = "exec \"$0\" sweep --data \"$(printf '\\377.csv')\" --trials 1 --out r";
    let output = shell(&place, sweep, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error(&output).ends_with("found $'\\xff.csv'; rename it, or use a link to it\n"),
        "{}",
        error(&output)
    );
    assert!(!place.path("r").exists());
}
