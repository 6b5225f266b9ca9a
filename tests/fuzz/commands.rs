//! Files that only the program reads: settings and histories of runs, the folder of a sweep. A case is a
//! process, so the number of cases is small.

use crate::mutate::{Chance, mutated, repair_header};
use crate::program::Workplace;

const CONFIG: &str = "# A run.\ndata = \"t.csv\"\nepochs = 3\nlr = 0.01\nhidden = [9, 4]\npreset = \"plain\"\nseed = 1\ndropout = 0\n";

const HISTORY: &str = "epoch,train_loss,train_accuracy,validation_loss,validation_accuracy,rows,seconds\n\
                       1,0.9,0.5,0.8,0.6,400,0.012345\n2,0.5,0.7,,,400,0.01\n3,inf,0.7,NaN,0.1,400,0.01\n";

/// Checks that a command succeeds or fails with one line of error, without panic.
fn check(place: &Workplace, arguments: &[&str], bytes: &[u8]) -> Result<bool, String> {
    let outcome = place.run(arguments);
    let lines = outcome.stderr.lines().count();
    let is_sound = match outcome.code {
        0 => true,
        // Outputs of a modified model may be infinite, which is not a fault of its format.
        2 | 3 => lines == 1 && outcome.stderr.starts_with("error: ") && outcome.stderr.chars().count() < 2000,
        _ => false,
    };
    let shown =
        || format!("exit code {}, {}, of {:?}", outcome.code, outcome.stderr, String::from_utf8_lossy(bytes));
    if is_sound { Ok(outcome.code == 0) } else { Err(shown()) }
}

/// Runs a number of cases of one file of a workplace; `files` are restored before each.
fn fuzz(place: &Workplace, files: &[(&str, Vec<u8>)], changed: &str, cases: u64, arguments: &[&str]) {
    let restore = || files.iter().for_each(|(name, contents)| place.write(name, contents));
    let seeds: Vec<Vec<u8>> =
        files.iter().filter(|(name, _)| *name == changed).map(|(_, contents)| contents.clone()).collect();
    let (mut failures, mut accepted) = (Vec::new(), 0);
    for case in 0..cases {
        restore();
        let mut bytes = mutated(&seeds, &mut Chance::new(case));
        if changed.ends_with(".safetensors") {
            repair_header(&mut bytes);
        }
        place.write(changed, &bytes);
        match check(place, arguments, &bytes) {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(fault) => failures.push(format!("case {case}: {fault}")),
        }
    }
    assert!(failures.is_empty(), "{changed}:\n{}", failures.join("\n"));
    println!("{changed}: {cases} cases, {accepted} of them accepted");
}

fn cases() -> u64 {
    // A process takes as long as a hundred cases of a function.
    crate::setting("TINYTRAIN_FUZZ_CASES").map_or(60, |cases| cases / 100)
}

#[test]
fn settings_and_histories_of_runs() {
    let _one = crate::watch::alone();
    let place = Workplace::new();
    let files = ["a/config.toml", "b/config.toml", "a/history.csv", "b/history.csv"];
    let contents = [CONFIG, CONFIG, HISTORY, HISTORY];
    let files: Vec<(&str, Vec<u8>)> =
        files.into_iter().zip(contents.map(|text| text.as_bytes().to_vec())).collect();
    fuzz(&place, &files, "a/config.toml", cases(), &["compare", "a", "b"]);
    fuzz(&place, &files, "a/history.csv", cases(), &["runs", "."]);
    // The data do not exist: nothing is trained.
    fuzz(
        &place,
        &files,
        "b/config.toml",
        cases(),
        &["train", "--config", "b/config.toml", "--data", "nothing.csv"],
    );
}

#[test]
fn folders_of_sweeps() {
    let _one = crate::watch::alone();
    let place = Workplace::new();
    place.write("t.csv", "a,b,kind\n".to_owned() + &"1,5,no\n2,6,yes\n3,1,no\n4,9,yes\n".repeat(5));
    let options = ["--preset", "plain", "--hidden", "3", "--epochs", "1", "--device", "cpu", "--trials", "2"];
    place.succeed(&[&["sweep", "--data", "t.csv", "--out", "s", "--quiet"], &options[..]].concat());
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    let files = ["s/sweep.json", "s/history.csv", "s/results.jsonl"].map(|name| (name, read(name)));
    fuzz(&place, &files, "s/results.jsonl", cases(), &["sweep", "--resume", "s", "--quiet"]);
    fuzz(&place, &files, "s/results.jsonl", cases(), &["report", "s", "--out", "page.html"]);
    fuzz(&place, &files, "s/sweep.json", cases(), &["sweep", "--resume", "s", "--data", "nothing.csv"]);
}

#[test]
fn models_that_are_looked_at_and_used() {
    let _one = crate::watch::alone();
    let place = Workplace::new();
    for (number, model) in crate::seeds::of("model").into_iter().enumerate() {
        place.write("t.csv", "a,b,kind\n1,x,no\n2,y,yes\n");
        let files = [("m.safetensors", model)];
        let cases = cases() / 2;
        fuzz(&place, &files, "m.safetensors", cases, &["inspect", "--model", "m.safetensors"]);
        fuzz(
            &place,
            &files,
            "m.safetensors",
            cases,
            &["inspect", "--model", "m.safetensors", "--format", "json"],
        );
        if number == 2 {
            let predict = ["predict", "--device", "cpu", "--model", "m.safetensors", "t.csv"];
            fuzz(&place, &files, "m.safetensors", cases, &predict);
        }
    }
}
