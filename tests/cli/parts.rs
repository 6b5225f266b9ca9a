//! Several files that are one table.

use serde_json::Value;

use crate::program::{Points, Workplace};

/// Returns a folder with `t.csv`, and its rows again in `a.csv` and `b.csv`.
fn with_parts() -> Workplace {
    let place = Workplace::new();
    let csv = Points::new(500, 4).csv(["low", "mid", "high"]);
    let (header, rows) = csv.split_once('\n').unwrap();
    let at = rows.match_indices('\n').nth(299).unwrap().0 + 1;
    place.write("a.csv", format!("{header}\n{}", &rows[..at]));
    place.write("b.csv", format!("{header}\n{}", &rows[at..]));
    place.write("t.csv", csv);
    place
}

#[test]
fn parts_train_and_are_found_again_as_their_whole() {
    let place = with_parts();
    let run = |data: &[&str], out: &str| -> Value {
        let common = [
            "train",
            "--device",
            "cpu",
            "--hidden",
            "8",
            "--epochs",
            "2",
            "--test-fraction",
            "0.2",
            "--quiet",
        ];
        place.succeed(&[&common[..], &["--out", out], data].concat());
        let evaluated = place.succeed(&["eval", "--model", out, "--device", "cpu", "--format", "json"]);
        evaluated.objects().remove(0)
    };
    let whole = run(&["--data", "t.csv"], "m1");
    for (data, out) in
        [(&["--data", "a.csv", "b.csv"][..], "m2"), (&["--data", "a.csv", "--data", "b.csv"], "m3")]
    {
        let parts = run(data, out);
        assert_eq!((&parts["samples"], &parts["accuracy"]), (&whole["samples"], &whole["accuracy"]));
        let data = parts["data"].as_str().unwrap();
        assert!(data.starts_with("a.csv and 1 more, the 20 % of the rows that were held out"), "{data}");
        assert!(parts["samples"].as_u64().is_some_and(|samples| samples > 90), "{parts}");
        assert_eq!(place.model(out).tensors, place.model("m1").tensors);
    }
    let inspected = place.succeed(&["inspect", "a.csv", "b.csv"]).stdout;
    assert!(inspected.contains("500 rows, 3 input columns"), "{inspected}");
    assert!(inspected.contains("tinytrain train --data a.csv b.csv --header yes"), "{inspected}");
}

#[test]
fn invalid_parts_are_refused() {
    let place = with_parts();
    place.write("other.csv", "x,kind\n1,low\n2,mid\n");
    for (arguments, parts) in [
        (&["--data", "a.csv", "other.csv"][..], ["other.csv, row 1", "the header of a.csv"]),
        (
            &["--data", "a.csv", "-"],
            ["--data: several files must be tables with the same columns", "found -"],
        ),
        (&["--data", "a.csv", "b.csv", "./a.csv"], ["--data: each file must be named once", "found ./a.csv"]),
        (
            &["--data", "a.csv", "b.csv", "--out", "b.csv"],
            ["--out: expected a folder, or a file named *.safetensors", "found b.csv"],
        ),
    ] {
        let outcome = place.run(&[&["train", "--device", "cpu"][..], arguments].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(parts.iter().all(|part| outcome.stderr.contains(part)), "{}", outcome.stderr);
    }
}

#[test]
fn held_out_files_that_are_trained_on_are_doubtful() {
    let place = with_parts();
    let train = ["train", "--out", "m.safetensors"];
    let sweep = ["sweep", "--seeds", "1", "--out", "s"];
    for (command, set) in [
        (&train[..], "validation"),
        (&train, "test"),
        (&sweep, "validation"),
        (&sweep, "test"),
        (&["train", "--folds", "2"], "validation"),
    ] {
        let option = format!("--{set}");
        let says = |data: &str| {
            let _ = std::fs::remove_dir_all(place.path("s"));
            let arguments =
                ["--data", data, &option, "./b.csv", "--epochs", "1", "--device", "cpu", "--quiet"];
            place.succeed(&[command, &arguments].concat()).stderr
        };
        let expected = format!(
            "warning: {option}: ./b.csv is trained on, too, so the {set} score says nothing of new rows\n"
        );
        let found = says("b.csv");
        assert!(found.contains(&expected), "{command:?}: {found}");
        assert!(!says("a.csv").contains("trained on"));
    }
}

#[test]
fn a_file_that_was_trained_on_is_doubtful_where_another_is_gone() {
    let place = with_parts();
    let data = ["--data", "a.csv", "b.csv"];
    let train = ["train", "--epochs", "1", "--device", "cpu", "--quiet", "--out", "m.safetensors"];
    place.succeed(&[&train[..], &data].concat());
    std::fs::remove_file(place.path("b.csv")).unwrap();
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--data", "a.csv"];
    let expected = "warning: the model was trained on rows of a.csv, so scores on new rows may be worse";
    let found = place.succeed(&eval).stderr;
    assert!(found.contains(expected), "{found}");
}
