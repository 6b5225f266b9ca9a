//! `tinytrain sweep --from`: trials of other sweeps.

use crate::program::{Points, Workplace};
use crate::sweep::{bytes, sweep, swept, table};

const TRIALS: [&str; 4] = [
    r#"{"hidden":[4],"lr":0.05,"init-seed":11}"#,
    r#"{"hidden":[],"lr":0.1,"init-seed":12}"#,
    r#"{"hidden":[8,3],"lr":0.02,"init-seed":13}"#,
    r#"{"hidden":[5],"lr":0.2,"init-seed":14}"#,
];
const NETWORK: [&str; 4] = ["--preset", "plain", "--epochs", "4"];

/// Trains these trials in a folder of this name.
fn trained(place: &Workplace, name: &str, trials: &[&str], options: &[&str]) {
    place.write(&format!("{name}.jsonl"), trials.join("\n") + "\n");
    let settings = format!("{name}.jsonl");
    swept(place, &[&NETWORK[..], &["--settings", &settings, "--out", name], options].concat());
}

/// Returns the command lines of the trials by rank, and the number of curves' points.
fn board(place: &Workplace, name: &str) -> (Vec<String>, usize) {
    let text = String::from_utf8(bytes(place, &format!("{name}/leaderboard.csv"))).unwrap();
    let lines = text.lines().skip(1).map(|line| line[line.find("--").unwrap()..].to_owned());
    let history = String::from_utf8(bytes(place, &format!("{name}/history.csv"))).unwrap();
    (lines.collect(), history.lines().filter(|line| line.starts_with("2,")).count())
}

/// The parts of a search have the same result as one sweep of all trials, bit for bit.
#[test]
fn parts_equal_one_sweep() {
    for held_out in [&["--validation-fraction", "0.3"][..], &["--folds", "2"]] {
        let options = [held_out, &["--seed", "3", "--ensemble", "4"]].concat();
        let place = table();
        trained(&place, "all", &TRIALS, &options);
        trained(&place, "a", &TRIALS[..2], &options);
        trained(&place, "b", &TRIALS[2..], &options);
        let join = [&NETWORK[..], &options, &["--from", "a", "b", "a", "--out", "both"]].concat();
        let objects = swept(&place, &join);
        assert!(objects.iter().all(|object| object["event"] != "member"), "{objects:?}");
        for name in ["best.safetensors", "ensemble.safetensors"] {
            assert!(
                bytes(&place, &format!("all/{name}")) == bytes(&place, &format!("both/{name}")),
                "{name}"
            );
        }
        assert_eq!(board(&place, "both"), board(&place, "all"));
        // The new sweep has copied the trials, so the others may change or go.
        std::fs::remove_dir_all(place.path("a")).unwrap();
        let members = |folder: &str| place.entries().iter().filter(|it| it.starts_with(folder)).count();
        assert_eq!(members("both/members"), members("all/members"));
        let again = place.succeed(&["sweep", "--resume", "both", "--ensemble", "2", "--format", "json"]);
        assert_eq!(again.objects().last().unwrap()["members"], 4);
    }
}

#[test]
fn trials_of_others_are_compared_with_own_ones() {
    let place = table();
    place.write("v.csv", Points::new(100, 9).csv(["low", "mid", "high"]));
    let validation = ["--validation", "v.csv"];
    trained(&place, "a", &TRIALS[..2], &[&validation[..], &["--seed", "1"]].concat());
    trained(&place, "b", &TRIALS[2..], &[&validation[..], &["--seed", "2"]].concat());
    let own = ["--from", "a", "b", "--trials", "1", "--seed", "7", "--ensemble", "4", "--out", "all"];
    let objects = swept(&place, &[&NETWORK[..], &validation, &own].concat());
    assert_eq!(objects.iter().filter(|object| object["event"] == "member").count(), 1);
    assert_eq!(board(&place, "all").0.len(), 5);
    // With a space, trials are drawn.
    place.write("space.toml", "lr = [0.1, 0.2]\n");
    let drawn = ["--from", "a", "--space", "space.toml", "--seed", "7", "--out", "drawn"];
    swept(&place, &[&NETWORK[..], &validation, &drawn].concat());
    assert_eq!(board(&place, "drawn").0.len(), 66);
    // An ensemble is at least as good as the best network.
    let last = objects.last().unwrap();
    let loss = last["ensemble"]["loss"].as_f64().unwrap();
    assert!(loss <= last["loss"].as_f64().unwrap() + 1e-6, "{last}");
}

#[test]
fn trials_on_other_rows_are_refused() {
    let place = table();
    trained(&place, "a", &TRIALS[..1], &[]);
    let refused = |options: &[&str], expected: &str| {
        let outcome = sweep(&place, &[&NETWORK[..], &["--from", "a", "--out", "new"], options].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with(&format!("error: {expected}")), "{}", outcome.stderr);
        assert!(!place.path("new").exists());
    };
    let seed = "--from a: expected a sweep with the same --seed, which decides the held-out rows";
    refused(&["--seed", "2"], seed);
    refused(
        &["--validation-fraction", "0.4"],
        "--from a: expected a sweep with the same --validation-fraction",
    );
    refused(&["--folds", "3"], "--from a: expected a sweep with the same --folds");
    refused(&["--from", "none"], "cannot read none");
    // Presets have other metrics.
    let outcome = sweep(&place, &["--epochs", "4", "--from", "a", "--out", "new"]);
    assert_eq!(
        (outcome.code, outcome.error()),
        (2, "error: --from a: expected a sweep with the same --preset")
    );
    place.write("t.csv", Points::new(257, 5).csv(["low", "mid", "high"]));
    refused(&[], "--from a: expected a sweep on the same rows (--data)");
}

/// A model that is not whole ends the sweep before it writes; a resumed sweep does not copy it, either.
#[test]
fn damaged_models_are_refused() {
    let place = table();
    trained(&place, "a", &TRIALS[..2], &[]);
    let best = bytes(&place, "a/best.safetensors");
    let names = ["a/members/00000.safetensors", "a/members/00001.safetensors"];
    let damaged = names.into_iter().find(|name| bytes(&place, name) == best).unwrap();
    place.write(damaged, &best[..best.len() / 2]);
    let from = sweep(&place, &[&NETWORK[..], &["--from", "a", "--out", "new"]].concat());
    let resumed = place.run(&["sweep", "--resume", "a"]);
    for outcome in [from, resumed] {
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        let error = outcome.stderr.lines().last().unwrap();
        assert!(error.starts_with(&format!("error: {damaged}: expected a whole model")), "{error}");
    }
    assert!(!place.path("new").exists());
    assert!(bytes(&place, "a/best.safetensors") == best);
}
