//! Properties that all failures share.

use crate::program::{Outcome, Workplace};

/// Runs a command that must fail with this code, with one error line containing these parts, no result on
/// standard output, and no new file.
#[track_caller]
fn fails(place: &Workplace, arguments: &[&str], code: i32, parts: &[&str]) -> Outcome {
    let before = place.entries();
    let outcome = place.run(arguments);
    let error = &outcome.stderr;
    assert_eq!(outcome.code, code, "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    assert!(error.starts_with("error: ") && error.ends_with('\n'), "{error}");
    for part in parts {
        assert!(error.contains(part), "no {part:?} in {error}");
    }
    assert_eq!(place.entries(), before, "{arguments:?}");
    outcome
}

/// Checks bad input that is detected before training: standard output is empty.
#[track_caller]
pub fn refused(place: &Workplace, arguments: &[&str], parts: &[&str]) {
    let outcome = fails(place, arguments, 2, parts);
    assert_eq!(outcome.stdout, "", "{arguments:?}");
}

/// Checks bad input or a numerical fault in the first epoch: standard output has only the description of the
/// training.
#[track_caller]
pub fn stopped(place: &Workplace, arguments: &[&str], code: i32, parts: &[&str]) {
    let json = fails(place, &[arguments, &["--format", "json"]].concat(), code, parts);
    let events: Vec<_> = json.objects().into_iter().map(|object| object["event"].clone()).collect();
    assert!(events.iter().all(|event| event == "start"), "{}", json.stdout);
    let quiet = fails(place, &[arguments, &["--quiet"]].concat(), code, parts);
    assert_eq!(quiet.stdout, "");
    let text = fails(place, arguments, code, parts);
    assert!(text.stdout.lines().count() <= 4, "{}", text.stdout);
}

/// Returns the arguments of `train` on this file, on the CPU engine.
pub fn train(file: &str) -> [&str; 5] {
    ["train", "--device", "cpu", "--data", file]
}
