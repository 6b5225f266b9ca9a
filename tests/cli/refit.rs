//! `train --refit`: training on all rows for the best number of epochs.

use serde_json::Value;

use crate::program::{Workplace, noise};

/// Rows of two numbers, whether the first is greater, with noise, and their sum.
fn workplace() -> Workplace {
    let (place, mut noise) = (Workplace::new(), noise(7));
    let row = |_| {
        let [a, b, luck] = [noise(), noise(), noise()];
        let class = if (a > b) == (luck < 0.8) { "first" } else { "second" };
        format!("{a},{b},{class},{}\n", a + b + 0.3 * luck)
    };
    place.write("t.csv", "a,b,class,sum\n".to_owned() + &(0..300).map(row).collect::<String>());
    place
}

const COMMON: [&str; 14] = [
    "train",
    "--device",
    "cpu",
    "--data",
    "t.csv",
    "--hidden",
    "8",
    "--batch-size",
    "16",
    "--epochs",
    "20",
    "--format",
    "json",
    "--seed=4",
];
const CLASSES: [&str; 4] = ["--target", "class", "--exclude", "sum"];
const VALUES: [&str; 4] = ["--target", "sum", "--exclude", "class"];

fn train(place: &Workplace, out: &str, arguments: &[&str]) -> Vec<Value> {
    place.succeed(&[&COMMON[..], arguments, &["--out", out]].concat()).objects()
}

/// At a constant learning rate the refit equals a run of the same number of epochs on all rows, bit for bit.
#[test]
fn it_is_a_run_on_all_rows_for_the_best_number_of_epochs() {
    let place = workplace();
    for target in [&CLASSES, &VALUES] {
        for tested in [&[][..], &["--test-fraction", "0.2"]] {
            let plain =
                [&target[..], &["--preset", "plain", "--lr", "0.3", "--no-temperature"], tested].concat();
            let held_out = [&plain[..], &["--validation-fraction", "0.2"]].concat();
            let first = train(&place, "first.safetensors", &held_out).pop().unwrap();
            let refit = train(&place, "refit.safetensors", &[&held_out[..], &["--refit"]].concat());
            let kept = first["kept_epoch"].as_u64().unwrap();
            assert!(kept < 20, "{first}");
            assert!(refit.iter().any(|it| it["event"] == "refit" && it["epochs"] == kept), "{refit:?}");
            let summary = refit.last().unwrap();
            assert_eq!((&summary["kept_epoch"], &summary["epochs"]), (&kept.into(), &first["epochs"]));
            assert_eq!(summary["validation_loss"], first["validation_loss"]);
            let kept = kept.to_string();
            let all = place.succeed(
                &[
                    &COMMON[..9],
                    &["--epochs", &kept, "--format", "json", "--seed=4"],
                    &plain,
                    &["--out", "all.safetensors"],
                ]
                .concat(),
            );
            let all = all.objects().pop().unwrap();
            assert!(place.model("refit.safetensors").tensors == place.model("all.safetensors").tensors);
            assert_ne!(place.model("refit.safetensors").tensors, place.model("first.safetensors").tensors);
            for measure in ["test_loss", "test_accuracy", "test_auc", "test_r2"] {
                assert_eq!(summary[measure], all[measure], "{measure}");
            }
            if !tested.is_empty() {
                // Both runs have the same test rows.
                let evaluate =
                    ["eval", "--model", "refit.safetensors", "--device", "cpu", "--format", "json"];
                let evaluated = place.succeed(&evaluate).objects().remove(0);
                let measure = if target == &CLASSES { "accuracy" } else { "r2" };
                assert_eq!(evaluated["samples"], 60);
                assert_eq!(evaluated[measure], summary[&format!("test_{measure}")]);
            }
        }
    }
}

/// The refit model is divided by the temperature of the first; a completed run is refit again when resumed.
#[test]
fn the_preset_is_refit_with_its_temperature() {
    let place = workplace();
    let options = [&CLASSES[..], &["--test-fraction", "0.2", "--refit"]].concat();
    let summary = train(&place, "run", &options).pop().unwrap();
    let model = place.model("run");
    let temperature: f64 = model.setting("temperature").parse().unwrap();
    assert!(temperature > 0.05 && temperature < 20.0 && temperature != 1.0, "{temperature}");
    let evaluated = place.succeed(&["eval", "--model", "run", "--device", "cpu", "--format", "json"]);
    let [loss, told] =
        [&evaluated.objects()[0]["loss"], &summary["test_loss"]].map(|it| it.as_f64().unwrap());
    assert!((loss - told).abs() < 1e-6 * told, "{loss} {told}");
    let resumed = place.succeed(&["train", "--resume", "run", "--format", "json"]).objects();
    assert!(resumed.iter().any(|it| it["event"] == "refit"));
    assert!(place.model("run").tensors == model.tensors);
    let told = place.succeed(
        &[
            &[
                "train",
                "--device",
                "cpu",
                "--data",
                "t.csv",
                "--epochs",
                "2",
                "--refit",
                "--out",
                "m.safetensors",
            ][..],
            &CLASSES,
        ]
        .concat(),
    );
    assert!(
        told.stderr.contains("training once more, the rows that validated included: "),
        "{}",
        told.stderr
    );
}

#[test]
fn it_needs_rows_that_were_held_out() {
    let place = workplace();
    place.write("few.csv", "a,b,class\n".to_owned() + &"1,2,x\n3,1,y\n2,2,x\n".repeat(4));
    let expected = "--refit: expected training rows held out for validation (--validation-fraction), found ";
    for (arguments, found) in [
        (&["--data", "few.csv"][..], "none"),
        (&["--data", "t.csv", "--target", "class", "--validation-fraction", "0"], "none"),
        (&["--data", "t.csv", "--target", "class", "--validation", "t.csv"], "rows of a separate file"),
    ] {
        let outcome = place.run(&[&["train", "--device", "cpu", "--refit"][..], arguments].concat());
        assert_eq!(
            (outcome.code, outcome.error()),
            (2, &*format!("error: {expected}{found}")),
            "{arguments:?}"
        );
    }
    for other in [["--folds", "3"], ["--max-time", "3s"]] {
        let outcome = place.run(&[&["train", "--data", "t.csv", "--refit"][..], &other].concat());
        assert!(outcome.code == 2 && outcome.error().contains("cannot be used with"), "{}", outcome.stderr);
    }
}
