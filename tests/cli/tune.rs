//! `tinytrain tune`, and what `train` makes of it.

use std::path::Path;

use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::program::{Outcome, Workplace};

/// Runs with a folder of caches.
fn run(place: &Workplace, arguments: &[&str]) -> Outcome {
    let output = place.command(arguments).env("TINYTRAIN_CACHE", "cache").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Trains with it in batches of so many rows. Gives what was printed, and the model file.
fn train_batches(place: &Workplace, device: &str, batch: &str, more: &[&str]) -> (Outcome, Vec<u8>) {
    let arguments = [
        "train",
        "--data",
        "data",
        "--hidden",
        "12",
        "--batch-size",
        batch,
        "--epochs",
        "1",
        "--out",
        "m.safetensors",
        "--format",
        "json",
        "--device",
        device,
    ];
    let outcome = run(place, &[&arguments[..], more].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    (outcome, std::fs::read(place.path("m.safetensors")).unwrap())
}

/// The same in batches of 20.
fn train(place: &Workplace, device: &str, more: &[&str]) -> (Outcome, Vec<u8>) {
    train_batches(place, device, "20", more)
}

fn metadata(model: &[u8], key: &str) -> String {
    let (_, header) = SafeTensors::read_metadata(model).unwrap();
    header.metadata().as_ref().unwrap()[key].clone()
}

/// The first adapter of a backend: its entry in the list, and its index.
fn adapter(place: &Workplace, backend: &str) -> Option<(Value, String)> {
    let adapter = place.adapters(backend).into_iter().next()?;
    let index = adapter["index"].to_string();
    Some((adapter, index))
}

/// A file of measurements with one entry for the network of [`train`].
fn plant(place: &Workplace, adapter: &Value, tuning: &str) {
    let entry = json!({
        "adapter": adapter["name"], "backend": adapter["backend"], "driver": adapter["driver"],
        "layers": [64, 12, 4], "batch_size": 20, "schedule": "fused", "tuning": tuning, "microseconds": 1.5,
    });
    place.write("cache/tuning.json", json!({"format": "tinytrain tuning 1", "entries": [entry]}).to_string());
}

#[test]
fn a_planted_measurement_is_taken_and_no_tune_gives_the_built_in_bits() {
    let place = Workplace::with_data();
    for backend in ["vulkan", "gl"] {
        let Some((adapter, index)) = adapter(&place, backend) else { continue };
        let _ = std::fs::remove_file(place.path("cache/tuning.json"));
        let (built_in, model) = train(&place, &index, &["--schedule", "fused", "--verbose"]);
        let start = &built_in.objects()[0];
        assert_eq!(start["tuning_source"], "built-in");
        let text = start["tuning"].as_str().unwrap().to_owned();
        assert!(built_in.stderr.contains(&format!("built-in tile shapes: {text}")), "{}", built_in.stderr);
        assert_eq!(metadata(&model, "tuning"), text);
        assert_eq!(metadata(&model, "schedule"), "fused");
        assert!(metadata(&model, "device").contains(adapter["name"].as_str().unwrap()));

        let (first, rest) = text.split_once("; ").unwrap();
        let other = if first == "product=direct 8x4" { "product=direct 8x1" } else { "product=direct 8x4" };
        let other = format!("{other}; {rest}");
        plant(&place, &adapter, &other);
        let (planted, measured) = train(&place, &index, &["--schedule", "fused", "--verbose"]);
        assert_eq!(planted.objects()[0]["tuning_source"], "measured");
        assert!(planted.stderr.contains(&format!("measured tile shapes: {other}")), "{}", planted.stderr);
        assert_eq!(metadata(&measured, "tuning"), other);
        assert_eq!(train(&place, &index, &["--schedule", "fused"]).1, measured, "the same once more");
        let (without, again) = train(&place, &index, &["--schedule", "fused", "--no-tune", "--verbose"]);
        assert_eq!(without.objects()[0]["tuning"], text.as_str());
        assert!(without.stderr.contains("built-in tile shapes"), "{}", without.stderr);
        assert_eq!(again, model);
        // Other batches are other work.
        let (other, _) = train_batches(&place, &index, "30", &[]);
        assert_eq!(other.objects()[0]["tuning_source"], "built-in");
        let eval =
            ["eval", "--model", "m.safetensors", "--data", "data", "--device", &index, "--format", "json"];
        assert_eq!(run(&place, &eval).stderr, "");
    }
}

#[test]
fn a_broken_or_foreign_file_is_ignored_with_a_notice_and_replaced() {
    let place = Workplace::with_data();
    let Some((adapter, index)) = adapter(&place, "vulkan") else { return };
    let (built_in, model) = train(&place, &index, &["--schedule", "fused"]);
    assert_eq!(built_in.stderr, "");
    plant(&place, &adapter, built_in.objects()[0]["tuning"].as_str().unwrap());
    let whole = std::fs::read(place.path("cache/tuning.json")).unwrap();
    for broken in [&b""[..], b"something else", b"{}", b"[1]", &whole[..whole.len() / 2]] {
        place.write("cache/tuning.json", broken);
        let (outcome, found) = train(&place, &index, &["--schedule", "fused"]);
        assert_eq!(found, model);
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("tuning.json") && lines[0].contains("built-in"), "{lines:?}");
        // Who does not ask for it does not hear of it.
        assert_eq!(train(&place, &index, &["--schedule", "fused", "--no-tune"]).0.stderr, "");
        assert_eq!(train(&place, &index, &["--schedule", "fused", "--quiet"]).0.stderr, "");
        assert_eq!(train(&place, "cpu", &[]).0.stderr, "");
    }
    // Shapes that `tune` never tries are not taken, whoever has written them.
    plant(
        &place,
        &adapter,
        "product=direct 3x5; wide=broadcast tall; row=64; column=broadcast; owners=16; lanes=8; rows=2; workgroup=64; plane=8x8; team=256; sorters=64",
    );
    assert_eq!(train(&place, &index, &["--schedule", "fused"]).1, model);

    place.write("cache/tuning.json", "something else");
    let tuned = tune(&place, &index, &["--schedule", "fused", "--seconds", "1"]);
    assert!(tuned.stderr.contains("tuning.json") && tuned.stderr.contains("replaced"), "{}", tuned.stderr);
    assert_eq!(train(&place, &index, &["--schedule", "fused"]).0.objects()[0]["tuning_source"], "measured");
}

fn tune(place: &Workplace, device: &str, more: &[&str]) -> Outcome {
    let arguments = ["tune", "--data", "data", "--hidden", "12", "--batch-size", "20", "--device", device];
    let outcome = run(place, &[&arguments[..], more].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome
}

#[test]
fn the_winner_is_kept_and_train_takes_it() {
    let place = Workplace::with_data();
    let Some((_, index)) = adapter(&place, "vulkan") else { return };
    let outcome = tune(&place, &index, &["--seconds", "1", "--format", "json"]);
    assert_eq!(outcome.stderr, "", "no bar where there is no terminal");
    let objects = outcome.objects();
    let of = |event: &str| objects.iter().filter(|object| object["event"] == event).collect::<Vec<_>>();
    let (winners, summary) = (of("winner"), of("summary")[0]);
    assert_eq!(winners.len(), 3);
    for (winner, schedule) in winners.iter().zip(["fused", "two-dispatch", "resident"]) {
        assert_eq!(winner["schedule"], schedule);
        assert!(winner["microseconds"].as_f64().unwrap() > 0.0 && winner["ratio"].as_f64().unwrap() <= 1.0);
    }
    let built_in: Vec<&Value> =
        of("candidate").into_iter().filter(|candidate| candidate["varied"].is_null()).collect();
    assert_eq!(built_in.len(), 3);
    assert!(built_in.iter().all(|candidate| candidate["ratio"] == 1.0));
    assert_eq!(summary["file"].as_str().map(Path::new), Some(Path::new("cache/tuning.json")));
    assert!(summary["left_out"].is_u64());

    let fastest = winners
        .iter()
        .min_by(|a, b| a["microseconds"].as_f64().partial_cmp(&b["microseconds"].as_f64()).unwrap())
        .unwrap();
    assert_eq!(summary["schedule"], fastest["schedule"]);
    let start = train(&place, &index, &[]).0.objects().remove(0);
    assert_eq!(start["tuning_source"], "measured");
    assert_eq!((&start["schedule"], &start["tuning"]), (&fastest["schedule"], &fastest["tuning"]));

    let text = tune(&place, &index, &["--seconds", "1", "--schedule", "plain"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("64-12-4 network, batch 20") && lines[1].starts_with("schedule"), "{text}");
    assert!(lines[2].starts_with("plain") && lines[2].contains("built-in"), "{text}");
    assert!(lines[lines.len() - 1].contains("cache/tuning.json") || cfg!(windows), "{text}");
    // Four measurements now: of the same work, under four schedules.
    let kept = std::fs::read(place.path("cache/tuning.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept["entries"].as_array().unwrap().len(), 4);
}

#[test]
fn without_a_cache_folder_nothing_is_kept() {
    let place = Workplace::with_data();
    let Some((_, index)) = adapter(&place, "vulkan") else { return };
    let before = place.entries();
    let arguments = ["tune", "--data", "data", "--hidden", "12", "--device", &index, "--seconds", "1"];
    let outcome = place.succeed(&[&arguments[..], &["--schedule", "fused"]].concat());
    assert!(outcome.stderr.contains("nothing is saved"), "{}", outcome.stderr);
    assert_eq!(place.entries(), before);
}

#[test]
fn the_cpu_engine_has_nothing_to_measure() {
    let place = Workplace::with_data();
    for device in [&["--device", "cpu"][..], &["--seconds", "0"], &["--batch-size", "0"]] {
        let outcome = run(&place, &[&["tune", "--data", "data"], device].concat());
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
    }
    place.write("file", "in the way");
    let mut command = place.command(&["tune", "--data", "data", "--device", "gpu"]);
    let output = command.env("TINYTRAIN_CACHE", "file").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write"));
}
