//! Optimizers, activations, losses and learning rates as options.

use serde_json::Value;

use crate::program::Workplace;

const CPU: [&str; 4] = ["--device", "cpu", "--seed", "3"];

/// Trains and returns all printed objects.
fn train(place: &Workplace, arguments: &[&str]) -> Vec<Value> {
    place.succeed(&[&["train", "--format", "json"], arguments].concat()).objects()
}

/// Returns y = a b + c and z = a - b, and a weight that excludes the rows with wrong y.
fn values() -> String {
    let mut table = "a,b,c,y,z,weight\n".to_owned();
    for row in 0..600u32 {
        let number = |factor: u32| f64::from(row * factor % 101) / 50.0 - 1.0;
        let (a, b, c) = (number(37), number(53), number(71));
        let wrong = row % 10 == 0;
        let y = if wrong { 50.0 } else { a * b + c };
        table += &format!("{a},{b},{c},{y},{},{}\n", a - b, u8::from(!wrong));
    }
    table
}

#[test]
fn values_are_learnt_evaluated_and_predicted() {
    let place = Workplace::new();
    place.write("t.csv", values());
    let arguments = [
        "--data",
        "t.csv",
        "--target",
        "y",
        "z",
        "--weight",
        "weight",
        "--loss",
        "mse",
        "--optimizer",
        "adam",
        "--lr",
        "0.01",
        "--hidden",
        "32,16",
        "--activation",
        "silu,tanh",
        "--preset",
        "plain",
        "--epochs",
        "60",
        "--lr-schedule",
        "cosine",
        "--out",
        "m.safetensors",
    ];
    let objects = train(&place, &[&arguments[..], &CPU].concat());
    let summary = &objects[objects.len() - 1];
    assert!(summary["test_accuracy"].is_null() && summary["test_r2"].is_null(), "{summary}");
    let saved = place.model("m.safetensors");
    for (pointer, value) in [
        ("/networks/0/loss", "mse"),
        ("/networks/0/layers/0/activation", "silu"),
        ("/networks/0/layers/1/activation", "tanh"),
        ("/settings/optimizer", "adam"),
        ("/settings/lr_schedule", "cosine"),
        ("/data/schema/values/0/name", "y"),
        ("/data/schema/values/1/name", "z"),
    ] {
        assert_eq!(saved.at(pointer), value);
    }
    let right: String =
        values().lines().filter(|line| !line.ends_with(",0")).map(|line| format!("{line}\n")).collect();
    place.write("right.csv", &right);
    let evaluated = place.succeed(&[
        "eval",
        "--model",
        "m.safetensors",
        "--data",
        "right.csv",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    let figures = &evaluated.objects()[0];
    let figure = |name: &str| figures[name].as_f64().unwrap();
    assert!(figure("r2") > 0.97, "{figures}");
    // The loss is computed from scaled values.
    let widths = saved.at("/data/target_scale/width").as_array().unwrap().iter();
    let widths: Vec<f64> = widths.map(|width| width.as_f64().unwrap()).collect();
    let greatest = widths.iter().copied().fold(0.0, f64::max);
    let least = widths.iter().copied().fold(f64::INFINITY, f64::min);
    let squared = figure("rmse").powi(2);
    assert!((squared / greatest.powi(2)..squared / least.powi(2)).contains(&figure("loss")), "{figures}");
    assert!(figure("mae") < figure("rmse"), "{figures}");
    place.write("few.csv", "c,b,a\n0.5,0.2,-1\n");
    let predicted = place.succeed(&["predict", "--model", "m.safetensors", "few.csv", "--device", "cpu"]);
    let lines: Vec<&str> = predicted.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "y,z"));
    let row: Vec<f64> = lines[1].split(',').map(|cell| cell.parse().unwrap()).collect();
    assert!((row[0] - 0.3).abs() < 0.2 && (row[1] + 1.2).abs() < 0.2, "{row:?}");
    // Without the weights, the wrong rows affect the network.
    let without: Vec<&str> =
        arguments.iter().copied().filter(|word| !["--weight", "weight"].contains(word)).collect();
    train(&place, &[&without[..], &["--exclude", "weight"], &CPU].concat());
    let evaluated = place.succeed(&[
        "eval",
        "--model",
        "m.safetensors",
        "--data",
        "right.csv",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    assert!(evaluated.objects()[0]["r2"].as_f64().unwrap() < 0.0);
}

#[test]
fn the_target_determines_the_task() {
    let place = Workplace::new();
    let table = |value: &dyn Fn(usize) -> String| -> String {
        let row = |row: usize| format!("{}.5,{}\n", row % 17, value(row));
        "a,y\n".to_owned() + &(0..90).map(row).collect::<String>()
    };
    let loss = |arguments: &[&str]| {
        let outcome = place.succeed(
            &[&["train", "--data", "t.csv", "--epochs", "1", "--out", "m.safetensors"], arguments, &CPU]
                .concat(),
        );
        (place.model("m.safetensors").at("/networks/0/loss").clone(), outcome.stderr)
    };
    let few = |row: usize| (row % 3).to_string();
    // Large numbers, which can be learned at the usual learning rate only if scaled.
    let many = |row: usize| (1_000_000 + 1000 * (row % 17) + row % 2).to_string();
    let fractions = |row: usize| format!("{}.5", row % 2);
    for (value, automatic) in
        [(&few as &dyn Fn(usize) -> String, "cross-entropy"), (&many, "mse"), (&fractions, "mse")]
    {
        place.write("t.csv", table(value));
        let (found, notices) = loss(&[]);
        assert_eq!(found, automatic);
        assert_eq!(notices.contains("--task classification"), automatic == "mse", "{notices}");
        assert_eq!(loss(&["--task", "regression"]).0, "mse");
        assert_eq!(loss(&["--loss", "huber"]).0, "huber");
    }
    place.write("t.csv", table(&many));
    place.succeed(
        &[&["train", "--data", "t.csv", "--preset", "plain", "--epochs", "40", "--out", "m.safetensors"][..], &CPU]
            .concat(),
    );
    let eval = ["eval", "--model", "m.safetensors", "--data", "t.csv", "--format", "json", "--device", "cpu"];
    let figures = place.succeed(&eval).objects()[0].clone();
    let (r2, rmse) = (figures["r2"].as_f64().unwrap(), figures["rmse"].as_f64().unwrap());
    assert!(r2 > 0.99 && rmse < 500.0, "{figures}");
    let far = |row: usize| format!("{}.5", 1_700_000_000 + row % 17);
    place.write("far.csv", table(&far));
    let outcome = place.run(&[&["train", "--data", "far.csv", "--out", "m.safetensors"][..], &CPU].concat());
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.error().contains("column 2 (y)") && outcome.error().contains("32-bit floats"),
        "{}",
        outcome.stderr
    );
    let unscaled = [
        &[
            "train",
            "--data",
            "t.csv",
            "--preset",
            "plain",
            "--scale-target",
            "none",
            "--out",
            "m.safetensors",
        ][..],
        &CPU,
    ]
    .concat();
    assert_eq!(place.run(&unscaled).code, 3);
}

#[test]
fn values_with_held_out_rows_keep_the_best_model() {
    let place = Workplace::new();
    place.write("t.csv", values().replace(",50,", ",0,"));
    let arguments = [
        "--data",
        "t.csv",
        "--target",
        "z",
        "--exclude",
        "y",
        "--loss",
        "huber",
        "--optimizer",
        "momentum",
        "--lr",
        "0.02",
        "--hidden",
        "16",
        "--epochs",
        "20",
        "--preset",
        "plain",
        "--validation-fraction",
        "0.2",
        "--test-fraction",
        "0.2",
        "--out",
        "m.safetensors",
    ];
    let objects = train(&place, &[&arguments[..], &CPU].concat());
    let losses: Vec<f64> = objects.iter().filter_map(|object| object["validation_loss"].as_f64()).collect();
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let summary = &objects[objects.len() - 1];
    assert_eq!(losses[summary["kept_epoch"].as_u64().unwrap() as usize - 1], best);
    let r2 = summary["test_r2"].as_f64().unwrap();
    assert!(r2 > 0.9, "{summary}");
    let evaluated =
        place.succeed(&["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"]);
    assert_eq!(evaluated.objects()[0]["r2"].as_f64().unwrap(), r2);
}

/// Every optimizer, every classification loss and every activation learns, with equal results in every run;
/// another seed or another dropout rate changes the model.
#[test]
fn every_way_of_learning_repeats() {
    let place = Workplace::with_data();
    let ways: [&[&str]; 8] = [
        &["--optimizer", "momentum", "--activation", "leaky-relu", "--weight-decay", "0.001"],
        &["--optimizer", "nesterov", "--activation", "elu", "--lr-schedule", "onecycle"],
        &["--optimizer", "adam", "--activation", "gelu", "--dropout", "0.2", "--warmup", "10"],
        &["--optimizer", "adamw", "--activation", "selu", "--init", "lecun", "--label-smoothing", "0.1"],
        &["--optimizer", "rmsprop", "--activation", "mish", "--clip-norm", "1", "--lr-schedule", "step"],
        &["--activation", "sigmoid,tanh", "--hidden", "20,20", "--init", "xavier", "--dropout", "0.1,0.2"],
        &["--activation", "silu", "--class-weights", "balanced", "--lr-schedule", "exponential"],
        &["--activation", "identity", "--lr-factors", "layers=1,0.5,biases=2", "--lr-schedule", "coslog4"],
    ];
    for way in ways {
        let trained = |seed: &str, out: &str| {
            let common = ["--data", "data", "--epochs", "3", "--device", "cpu", "--seed", seed, "--out", out];
            let objects = train(&place, &[&common[..], way].concat());
            let epoch = |index: usize| objects[index]["train_loss"].as_f64().unwrap();
            assert!(epoch(3) < epoch(1), "{way:?}: {objects:?}");
            place.model(out).bytes()
        };
        let first = trained("1", "a.safetensors");
        assert!(first == trained("1", "b.safetensors"), "{way:?} repeats");
        assert!(first != trained("2", "c.safetensors"), "{way:?} depends on the seed");
    }
}
