//! Options that were renamed: command lines, files of settings, runs and sweeps that have the old names still work.

use std::fs;

use crate::program::{Points, Workplace};

/// Old name, new name, and the value that the test gives.
const RENAMED: [(&str, &str, &str); 4] = [
    ("checked", "bounds-checks", ""),
    ("learn-scale", "input-scaling", "yes"),
    ("only", "include", "0"),
    ("row-limit", "max-row-bytes", "4096"),
];

const TRAIN: [&str; 12] = [
    "train", "--data", "t.csv", "--target", "-1", "--device", "cpu", "--preset", "plain", "--hidden", "5",
    "--quiet",
];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", Points::new(200, 4).csv(["low", "mid", "high"]));
    place
}

/// Options with their values, by one of their names.
fn options(name: impl Fn(&(&'static str, &'static str, &'static str)) -> &'static str) -> Vec<String> {
    let of = |it| match (name(it), it.2) {
        (name, "") => format!("--{name}"),
        (name, value) => format!("--{name}={value}"),
    };
    RENAMED.iter().map(of).collect()
}

#[test]
fn an_old_name_is_the_new_option_on_the_command_line_and_is_not_shown() {
    let place = place();
    for (names, out) in [(options(|it| it.0), "old"), (options(|it| it.1), "new")] {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        place.succeed(&[&TRAIN[..], &["--epochs", "2", "--out", out], &names].concat());
    }
    let [old, new] =
        ["old", "new"].map(|run| fs::read_to_string(place.path(run).join("config.toml")).unwrap());
    assert_eq!(old, new);
    let models = ["old", "new"].map(|run| fs::read(place.path(run).join("model.safetensors")).unwrap());
    assert!(models[0] == models[1]);
    let help = place.succeed(&["train", "--help"]).stdout;
    let script = place.succeed(&["completions", "fish"]).stdout;
    let helps = |name: &str| help.split_whitespace().any(|word| word == format!("--{name}"));
    let completes = |name: &str| script.contains(&format!("-l {name} "));
    for (name, current, _) in RENAMED {
        assert!(new.contains(&format!("\n{current} = ")), "{new}");
        assert!(helps(current) && completes(current), "{current}");
        assert!(!helps(name) && !completes(name), "{name}");
    }
    let model = ["--model", "new", "--device", "cpu", "--checked"];
    place.succeed(&[&["eval", "--data", "t.csv"], &model[..]].concat());
    place.succeed(&[&["predict", "t.csv"], &model[..]].concat());
    place.succeed(&[&["importance", "--data", "t.csv"], &model[..]].concat());
    place.succeed(&["report", "new", "--out", "r.html", "--data", "t.csv", "--device", "cpu", "--checked"]);
    place.succeed(&["check", "--device", "cpu", "--checked", "--steps", "1", "--only-save", "--save", "s"]);
}

#[test]
fn files_and_runs_with_old_names_repeat_and_continue() {
    let place = place();
    let names = options(|it| it.1);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let train = |epochs, out| {
        place.succeed(&[&TRAIN[..], &["--epochs", epochs, "--out", out], &names].concat());
        fs::read(place.path(out).join("model.safetensors")).unwrap()
    };
    let (one, two) = (train("1", "one"), train("2", "two"));
    // As a run of an old version wrote it.
    let config = place.path("one/config.toml");
    let old = RENAMED.iter().fold(fs::read_to_string(&config).unwrap(), |text, (name, current, _)| {
        text.replace(&format!("\n{current} = "), &format!("\n{name} = "))
    });
    fs::write(&config, &old).unwrap();
    place.succeed(&["train", "--config", "one/config.toml", "--out", "again", "--quiet"]);
    assert!(fs::read(place.path("again/model.safetensors")).unwrap() == one);
    // The command line wins, by whichever name.
    let other = ["--input-scaling", "no", "--out", "other", "--quiet"];
    place.succeed(&[&["train", "--config", "one/config.toml"], &other[..]].concat());
    let other = fs::read_to_string(place.path("other/config.toml")).unwrap();
    assert!(other.contains("input-scaling = \"no\"") && !other.contains("learn-scale"), "{other}");
    place.succeed(&["train", "--resume", "one", "--epochs", "2", "--quiet"]);
    assert!(fs::read(place.path("one/model.safetensors")).unwrap() == two);
    place.write("both.toml", format!("{old}input-scaling = \"yes\"\n"));
    let outcome = place.run(&["train", "--config", "both.toml"]);
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
    let both = "both.toml: --input-scaling is set twice, once by its old name";
    assert!(outcome.error().contains(both), "{}", outcome.error());
}

#[test]
fn a_sweep_over_an_old_name_draws_what_it_drew() {
    let place = place();
    place.write("space.toml", "learn-scale = [\"yes\", \"no\"]\n");
    let sweep = ["sweep", "--space", "space.toml", "--grid", "--out", "s"];
    place.succeed(&[&sweep[..], &TRAIN[1..], &["--epochs", "1"]].concat());
    let board = fs::read_to_string(place.path("s/leaderboard.csv")).unwrap();
    assert!(board.contains("learn-scale") && board.contains("yes") && board.contains("no"), "{board}");
}
