//! Output of `tinytrain train`.

use serde_json::Value;

use crate::program::{CLASSES, Rows, SIDE, Workplace};

const CPU: [&str; 4] = ["--device", "cpu", "--out", "m.safetensors"];

fn text(place: &Workplace, arguments: &[&str]) -> (String, String) {
    let common = ["train", "--hidden", "12", "--batch-size", "20"];
    let outcome = place.succeed(&[&common[..], &CPU, arguments].concat());
    (outcome.stdout, outcome.stderr)
}

fn json(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    place.train(&[&CPU[..], arguments].concat())
}

/// Checks that the object has these fields, in this order, and no others.
#[track_caller]
fn assert_fields(line: &str, names: &[&str]) {
    let places: Vec<Option<usize>> = names.iter().map(|name| line.find(&format!("\"{name}\":"))).collect();
    assert!(places.is_sorted() && places[0] == Some(1), "{line}");
    let object: Value = serde_json::from_str(line).unwrap();
    assert_eq!(object.as_object().unwrap().len(), names.len(), "{line}");
}

#[test]
fn json_has_every_field_in_order() {
    let place = Workplace::with_data();
    let arguments = ["train", "--data", "data", "--epochs", "3", "--hidden", "12,7", "--format", "json"];
    let outcome = place.succeed(&[&arguments[..], &["--test-every-epoch"], &CPU].concat());
    assert_eq!(outcome.stderr, "");
    let objects = outcome.objects();
    let events: Vec<&str> = objects.iter().map(|object| object["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "epoch", "epoch", "epoch", "summary"]);

    let start = &objects[0];
    assert_eq!(start["layers"], serde_json::json!([SIDE * SIDE, 12, 7, CLASSES]));
    assert_eq!(start["parameters"], 65 * 12 + 13 * 7 + 8 * 4);
    assert_eq!((&start["scaling"], &start["seed"]), (&"1/255".into(), &1.into()));
    assert_eq!((&start["batch_size"], &start["learning_rate"]), (&16.into(), &0.1.into()));

    let names = [
        "event",
        "epoch",
        "train_loss",
        "train_accuracy",
        "validation_loss",
        "validation_accuracy",
        "validation_balanced_accuracy",
        "validation_log_loss",
        "validation_auc",
        "validation_rmse",
        "validation_mae",
        "validation_r2",
        "test_loss",
        "test_accuracy",
        "test_balanced_accuracy",
        "test_log_loss",
        "test_auc",
        "test_rmse",
        "test_mae",
        "test_r2",
        "validation_metric",
        "seconds",
        "samples_per_second",
        "kept",
    ];
    for (number, (object, line)) in objects[1..4].iter().zip(outcome.stdout.lines().skip(1)).enumerate() {
        assert_fields(line, &names);
        assert_eq!(object["epoch"], number + 1);
        let value = |name: &str| object[name].as_f64().unwrap();
        for share in ["train_accuracy", "test_accuracy"] {
            assert!((0.0..=1.0).contains(&value(share)));
        }
        for positive in ["train_loss", "test_loss", "seconds", "samples_per_second"] {
            assert!(value(positive) > 0.0);
        }
        assert!((value("seconds") * value("samples_per_second") / 400.0 - 1.0).abs() < 1e-6);
    }
    let summary = objects.last().unwrap();
    let line = outcome.stdout.lines().last().unwrap();
    let names = [
        "event",
        "epochs",
        "kept_epoch",
        "validation_loss",
        "validation_accuracy",
        "validation_balanced_accuracy",
        "validation_log_loss",
        "validation_auc",
        "validation_rmse",
        "validation_mae",
        "validation_r2",
        "test_loss",
        "test_accuracy",
        "test_balanced_accuracy",
        "test_log_loss",
        "test_auc",
        "test_rmse",
        "test_mae",
        "test_r2",
        "test_rmse_by_target",
        "test_mae_by_target",
        "test_r2_by_target",
        "seconds",
        "first_batch_seconds",
        "engine",
        "device",
        "warning",
        "model",
    ];
    assert_fields(line, &names);
    assert_eq!(
        (&summary["epochs"], &summary["engine"], &summary["model"]),
        (&3.into(), &"cpu".into(), &"m.safetensors".into())
    );
    assert_eq!(summary["test_accuracy"], objects[3]["test_accuracy"]);
    assert!(summary["test_accuracy"].as_f64().unwrap() > 0.6, "{summary}");
    let (first, all) =
        (summary["first_batch_seconds"].as_f64().unwrap(), summary["seconds"].as_f64().unwrap());
    assert!(0.0 < first && first <= all, "{first} of {all}");
    // By default only the kept model is tested, with the same result.
    let once = place.succeed(&[&arguments[..], &CPU].concat()).objects();
    for (once, object) in once.iter().zip(&objects) {
        let is_epoch = object["event"] == "epoch";
        for name in ["test_loss", "test_accuracy", "test_auc", "train_loss"] {
            let is_tested = !is_epoch || name == "train_loss";
            let expected = if is_tested { &object[name] } else { &Value::Null };
            assert_eq!(&once[name], expected, "{name}");
        }
    }
    assert!(summary["test_auc"].as_f64().unwrap() > 0.8, "{summary}");
}

#[test]
fn a_history_has_the_test_score_of_the_kept_epoch() {
    let place = Workplace::with_data();
    let options = ["train", "--data", "data", "--hidden", "12", "--device", "cpu"];
    let rates = ["--validation-fraction", "0.3", "--lr", "0.9", "--no-temperature", "--format", "json"];
    let run = |more: &[&str], out: &str| {
        let summary =
            place.succeed(&[&options[..], &rates, more, &["--epochs", "4", "--out", out]].concat()).objects();
        let history = std::fs::read_to_string(place.path(&format!("{out}/history.csv"))).unwrap();
        let tests = history.lines().skip(1).map(|line| line.split(',').nth(11).unwrap().parse::<f64>().ok());
        (summary.last().unwrap().clone(), tests.collect::<Vec<Option<f64>>>())
    };
    let (summary, once) = run(&[], "once");
    let (all, every) = run(&["--test-every-epoch"], "every");
    let kept = summary["kept_epoch"].as_u64().unwrap() as usize;
    assert_eq!((every.len(), every.iter().flatten().count()), (4, 4));
    for (epoch, (once, every)) in (1..).zip(once.iter().zip(&every)) {
        assert_eq!(once, if epoch == kept { every } else { &None }, "epoch {epoch}");
    }
    assert_eq!([&summary["test_loss"], &summary["kept_epoch"]], [&all["test_loss"], &all["kept_epoch"]]);
    // A resumed run tests the model that is then kept, here of a later epoch or of the same one.
    let resume = ["train", "--resume", "once", "--epochs", "5", "--format", "json"];
    let resumed = place.succeed(&resume).objects().pop().unwrap();
    let five = place.succeed(&[&options[..], &rates, &["--epochs", "5", "--out", "five"]].concat());
    let mut five = five.objects().pop().unwrap();
    for name in ["seconds", "first_batch_seconds", "model"] {
        five[name] = resumed[name].clone();
    }
    assert_eq!(resumed, five);
    let compared = place.succeed(&["compare", "once", "every", "--format", "json"]).objects();
    assert_eq!(compared[0]["test_loss"], resumed["test_loss"]);
    assert_eq!(
        (&compared[0]["best_epoch"], &compared[1]["test_loss"]),
        (&five["kept_epoch"], &all["test_loss"])
    );
}

#[test]
fn text_is_a_table_and_a_summary() {
    let place = Workplace::with_data();
    let (stdout, stderr) = text(&place, &["--data", "data", "--epochs", "2"]);
    assert_eq!(stderr, "", "no bar where there is no terminal");
    assert!(!stdout.contains('\u{1b}') && !stdout.contains('\r'));
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "400 rows, images of 8 x 8 divided by 255, labels of 4 classes: 0, 1, 2, 3");
    assert!(
        lines[1].contains("64-12-4 network, 832 parameters") && lines[1].contains("CPU engine"),
        "{stdout}"
    );
    assert_eq!(lines[2], "2 epochs of 20 steps, batches of 20 rows, learning rate 0.1");
    let names: Vec<&str> = lines[3].split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["epoch", "train loss", "train acc", "rows/s"]);
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{stdout}");
    for (epoch, line) in (1..).zip(&lines[4..6]) {
        assert!(line.trim_start().starts_with(&format!("{epoch} ")), "{stdout}");
        assert_eq!(line.matches(" %").count(), 1, "{stdout}");
        assert_eq!(line.chars().count(), lines[3].chars().count(), "{stdout}");
    }
    assert!(lines[6].starts_with("test accuracy ") && lines[6].contains(" % (2 epochs) in "), "{stdout}");
    assert_eq!(
        lines[7..],
        ["wrote m.safetensors", "evaluate the model: tinytrain eval --model m.safetensors"]
    );
}

#[test]
fn text_and_json_agree() {
    let place = Workplace::with_data();
    let arguments = ["--data", "data", "--epochs", "1"];
    let arguments = [&arguments[..], &["--test-every-epoch"]].concat();
    let (stdout, _) = text(&place, &arguments);
    assert!(stdout.lines().nth(3).unwrap().contains("  test loss   test acc  "), "{stdout}");
    let epoch = &json(&place, &arguments)[1];
    let cells: Vec<&str> = stdout.lines().nth(4).unwrap().split_whitespace().collect();
    assert_eq!(cells[1], format!("{:.4}", epoch["train_loss"].as_f64().unwrap()));
    assert_eq!(cells[2], format!("{:.2}", epoch["train_accuracy"].as_f64().unwrap() * 100.0));
    assert_eq!(cells[4], format!("{:.4}", epoch["test_loss"].as_f64().unwrap()));
    assert_eq!(cells[5], format!("{:.2}", epoch["test_accuracy"].as_f64().unwrap() * 100.0));
}

#[test]
fn quiet_prints_the_model_file_and_its_score() {
    let place = Workplace::with_data();
    let (stdout, stderr) = text(&place, &["--data", "data", "--epochs", "2", "--quiet"]);
    assert_eq!((stderr.as_str(), stdout.lines().count()), ("", 1));
    assert!(stdout.starts_with("test accuracy ") && stdout.ends_with(", model m.safetensors\n"), "{stdout}");
    assert_eq!(json(&place, &["--data", "data", "--epochs", "2", "--quiet"]).len(), 4);
}

#[test]
fn verbose_prints_more_on_standard_error() {
    let place = Workplace::with_data();
    let arguments = ["--data", "data", "--epochs", "1", "--seed", "77", "--verbose"];
    let (_, stderr) = text(&place, &arguments);
    assert!(["seed 77", "832 parameters", "1/255"].iter().all(|part| stderr.contains(part)), "{stderr}");
    assert!(stderr.contains("), one per core"), "{stderr}");
    assert_eq!(json(&place, &arguments).len(), 3);
    let (_, stderr) = text(&place, &[&arguments[..], &["--threads", "1"]].concat());
    assert!(stderr.contains("CPU engine (1 thread), at most 1"), "{stderr}");
    assert_eq!(place.model("m.safetensors").setting("threads"), "1");
    if !place.adapters("vulkan").is_empty() {
        let outcome = place
            .succeed(&[&["train", "--device", "vulkan", "--schedule", "fused"], &arguments[..]].concat());
        assert!(outcome.stderr.contains("loss_gradient +cross-entropy"), "{}", outcome.stderr);
    }
}

#[test]
fn without_test_data_there_are_no_test_figures() {
    let place = Workplace::new();
    place.write_idx("some", &Rows::new(200, 1));
    let arguments = ["--data", "some-images-idx3-ubyte", "--epochs", "1"];
    let objects = json(&place, &arguments);
    assert!(objects[1]["test_loss"].is_null() && objects[1]["test_accuracy"].is_null());
    assert!(objects[2]["test_accuracy"].is_null());
    let (stdout, _) = text(&place, &arguments);
    assert!(stdout.contains("train accuracy") && !stdout.contains("\ntest accuracy"), "{stdout}");
}

/// Returns a model's file except its header.
fn weights(place: &Workplace) -> Vec<u8> {
    let file = std::fs::read(place.path("m.safetensors")).unwrap();
    let header = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    file[8 + header..].to_vec()
}

#[test]
fn tables_give_the_figures_of_images() {
    let place = Workplace::with_data();
    let (train, test) = (Rows::new(400, 1), Rows::new(200, 2));
    place.write("train.csv", train.csv());
    place.write("test.csv", test.csv());
    place.write("last.csv", train.csv_label_last());
    place.write("last_test.csv", test.csv_label_last());
    let figures = |objects: Vec<Value>| {
        objects[1..3]
            .iter()
            .map(|object| {
                ["train_loss", "train_accuracy", "test_loss", "test_accuracy"]
                    .map(|name| object[name].clone())
            })
            .collect::<Vec<_>>()
    };
    let images = figures(json(&place, &["--data", "data", "--epochs", "2", "--test-every-epoch"]));
    let model = weights(&place);
    for arguments in [
        &["--data", "train.csv", "--test", "test.csv"][..],
        &["--data", "data", "--test", "data/t10k-images-idx3-ubyte"],
        &["--data", "data", "--test", "data"],
        &["--data", "data", "--test", "test.csv"],
        &["--data", "last.csv", "--test", "last_test.csv", "--label-column", "class"],
        &["--data", "last.csv", "--test", "last_test.csv", "--label-column", "64"],
    ] {
        assert_eq!(
            figures(json(&place, &[arguments, &["--epochs", "2", "--test-every-epoch"]].concat())),
            images,
            "{arguments:?}"
        );
        assert_eq!(weights(&place), model, "{arguments:?}");
    }
}

#[test]
fn a_table_that_shows_a_new_class_late_is_trained_once() {
    let place = Workplace::new();
    let mut table: String = (0..5000).map(|row| format!("{},{}\n", row % 2, row % 7)).collect();
    table += "2,9\n";
    place.write("late.csv", &table);
    let task = ["--task", "classification"];
    let train =
        ["--data", "late.csv", "--target", "0", "--scale", "bytes", "--epochs", "1", "--preset", "plain"];
    let objects = json(&place, &[&train[..], &task].concat());
    let events: Vec<&str> = objects.iter().map(|object| object["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "epoch", "summary"]);
    assert_eq!(objects[0]["layers"][2], 3);
}

#[test]
fn no_hidden_layer_is_a_network_too() {
    let place = Workplace::with_data();
    let objects = json(&place, &["--data", "data", "--epochs", "1", "--seed", "3"]);
    assert_eq!(objects[0]["layers"], serde_json::json!([64, 12, 4]));
    let arguments = ["train", "--hidden", "none", "--data", "data", "--epochs", "1", "--format", "json"];
    let objects = place.succeed(&[&arguments[..], &CPU].concat()).objects();
    assert_eq!(objects[0]["layers"], serde_json::json!([64, 4]));
}

#[test]
fn mnist_is_found_here_before_anywhere_else() {
    let place = Workplace::new();
    place.write_idx("data/mnist/train", &Rows::new(100, 1));
    place.write_idx("data/mnist/t10k", &Rows::new(100, 2));
    let objects = json(&place, &["--epochs", "1"]);
    assert_eq!(objects[0]["layers"], serde_json::json!([64, 12, 4]));
    let (stdout, _) = text(&place, &["--epochs", "1"]);
    assert!(stdout.ends_with("tinytrain eval --model m.safetensors\n"), "{stdout}");
    let eval =
        place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"]).objects();
    assert_eq!(eval[0]["samples"], 100);
    assert!(eval[0]["data"].as_str().unwrap().contains("t10k"));
}

/// Dark ink on light paper, as in most scans, is learnt as well as light ink on black.
#[test]
fn a_light_background_is_subtracted() {
    let place = Workplace::new();
    let ink = |count, seed, is_light: bool| {
        let mut rows = Rows::new(count, seed);
        let pixels = rows.pixels.iter_mut().flatten();
        let ink = |pixel: u8| if pixel < 150 { 0 } else { pixel };
        pixels.for_each(|pixel| *pixel = if is_light { 255 - ink(*pixel) } else { ink(*pixel) });
        rows
    };
    let mut accuracies = Vec::new();
    for is_light in [false, true] {
        place.write_idx("data/train", &ink(600, 1, is_light));
        place.write_idx("data/t10k", &ink(300, 2, is_light));
        let train = ["train", "--data", "data", "--epochs", "4", "--device", "cpu", "--out", "m.safetensors"];
        let outcome = place.succeed(&[&train[..], &["--format", "json"]].concat());
        let notice = "images are not dark: inputs are (value - 255) / 255; use --scale bytes to divide only";
        assert_eq!(outcome.stderr.contains(notice), is_light, "{}", outcome.stderr);
        let objects = outcome.objects();
        assert_eq!(objects[0]["scaling"], if is_light { "columns" } else { "1/255" });
        accuracies.push(objects.last().unwrap()["test_accuracy"].as_f64().unwrap());
        // A table of pixels is distorted as images are.
        place.write("t.csv", ink(200, 3, is_light).csv());
        let train = ["train", "--data", "t.csv", "--epochs", "1", "--device", "cpu", "--augment", "shift=1"];
        place.succeed(&[&train[..], &["--out", "t.safetensors"]].concat());
        assert_eq!(place.model("t.safetensors").at("/data/image/height"), 8);
    }
    let [dark, light] = accuracies[..] else { panic!("two trainings") };
    assert!(dark > 0.9 && light > dark - 0.02, "{dark} {light}");
    let model = place.model("m.safetensors");
    for name in ["center", "width"] {
        assert!(model.scaling(name).iter().all(|value| *value == 255.0));
    }
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    assert_eq!(place.succeed(&eval).objects()[0]["accuracy"], light);
}
