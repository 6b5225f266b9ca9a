//! The model file of a run.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use safetensors::{Dtype, SafeTensors};

use crate::program::Workplace;

const ARGUMENTS: [&str; 8] = ["--data", "data", "--device", "cpu", "--epochs", "2", "--batch-size", "30"];

fn train(place: &Workplace, arguments: &[&str]) {
    let common = ["train", "--hidden", "12", "--quiet"];
    place.succeed(&[&common[..], &ARGUMENTS, arguments].concat());
}

#[test]
fn it_holds_weights_biases_and_metadata() {
    let place = Workplace::with_data();
    train(&place, &["--out", "new/folder/m.safetensors"]);
    let bytes = std::fs::read(place.path("new/folder/m.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<_> =
        file.tensors().into_iter().map(|(name, view)| (name, view.shape().to_vec())).collect();
    tensors.sort();
    let expected = [("b1", vec![12]), ("b2", vec![4]), ("w1", vec![64, 12]), ("w2", vec![12, 4])];
    assert_eq!(tensors, expected.map(|(name, shape)| (name.to_owned(), shape)));
    assert!(file.tensors().iter().all(|(_, view)| view.dtype() == Dtype::F32));
    let model = place.model("new/folder/m.safetensors");
    assert_eq!(model.sizes(), [64, 12, 4]);
    assert_eq!(model.at("/networks/0/layers/0/activation"), "relu");
    assert_eq!(model.at("/transform"), "bytes");
    let folder: Vec<_> = std::fs::read_dir(place.path("new/folder")).unwrap().collect();
    assert_eq!(folder.len(), 1, "no temporary file stays");
}

#[test]
fn a_seed_gives_the_same_bytes_and_replaces_the_file() {
    let place = Workplace::with_data();
    place.write("a.safetensors", "something else");
    train(&place, &["--out", "a.safetensors", "--seed", "5"]);
    train(&place, &["--out", "b.safetensors", "--seed", "5"]);
    train(&place, &["--out", "c.safetensors", "--seed", "6"]);
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert_eq!(read("a.safetensors"), read("b.safetensors"));
    assert_ne!(read("a.safetensors"), read("c.safetensors"));
}

#[test]
fn without_out_every_run_has_a_separate_folder() {
    let place = Workplace::with_data();
    for _ in 0..3 {
        train(&place, &[]);
    }
    let mut names: Vec<String> = std::fs::read_dir(place.path("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 3);
    for name in names {
        let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert!(shape.starts_with("0000-00-00T00-00-00Z"), "{name}");
        assert!(place.path("runs").join(name).join("model.safetensors").is_file());
    }
}

#[test]
fn the_summary_names_the_model_file() {
    let place = Workplace::with_data();
    let objects = place.train(&ARGUMENTS[..6]);
    let path = objects.last().unwrap()["model"].as_str().unwrap();
    assert!(path.starts_with("runs") && place.path(path).is_file(), "{path}");
}

#[test]
fn it_is_there_when_the_line_of_its_epoch_is_and_changes_with_later_ones() {
    let place = Workplace::with_data();
    let arguments = [
        "train",
        "--data",
        "data",
        "--device",
        "cpu",
        "--epochs",
        "1000000",
        "--format",
        "json",
        "--hidden",
        "2000",
        "--out",
        "m.safetensors",
    ];
    let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("\"start\""));
    let mut models = Vec::new();
    // The file is rewritten after a second.
    for epoch in 1..=1_000_000 {
        assert!(lines.next().unwrap().contains(&format!("\"epoch\":{epoch},")));
        models.push(std::fs::read(place.path("m.safetensors")).unwrap());
        models.dedup();
        if models.len() == 2 {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(models.len(), 2, "saved once only");
    SafeTensors::deserialize(&std::fs::read(place.path("m.safetensors")).unwrap())
        .expect("a killed run leaves a whole model");
}

#[test]
fn a_fault_in_a_later_epoch_leaves_the_model_before() {
    let place = Workplace::with_data();
    // One step per epoch: after the first the weights are large, after the second or third they are not
    // finite.
    let steps =
        ["--data", "data", "--device", "cpu", "--batch-size", "400", "--lr", "1e6", "--out", "m.safetensors"];
    let outcome = place.run(&[&["train"], &steps[..]].concat());
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (3, 1), "{}", outcome.stderr);
    let parts = ["error: the ", "learning rate 1000000.0", "--lr", "; the model after epoch "];
    assert!(parts.iter().all(|part| outcome.stderr.contains(part)), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with(" is kept at m.safetensors\n"), "{}", outcome.stderr);
    SafeTensors::deserialize(&std::fs::read(place.path("m.safetensors")).unwrap()).unwrap();
}
