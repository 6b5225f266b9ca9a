//! `tinytrain check`.

use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use tinytrain::reference::{ReferenceNetwork, ops};

use crate::program::Workplace;

#[test]
fn the_cpu_engine_is_checked_by_gradients_and_steps() {
    let place = Workplace::new();
    let outcome = place.succeed(&["check", "--device", "cpu", "--format", "json"]);
    assert_eq!(outcome.stderr, "");
    let objects = outcome.objects();
    assert!(objects.len() >= 6);
    for object in &objects {
        assert_eq!((&object["passed"], &object["fault"]), (&Value::Bool(true), &Value::Null), "{object}");
        let (error, bound) = (object["error"].as_f64().unwrap(), object["bound"].as_f64().unwrap());
        assert!(error <= bound && error > 0.0 && bound < 1e-4, "{object}");
        assert!(object["kernel"].is_string() && object["shape"].is_string());
    }
    let text = place.succeed(&["check", "--device", "cpu"]).stdout;
    assert!(text.starts_with("checking the CPU engine\n"), "{text}");
    assert!(text.ends_with(&format!("{0} of {0} checks passed\n", objects.len())), "{text}");
    assert_eq!(place.entries().len(), 0);
}

#[test]
fn an_adapter_is_checked_kernel_by_kernel() {
    let place = Workplace::new();
    let Some(adapter) = place.adapters("vulkan").into_iter().next() else { return };
    let index = adapter["index"].to_string();
    // Software drivers compile shaders with bounds checks for a minute.
    let checked = std::env::var_os("TINYTRAIN_TEST_LONG").map(|_| "--bounds-checks");
    let arguments = ["check", "--device", &index, "--format", "json"];
    let objects = place.succeed(&[&arguments[..], checked.as_slice()].concat()).objects();
    let names: Vec<&str> = objects.iter().map(|object| object["kernel"].as_str().unwrap()).collect();
    for name in ["matmul A B", "softmax", "reduce sum", "gradients", "one step, plain", "one step, fused"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(objects.iter().all(|object| object["passed"] == true));
}

/// Another framework adds its gradients to the file; here they come from the reference.
#[test]
fn saved_gradients_can_be_judged_by_others() {
    let place = Workplace::new();
    let outcome = place.succeed(&["check", "--device", "cpu", "--save", "new/folder"]);
    assert!(outcome.stderr.contains("wrote new/folder/gradients.safetensors"), "{}", outcome.stderr);
    let bytes = std::fs::read(place.path("new/folder/gradients.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let floats = |name: &str| -> (Vec<usize>, Vec<f64>) {
        let tensor = file.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), Dtype::F32, "{name}");
        let value = |word: &[u8]| f64::from(f32::from_le_bytes(word.try_into().unwrap()));
        (tensor.shape().to_vec(), tensor.data().chunks_exact(4).map(value).collect())
    };
    let matrix = |name: &str| {
        let (shape, values) = floats(name);
        Array2::from_shape_vec((shape[0], shape[1]), values).unwrap()
    };
    let vector = |name: &str| {
        let (shape, values) = floats(name);
        assert_eq!(shape, [values.len()]);
        Array1::from(values)
    };
    let labels = file.tensor("labels").unwrap();
    assert_eq!(labels.dtype(), Dtype::I64);
    let targets: Vec<usize> = labels
        .data()
        .chunks_exact(8)
        .map(|word| i64::from_le_bytes(word.try_into().unwrap()) as usize)
        .collect();
    let layers = (1..).take_while(|layer| file.tensor(&format!("w{layer}")).is_ok()).count();
    assert!(layers >= 3);
    assert_eq!(file.len(), 2 + 4 * layers);
    let network = ReferenceNetwork::relu(
        (1..=layers).map(|layer| matrix(&format!("w{layer}"))).collect(),
        (1..=layers).map(|layer| vector(&format!("b{layer}"))).collect(),
    );
    let x = matrix("x");
    assert_eq!(labels.shape(), [x.nrows()]);
    let mut input = x.clone();
    for (w, b) in network.weights.iter().zip(&network.biases).take(layers - 1) {
        let z = ops::forward(input.view(), w.view(), b.view());
        assert!(z.iter().all(|z| z.abs() > 1e-4), "a pre-activation at the kink");
        assert!(z.iter().any(|z| *z < 0.0) && z.iter().any(|z| *z > 0.0));
        input = ops::relu(z.view());
    }
    let want = network.gradients(x.view(), &targets);
    let (mut largest, mut different) = (0.0f64, 0);
    for layer in 0..layers {
        let dw = matrix(&format!("dw{}", layer + 1));
        let db = vector(&format!("db{}", layer + 1));
        let pairs = dw.iter().zip(&want.weights[layer]).chain(db.iter().zip(&want.biases[layer]));
        for (got, want) in pairs {
            largest = largest.max((got - want).abs());
            different += usize::from(got != want);
        }
    }
    assert!(largest < 1e-6, "{largest}");
    // Computed in f32: hardly any number is the rounded f64 one.
    assert!(different > 1000, "{different}");
}

#[test]
fn save_errors_are_reported_before_the_checks() {
    let place = Workplace::new();
    place.write("file", "");
    let outcome = place.run(&["check", "--device", "cpu", "--save", "file"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("cannot write file"), "{}", outcome.stderr);
    let outcome = place.run(&["check", "--device", "no such device"]);
    assert_eq!(outcome.code, 2);
}

#[test]
fn auto_without_a_gpu_reports_that_no_kernel_was_checked() {
    let place = Workplace::new();
    let outcome = place.succeed(&["check", "--format", "json"]);
    let on_cpu = !outcome.stdout.contains("matmul");
    assert_eq!(outcome.stderr.contains("no GPU kernel"), on_cpu, "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), usize::from(on_cpu));
}
