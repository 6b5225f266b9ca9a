//! `tinytrain devices`, and `--device`.

use serde_json::Value;

use crate::program::Workplace;

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_list_is_an_array_of_adapters_and_a_table() {
    let place = Workplace::new();
    let json = place.succeed(&["devices", "--format", "json"]);
    let list: Vec<Value> = serde_json::from_str(&json.stdout).unwrap();
    let text = place.succeed(&["devices"]).stdout;
    for (index, adapter) in list.iter().enumerate() {
        assert_eq!(adapter["index"], index);
        assert_eq!(keys(adapter), ["backend", "driver", "features", "index", "name", "type"]);
        assert!(adapter["features"].as_array().unwrap().iter().all(Value::is_string));
        for field in ["name", "type", "backend"] {
            assert!(text.contains(adapter[field].as_str().unwrap()), "{text}");
        }
    }
    assert!(text.lines().last().unwrap().contains("--device cpu"), "{text}");
    assert_eq!(text.starts_with("index"), !list.is_empty());
}

/// If there may be a GPU, according to a variable that names its driver, small work does not wait for it.
#[test]
fn small_work_is_done_sooner_than_on_a_gpu() {
    let place = Workplace::new();
    let lines: String = (0..60).map(|row| format!("{},{}\n", row * 7 % 60, row % 2)).collect();
    place.write("t.csv", format!("a,class\n{lines}"));
    let notices = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let output = place.command(&words).env("VK_ADD_DRIVER_FILES", "").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    let soon = "the CPU engine finishes this sooner than a GPU; use --device gpu for the GPU";
    let data = "--data t.csv --hidden 512,512";
    for command in ["train", "train --folds 2", "sweep --seeds 2"] {
        let of = |epochs: usize| notices(&format!("{command} {data} --epochs {epochs}"));
        let [short, long] = [of(1), of(1_200)];
        assert!(short.contains(soon), "{command}: {short}");
        assert!(!long.contains(soon), "{command}: {long}");
    }
    for option in ["--device cpu", "--schedule plain", "--bounds-checks"] {
        let other = notices(&format!("train {data} --epochs 1 {option}"));
        assert!(!other.contains(soon), "{option}: {other}");
    }
}

#[test]
fn drivers_keep_quiet_without_a_session() {
    let place = Workplace::new();
    for session in [None, Some(""), Some("relative")] {
        let mut command = place.command(&["devices"]);
        command.env_remove("XDG_RUNTIME_DIR");
        command.envs(session.map(|folder| ("XDG_RUNTIME_DIR", folder)));
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

/// Trains with a backend, if it exists, selected in several ways.
fn trains_through(backend: &str) {
    let place = Workplace::with_data();
    let Some(adapter) = place.adapters(backend).into_iter().next() else { return };
    let index = adapter["index"].to_string();
    let train = |device: &str| {
        place.train(&[
            "--data",
            "data",
            "--epochs",
            "2",
            "--out",
            "m.safetensors",
            "--threads",
            "1",
            "--device",
            device,
        ])
    };
    let has_threads = || place.model("m.safetensors").at("/settings").get("threads").is_some();
    let objects = train(backend);
    assert!(!has_threads(), "a GPU has none");
    let accuracy = |objects: &[Value]| objects.last().unwrap()["test_accuracy"].as_f64().unwrap();
    for object in [&objects[0], objects.last().unwrap()] {
        assert_eq!(object["engine"], "gpu");
        let device = object["device"].as_str().unwrap();
        assert!(device.contains(adapter["name"].as_str().unwrap()) && device.contains(backend), "{device}");
    }
    assert_eq!(objects[0]["schedule"], "fused", "the adapter is software");
    assert_eq!(train(&index)[0]["device"], objects[0]["device"]);
    let cpu = train("cpu");
    assert!(has_threads());
    assert_eq!((cpu[0]["engine"].as_str(), &cpu[0]["schedule"]), (Some("cpu"), &Value::Null));
    assert!((accuracy(&cpu) - accuracy(&objects)).abs() < 0.05);
    let plain = place.train(&[
        "--data",
        "data",
        "--epochs",
        "2",
        "--out",
        "m.safetensors",
        "--device",
        backend,
        "--schedule",
        "plain",
        "--bounds-checks",
    ]);
    assert_eq!(plain[0]["schedule"], "plain");
    let eval =
        ["eval", "--model", "m.safetensors", "--data", "data", "--format", "json", "--device", backend];
    for checked in [&[][..], &["--bounds-checks"]] {
        let tested = place.succeed(&[&eval[..], checked].concat()).objects().remove(0);
        assert!((tested["accuracy"].as_f64().unwrap() - accuracy(&plain)).abs() < 0.011);
    }
}

#[test]
fn trains_on_vulkan() {
    trains_through("vulkan");
}

#[test]
fn trains_on_gl() {
    trains_through("gl");
}

#[test]
fn a_device_can_be_named_in_any_case() {
    let place = Workplace::with_data();
    let list: Vec<Value> =
        serde_json::from_str(&place.succeed(&["devices", "--format", "json"]).stdout).unwrap();
    let Some(adapter) = list.first() else { return };
    let name = adapter["name"].as_str().unwrap();
    for name in [name.to_owned(), name.to_uppercase(), name[..name.len().min(6)].to_owned()] {
        let objects = place.train(&["--data", "data", "--epochs", "1", "--device", &name]);
        assert!(objects[0]["device"].as_str().unwrap().contains(adapter["name"].as_str().unwrap()));
    }
}

#[test]
fn the_device_is_named() {
    let place = Workplace::with_data();
    let train = ["train", "--data", "data", "--epochs", "1"];
    for options in [&[][..], &["--device", "cpu"]] {
        let outcome = place.succeed(&[&train[..], options].concat());
        assert!(outcome.stdout.contains("parameters, on "), "{}", outcome.stdout);
        assert_eq!(outcome.stderr, "");
    }
    assert_eq!(place.succeed(&[&train[..], &["--quiet"]].concat()).stderr, "");
}

#[test]
fn an_unnamed_software_driver_is_reported() {
    let place = Workplace::with_data();
    let list: Vec<Value> =
        serde_json::from_str(&place.succeed(&["devices", "--format", "json"]).stdout).unwrap();
    let kinds = ["discrete", "integrated", "virtual", "unknown"];
    if list.is_empty() || list.iter().any(|adapter| kinds.contains(&adapter["type"].as_str().unwrap())) {
        return;
    }
    place.write("t.csv", "a,b,class\n".to_owned() + &"1,2,x\n2,1,y\n3,5,x\n".repeat(8));
    place.succeed(&["train", "--data", "t.csv", "--hidden", "4", "--epochs", "1", "--out", "run"]);
    let told = |command: &str, device: &str| {
        let words: Vec<&str> = command.split(' ').chain(["--device", device]).collect();
        place.succeed(&words).stderr
    };
    let [name, backend] = ["name", "backend"].map(|key| list[0][key].as_str().unwrap());
    let line = format!(
        "{name} ({backend}) is a software driver that computes on the CPU, not a GPU; the CPU engine (--device cpu) is faster\n"
    );
    let train = "train --data t.csv --hidden 4 --epochs 1 --out m.safetensors --quiet";
    for command in [
        train.trim_end_matches(" --quiet"),
        "train --data t.csv --hidden 4 --epochs 1 --folds 2",
        "sweep --data t.csv --hidden 4 --epochs 1 --trials 1 --out sweep",
        "predict --model run t.csv",
        "eval --model run",
        "importance --model run",
        "report run",
        "profile --data t.csv --hidden 4 --steps 1",
        "check --save opinion --steps 1 --only-save",
    ] {
        let stderr = told(command, "gpu");
        assert_eq!(stderr.matches(&line).count(), 1, "{command}: {stderr}");
    }
    for (command, device) in [(train, "gpu"), ("eval --model run", name), ("eval --model run", "cpu")] {
        assert!(!told(command, device).contains("software"), "{command} on {device}");
    }
}
