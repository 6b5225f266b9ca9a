//! Maximum length of the CPU engine's vectors.

use crate::program::{Outcome, Workplace};

fn trained(place: &Workplace, bits: &str, model: &str) -> Outcome {
    let arguments =
        ["train", "--data", "data", "--epochs", "2", "--hidden", "40,20", "--device", "cpu", "--out", model];
    let output = place.command(&arguments).env("TINYTRAIN_VECTORS", bits).output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Vectors with fused multiply-adds give the same bits at any length; without them, each step is rounded
/// twice.
#[test]
fn vectors_of_any_length_train_the_same_model() {
    let place = Workplace::with_data();
    let models = ["128", "256", "512"].map(|bits| {
        let outcome = trained(&place, bits, bits);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        place.model(bits).tensors
    });
    assert!(models[1] == models[2]);
    let numbers = |model: &[u8]| -> Vec<f32> {
        model.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let [short, long] = [&models[0], &models[2]].map(|model| numbers(model));
    assert_eq!(short.len(), long.len());
    for (short, long) in short.iter().zip(&long) {
        assert!((short - long).abs() <= 1e-4, "{short}, {long}");
    }
}

#[test]
fn another_length_is_one_line() {
    let place = Workplace::with_data();
    for bits in ["", "0", "64", "1024", "-256", "256 bits"] {
        let outcome = trained(&place, bits, "m.safetensors");
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&format!("TINYTRAIN_VECTORS is `{bits}`, not 128, 256 or 512")));
        assert!(outcome.stdout.is_empty() && !place.path("m.safetensors").exists());
    }
}
