//! Files left by incomplete saving.

use std::path::PathBuf;
use std::process::Stdio;

use crate::program::Workplace;

/// A network whose file takes some milliseconds to write.
const TRAIN: [&str; 11] = [
    "train",
    "--data",
    "data",
    "--device",
    "cpu",
    "--hidden",
    "4000,500",
    "--out",
    "out/m.safetensors",
    "--quiet",
    "--epochs",
];

/// Returns the temporary files in the folder of the model.
fn temporary(place: &Workplace) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path("out")).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".tinytrain-")).collect()
}

#[test]
fn the_next_run_removes_leftovers_of_killed_runs() {
    let place = Workplace::with_data();
    // A file may be renamed between the check and the kill.
    for _ in 0..20 {
        let mut child =
            place.command(&[&TRAIN[..], &["100"]].concat()).stdout(Stdio::null()).spawn().unwrap();
        while temporary(&place).is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it ended without a temporary file");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if !temporary(&place).is_empty() {
            break;
        }
    }
    assert!(!temporary(&place).is_empty(), "no kill has left a file");
    place.succeed(&[
        "train",
        "--data",
        "data",
        "--device",
        "cpu",
        "--out",
        "out/m.safetensors",
        "--quiet",
        "--epochs",
        "1",
    ]);
    assert_eq!(std::fs::read_dir(place.path("out")).unwrap().count(), 1);
}

#[test]
fn two_runs_that_save_into_one_folder_at_once_both_end_well() {
    let place = Workplace::with_data();
    let run = |out: &str| {
        let arguments =
            ["train", "--data", "data", "--device", "cpu", "--quiet", "--epochs", "30", "--out", out];
        place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for _ in 0..3 {
        for child in [run("out/a.safetensors"), run("out/b.safetensors"), run("out/a.safetensors")] {
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
            assert!(output.status.success());
        }
        assert_eq!(std::fs::read_dir(place.path("out")).unwrap().count(), 2);
    }
}

/// Needs user 0: a file of another user in a folder where no one else may replace it.
#[cfg(unix)]
#[test]
fn a_file_that_a_sticky_folder_keeps_is_refused_before_training() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    let place = Workplace::with_data();
    let folder = place.path("out");
    std::fs::create_dir(&folder).unwrap();
    if std::fs::metadata(&folder).unwrap().uid() != 0 {
        return;
    }
    let open =
        |path: PathBuf, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    open(place.path("."), 0o755);
    open(folder, 0o1777);
    place.write("out/m.safetensors", "somebody else's");
    open(place.path("out/m.safetensors"), 0o666);
    let arguments =
        ["train", "--data", "data", "--device", "cpu", "--epochs", "1", "--out", "out/m.safetensors"];
    let output = place.command(&arguments).uid(12345).gid(12345).output();
    // The program may be in a place that this user cannot access.
    let Ok(output) = output else { return };
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("cannot write out/m.safetensors") && error.contains("sticky"), "{error}");
    assert_eq!(output.stdout, b"", "it is refused before training");
    chown(place.path("out/m.safetensors"), Some(12345), None).unwrap();
    assert!(place.command(&arguments).uid(12345).gid(12345).output().unwrap().status.success());
}

#[cfg(unix)]
#[test]
fn only_an_existing_model_is_reported_as_kept() {
    use std::io::{BufRead, BufReader};
    let place = Workplace::with_data();
    let arguments =
        ["train", "--data", "data", "--device", "cpu", "--epochs", "100000", "--out", "out/m.safetensors"];
    let mut child = place.command(&[&arguments[..], &["--format", "json"]].concat());
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    events.by_ref().find(|line| line.as_ref().unwrap().contains("\"epoch\"")).unwrap().unwrap();
    // The folder's replacement has no model.
    let mut moved = 0;
    while std::fs::rename(place.path("out"), place.path(&format!("gone{moved}"))).is_ok() {
        if std::fs::write(place.path("out"), "a file").is_ok() {
            break;
        }
        moved += 1;
    }
    events.for_each(drop);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let last = error.lines().last().unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        last.starts_with("error: cannot write out/m.safetensors: ") && !last.contains("is kept at"),
        "{error}"
    );
}
