//! Output of `tinytrain profile` and `tinytrain train --profile`.

use serde_json::Value;

use crate::program::Workplace;

const COMMON: [&str; 8] = ["profile", "--data", "data", "--hidden", "12", "--batch-size", "20", "--steps"];

/// Returns the object's field names in order.
fn names(line: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    for (at, letter) in line.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 1 && (letter == '{' || letter == ',') && line[at + 1..].starts_with('"') {
            names.push(line[at + 2..].split('"').next().unwrap().to_owned());
        }
    }
    names
}

#[track_caller]
fn assert_report(report: &Value, steps: usize) {
    let sums = report["sums"].as_object().unwrap();
    let five = ["compute_us", "gaps_us", "recording_us", "loading_us", "waiting_us"];
    assert!(sums.len() == 5 && five.iter().all(|name| sums.contains_key(*name)), "{report}");
    let sum: f64 = sums.values().map(|sum| sum.as_f64().unwrap()).sum();
    let wall = report["wall_us"].as_f64().unwrap();
    assert!((sum / wall - 1.0).abs() < 0.03, "{report}");
    assert_eq!(report["steps"], steps);
    let kernels = report["kernels"].as_array().unwrap();
    let total: f64 = kernels.iter().map(|kernel| kernel["total_us"].as_f64().unwrap()).sum();
    let compute = sums["compute_us"].as_f64().unwrap();
    assert!((total - compute).abs() < 1e-6 * compute && compute > 0.0, "{report}");
    for kernel in kernels {
        assert!(kernel["kernel"].is_string() && kernel["shape"].is_string(), "{kernel}");
        for name in ["calls", "total_us", "median_us", "p95_us", "bytes", "flop", "roofline_share"] {
            assert!(kernel[name].as_f64().unwrap() >= 0.0, "{name}: {kernel}");
        }
    }
}

#[test]
fn json_is_one_object_with_every_field() {
    let place = Workplace::with_data();
    let outcome = place.succeed(&[&COMMON[..], &["30", "--device", "cpu", "--format", "json"]].concat());
    assert_eq!((outcome.stderr.as_str(), outcome.stdout.lines().count()), ("", 1));
    let expected = [
        "wall_us",
        "steps",
        "engine",
        "device",
        "schedule",
        "clock",
        "kernels",
        "sums",
        "gaps_from",
        "ceilings",
        "cost_of_profiling",
        "refused_stamps",
    ];
    assert_eq!(names(&outcome.stdout), expected);
    let report = &outcome.objects()[0];
    assert_report(report, 30);
    assert_eq!((&report["engine"], &report["clock"]), (&"cpu".into(), &"host".into()));
    assert!(report["cost_of_profiling"]["off_us"].as_f64().unwrap() > 0.0);
}

#[test]
fn text_has_the_same_figures_for_people() {
    let place = Workplace::with_data();
    let outcome = place.succeed(&[&COMMON[..], &["25", "--device", "cpu"]].concat());
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines[0].starts_with("25 steps on CPU engine (1 thread): "), "{}", outcome.stdout);
    let head: Vec<&str> = lines[2].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let columns = [
        "kernel",
        "shape",
        "calls",
        "median us",
        "p95 us",
        "share",
        "bytes",
        "GB/s",
        "FLOP",
        "GFLOP/s",
        "FLOP/byte",
        "roofline",
        "threads",
    ];
    assert_eq!(head, columns);
    for (name, calls) in
        [("gather ", 25), ("first_layer ", 25), ("forward ", 25), ("rows ", 25), ("update ", 25)]
    {
        let row = lines.iter().find(|line| line.starts_with(name)).unwrap();
        assert!(row.contains(&format!("  {calls}  ")) && row.matches(" %").count() == 2, "{row}");
    }
    for name in [
        "compute",
        "gaps between phases",
        "host recording",
        "loading",
        "waiting",
        "wall",
        "ceilings: ",
        "clock: the host's",
        "gaps: ",
        "cost of profiling: ",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(name)), "{name}: {}", outcome.stdout);
    }
}

#[test]
fn a_trace_is_written_whole() {
    let place = Workplace::with_data();
    place.succeed(&[&COMMON[..], &["8", "--device", "cpu", "--trace", "new/trace.json"]].concat());
    let trace = std::fs::read_to_string(place.path("new/trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let device: Vec<&Value> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "X" && event["tid"] == 6)
        .collect();
    // Every batch is gathered separately, and there are five more phases.
    assert_eq!(device.len(), 8 + 5 * 8);
}

#[test]
fn adapters_are_profiled_with_their_time_stamps_and_without() {
    let place = Workplace::with_data();
    for backend in ["vulkan", "gl"] {
        for adapter in place.adapters(backend) {
            let index = adapter["index"].to_string();
            let features = adapter["features"].as_array().unwrap();
            let able = features.iter().any(|feature| feature == "timestamp-query");
            for denied in [false, true] {
                let mut arguments = [&COMMON[..], &["10", "--device", &index, "--format", "json"]].concat();
                arguments.extend(denied.then_some("--no-timestamps"));
                let report = &place.succeed(&arguments).objects()[0];
                assert_report(report, 10);
                let clock = if able && !denied { "timestamps" } else { "host" };
                assert_eq!((&report["engine"], &report["clock"]), (&"gpu".into(), &clock.into()));
            }
        }
    }
}

#[test]
fn training_writes_the_same_for_the_whole_run() {
    let place = Workplace::with_data();
    let arguments = [
        "--data",
        "data",
        "--epochs",
        "2",
        "--device",
        "cpu",
        "--out",
        "m.safetensors",
        "--profile",
        "p/p.json",
    ];
    assert_eq!(place.train(&arguments).len(), 4);
    let text = std::fs::read_to_string(place.path("p/p.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_report(&report, 40);
    assert!(report["cost_of_profiling"].is_null() && report["gaps_from"].is_string());
    let unseen = std::fs::read(place.path("m.safetensors")).unwrap();
    place.train(&arguments[..8]);
    assert_eq!(std::fs::read(place.path("m.safetensors")).unwrap(), unseen);
}

#[test]
fn failed_runs_leave_no_profile() {
    let place = Workplace::with_data();
    let before = place.entries();
    let train = [
        "train",
        "--data",
        "data",
        "--device",
        "cpu",
        "--lr",
        "1e30",
        "--out",
        "m.safetensors",
        "--profile",
        "p.json",
    ];
    assert_eq!(place.run(&train).code, 3);
    let profile = [&COMMON[..], &["30", "--device", "cpu", "--lr", "1e30", "--trace", "t.json"]].concat();
    let outcome = place.run(&profile);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (3, ""));
    assert_eq!(place.entries(), before);
}

#[test]
fn pictures_come_as_svg() {
    let place = Workplace::with_data();
    let outcome =
        place.succeed(&[&COMMON[..], &["8", "--device", "cpu", "--plots", "new/pictures"]].concat());
    let wrote = ["roofline", "timeline", "kernels"].map(|name| format!("wrote new/pictures/{name}.svg\n"));
    assert_eq!(outcome.stderr, wrote.concat());
    for name in ["roofline", "timeline", "kernels"] {
        let file = std::fs::read(place.path("new/pictures").join(format!("{name}.svg"))).unwrap();
        assert!(file.starts_with(b"<svg"), "{name}");
    }
}

#[test]
fn ways_of_training_are_compared() {
    let place = Workplace::with_data();
    let compare = |device: &str, format: &str| {
        let arguments = ["2", "--compare", "--device", device, "--format", format];
        place.succeed(&[&COMMON[..], &arguments].concat())
    };
    let outcome = compare("cpu", "json");
    assert_eq!((outcome.stderr.as_str(), outcome.stdout.lines().count()), ("", 1));
    let comparison = &outcome.objects()[0];
    let sizes: Vec<_> = comparison["ways"].as_array().unwrap().iter().map(|way| &way["batch_size"]).collect();
    assert_eq!(sizes, [16, 64, 256, 1024]);
    for way in comparison["ways"].as_array().unwrap() {
        let [rows, batch, step, rate] =
            ["rows", "batch_size", "step_us", "rows_per_second"].map(|name| way[name].as_f64().unwrap());
        // Two batches of 20 in full batches of this size, limited by the 400 rows.
        let steps = (40.0 / batch).ceil();
        assert_eq!(rows, (steps * batch).min(400.0), "{way}");
        assert!((steps * step * rate / (rows * 1e6) - 1.0).abs() < 1e-9, "{way}");
    }
    let classic = comparison["classic"].as_array().unwrap();
    assert_eq!(classic.len(), 3, "nothing is fused on the processor");
    assert_eq!((&classic[0]["way"]["overlapped"], &classic[0]["factor"]), (&false.into(), &1.0.into()));
    let factors: f64 = classic.iter().map(|gain| gain["factor"].as_f64().unwrap()).product();
    assert!((classic[2]["overall"].as_f64().unwrap() / factors - 1.0).abs() < 1e-9, "{comparison}");
    let text = compare("cpu", "text").stdout;
    assert!(text.contains("batch 1024") && text.contains("loading overlapped"), "{text}");
    for adapter in place.adapters("vulkan") {
        let comparison = &compare(&adapter["index"].to_string(), "json").objects()[0];
        assert_eq!(comparison["ways"].as_array().unwrap().len(), 12, "{comparison}");
        assert_eq!(comparison["classic"].as_array().unwrap().len(), 4, "{comparison}");
    }
}
