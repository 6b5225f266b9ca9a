//! Results of a sweep, and where it may write them.

use serde_json::Value;

use super::sweep::{bytes, members, sweep, swept, table};
use crate::program::Workplace;

const SMALL: [&str; 6] = ["--preset", "plain", "--epochs", "2", "--trials", "5"];

/// Returns rows for a range of numbers: the values are not proportional to the inputs, and some are outliers.
fn values(rows: std::ops::Range<usize>) -> String {
    let row = |row: usize| {
        let far = if row.is_multiple_of(17) { 900 } else { 0 };
        format!("{},{},{}\n", row % 13, row % 7, 3 * (row % 13) + 10 * (row % 7) * (row % 7) + far)
    };
    "a,b,target\n".to_owned() + &rows.map(row).collect::<String>()
}

#[test]
fn values_are_put_together_by_the_loss_that_judges_members() {
    let place = Workplace::new();
    place.write("t.csv", values(0..200));
    place.write("v.csv", values(200..300));
    place.write("space.toml", "hidden = [[4], [8], [4, 4]]\nactivation = \"tanh\"\n");
    let common =
        ["--validation", "v.csv", "--target", "target", "--task", "regression", "--optimizer", "adam"];
    let more = ["--space", "space.toml", "--grid", "--epochs", "6", "--preset", "plain"];
    for loss in ["mse", "mae", "huber"] {
        for (picks, folder) in [("1", format!("{loss}-1")), ("5", format!("{loss}-5"))] {
            let own = ["--loss", loss, "--ensemble", picks, "--out", &folder];
            let objects = swept(&place, &[&common[..], &more, &own].concat());
            let summary = objects.last().unwrap();
            let told = summary["ensemble"]["loss"].as_f64().unwrap();
            // The result of `eval` on the same rows.
            let model = format!("{folder}/ensemble.safetensors");
            let eval = ["eval", "--device", "cpu", "--format", "json", "--data", "v.csv", "--model", &model];
            let evaluated = place.succeed(&eval).objects()[0]["loss"].as_f64().unwrap();
            assert!((told / evaluated - 1.0).abs() < 1e-5, "{loss}, {picks}: {told}, eval says {evaluated}");
            // All members are in the bag: a single pick is the best member, with the same loss.
            let best = summary["loss"].as_f64().unwrap();
            assert!(picks != "1" || (told / best - 1.0).abs() < 1e-5, "{loss}: {told}, {best}");
        }
    }
}

#[test]
fn a_sweep_without_time_for_a_member_reports_it() {
    let place = table();
    let endless = ["--preset", "plain", "--epochs", "1000000", "--trials", "4", "--folds", "3"];
    let outcome = sweep(&place, &[&endless[..], &["--total-time", "1ms", "--out", "s"]].concat());
    let results = std::fs::read_to_string(place.path("s/results.jsonl")).unwrap();
    let expected = "error: --total-time: too short: no trial has finished; allow more time\n";
    assert_eq!((outcome.code, results.as_str()), (2, ""), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(expected), "{}", outcome.stderr);
}

#[test]
fn nothing_of_something_else_is_written_over() {
    let place = table();
    let train = ["train", "--device", "cpu", "--data", "t.csv", "--epochs", "1", "--quiet", "--out", "run"];
    place.succeed(&train);
    place.write("mine/leaderboard.csv", "of last week\n");
    place.write("other/history.csv", "of last week\n");
    place.write("notes/space.toml", "lr = [0.1]\n");
    for (folder, file) in [("run", "history.csv"), ("mine", "leaderboard.csv"), ("other", "history.csv")] {
        let (name, before) = (format!("{folder}/{file}"), place.entries());
        let old = bytes(&place, &name);
        let expected = format!(
            "error: --out: {folder} holds other files, such as {file}; choose a new or empty folder\n"
        );
        let outcome = sweep(&place, &[&SMALL[..], &["--out", folder]].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with(&expected), "{}", outcome.stderr);
        assert_eq!((bytes(&place, &name), place.entries()), (old, before), "{folder}");
    }
    // Unrelated files are kept, and a sweep killed at its start begins again.
    place.write("notes/results.jsonl", "");
    swept(&place, &[&SMALL[..], &["--space", "notes/space.toml", "--out", "notes"]].concat());
    assert_eq!(bytes(&place, "notes/space.toml"), b"lr = [0.1]\n");
}

#[test]
fn a_sweep_is_resumed_only_with_its_rows() {
    let place = Workplace::new();
    let lines = values(0..200);
    let (header, rows) = lines.split_once('\n').unwrap();
    let backwards = rows.lines().rev().fold(format!("{header}\n"), |text, row| text + row + "\n");
    let common = [&SMALL[..], &["--target", "target", "--task", "regression"]].concat();
    let resume = ["sweep", "--resume", "s", "--ensemble", "2", "--format", "json"];
    let refused = |arguments: &[&str], folder: &str| {
        let before = place.entries();
        let outcome = place.run(arguments);
        let expected =
            format!("error: {folder}: the data have changed since the sweep began; start a new sweep\n");
        assert_eq!((outcome.code, outcome.stderr.lines().last().unwrap()), (2, expected.trim_end()));
        assert_eq!(place.entries(), before);
    };
    place.write("t.csv", &lines);
    swept(&place, &[&common[..], &["--out", "s"]].concat());
    // The same rows in another order are divided differently: some training rows would become validation
    // rows.
    place.write("t.csv", &backwards);
    refused(&resume, "s");
    // The same rows at other places of the text are the same.
    place.write("t.csv", lines.replace('\n', "\r\n"));
    place.succeed(&resume);
    // Validation rows count, too.
    place.write("v.csv", values(200..260));
    swept(&place, &[&common[..], &["--out", "v", "--validation", "v.csv"]].concat());
    place.write("v.csv", values(201..261));
    refused(&["sweep", "--resume", "v"], "v");
    let command: Value = serde_json::from_slice(&bytes(&place, "v/sweep.json")).unwrap();
    assert_eq!((&command["rows"][0]["count"], &command["rows"][1]["count"]), (&200.into(), &60.into()));
}

#[test]
fn of_members_on_folds_the_best_is_one_that_trained_to_its_end() {
    let place = Workplace::new();
    // Noise: longer training makes a network worse on other rows.
    let row = |row: usize| format!("{},{},{}\n", row * 37 % 101, row * 53 % 97, row * row * 7919 % 103);
    place.write("t.csv", "a,b,target\n".to_owned() + &(0..90).map(row).collect::<String>());
    place.write("space.toml", "hidden = [[64], [48], [32]]\noptimizer = \"adam\"\nlr = 0.02\n");
    let arguments = ["--target", "target", "--task", "regression", "--space", "space.toml", "--grid"];
    let more = ["--preset", "plain", "--epochs", "90", "--folds", "3", "--halving", "--out", "s"];
    let objects = swept(&place, &[&arguments[..], &more].concat());
    let (summary, ended) = (objects.last().unwrap(), members(&objects));
    let whole: Vec<&&Value> = ended.values().filter(|member| member["end"] == "done").collect();
    let loss = |member: &Value| member["loss"].as_f64().unwrap();
    assert_eq!((ended.len(), whole.len()), (3, 1));
    assert!(ended.values().any(|member| loss(member) < loss(whole[0])), "one that was dropped looks better");
    assert_eq!([&summary["best_member"], &summary["loss"]], [&whole[0]["member"], &whole[0]["loss"]]);
    // The model has the best settings and is trained on all rows.
    let line: Vec<&str> =
        whole[0]["arguments"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let alone = ["--device", "cpu", "--quiet", "--out", "alone.safetensors"];
    let mut train = [&["train"], &line[..], &alone].concat();
    let device = train.iter().position(|word| *word == "--device=cpu").unwrap();
    train.remove(device);
    place.succeed(&train);
    assert_eq!(bytes(&place, "s/best.safetensors"), bytes(&place, "alone.safetensors"));
    let page = String::from_utf8(bytes(&place, "s/sweep.html")).unwrap();
    assert!(page.contains(&format!("The best is trial {}:", whole[0]["member"])));
}

#[test]
fn the_folder_of_a_sweep_is_its_best_model_and_has_a_page() {
    let place = table();
    let summary = swept(&place, &[&SMALL[..], &["--out", "s"]].concat()).pop().unwrap();
    let eval = |model: &str| {
        place.succeed(&["eval", "--device", "cpu", "--format", "json", "--data", "t.csv", "--model", model])
    };
    let (folder, file) = (eval("s"), eval("s/best.safetensors"));
    let note = "using the best model of the sweep: s/best.safetensors\n";
    assert_eq!(folder.stderr, format!("{note}{}", file.stderr));
    assert_eq!(folder.objects()[0]["loss"], file.objects()[0]["loss"]);
    let told = |model: &str, command: &[&str]| place.succeed(&[command, &["--model", model]].concat()).stdout;
    for command in [
        &["predict", "--device", "cpu", "t.csv"][..],
        &["inspect", "--format", "json"],
        &["export", "--format", "c", "--out", "-"],
    ] {
        assert!(told("s", command) == told("s/best.safetensors", command), "{command:?}");
    }
    place.succeed(&["report", "s", "--out", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains(&format!("The best is trial {}:", summary["best_member"])), "{page}");
    assert!(page == std::fs::read_to_string(place.path("s/sweep.html")).unwrap());
    for (arguments, expected) in [
        (
            ["--data", "t.csv"],
            "error: s is the folder of a sweep and cannot be combined with other folders, --data or --target; ",
        ),
        (
            ["--out", "s/results.jsonl"],
            "error: --out: cannot write to s/results.jsonl, which is a file of a sweep; ",
        ),
    ] {
        let outcome = place.run(&[&["report", "s"], &arguments[..]].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.error().starts_with(expected), "{}", outcome.stderr);
    }
    std::fs::remove_file(place.path("s/best.safetensors")).unwrap();
    let outcome = place.run(&["inspect", "--model", "s"]);
    let expected =
        "error: s: expected a sweep with a best model, found no best.safetensors, which it writes at its end";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
}
