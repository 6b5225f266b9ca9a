//! Training on distorted images, and prediction from distorted copies.

use ndarray::Array2;
use serde_json::Value;
use tinytrain::reference::ops;
use tinytrain::step::ImageSize;

use crate::program::{Rows, Workplace};

const OPTIONS: [&str; 10] = [
    "train",
    "--device",
    "cpu",
    "--data",
    "data",
    "--hidden",
    "16",
    "--augment",
    "rotate=20,zoom=0.1,shift=1,elastic=8:2",
    "--quiet",
];

fn train(place: &Workplace, more: &[&str]) {
    place.succeed(&[&OPTIONS[..], more].concat());
}

/// Interrupted between epochs; one thread and several.
#[test]
fn a_resumed_run_draws_the_same_distortions() {
    let place = Workplace::with_data();
    train(&place, &["--epochs", "4", "--out", "whole"]);
    train(&place, &["--epochs", "2", "--out", "run", "--threads", "1"]);
    place.succeed(&["train", "--resume", "run", "--epochs", "4", "--quiet"]);
    let [whole, run] = ["whole", "run"].map(|run| place.model(&format!("{run}/model.safetensors")));
    assert!(whole.tensors == run.tensors);
    assert_eq!(whole.setting("augment"), "rotate=20,zoom=0.1,shift=1,elastic=8:2");
    place.succeed(&[
        "train", "--data", "data", "--hidden", "16", "--epochs", "4", "--out", "plain", "--quiet",
    ]);
    assert!(place.model("plain/model.safetensors").tensors != run.tensors);
}

/// The mean of copies differs from the prediction of the image, and does not depend on the number of threads.
#[test]
fn copies_of_images_are_predicted_together() {
    let place = Workplace::with_data();
    train(&place, &["--epochs", "3", "--out", "m.safetensors"]);
    let predict = |more: &[&str]| {
        let images = ["predict", "--model", "m.safetensors", "data/t10k-images-idx3-ubyte"];
        place.succeed(&[&images[..], more].concat()).stdout
    };
    let copies = predict(&["--augment-test", "5"]);
    assert_eq!(copies, predict(&["--augment-test", "5", "--threads", "1"]));
    assert!(copies != predict(&[]) && copies != predict(&["--augment-test", "4"]));
    let eval = |more: &[&str]| -> Value {
        let eval = ["eval", "--model", "m.safetensors", "--format", "json"];
        place.succeed(&[&eval[..], more].concat()).objects().remove(0)
    };
    // The same copies as in predictions: the log loss is the mean of the logarithms of their probabilities.
    let labels = Rows::new(200, 2).labels();
    let labels = &labels[labels.len() - 200..];
    let loss: f64 = copies
        .lines()
        .skip(1)
        .zip(labels)
        .map(|(line, label)| {
            let cell = line.split(',').nth(1 + usize::from(*label)).unwrap();
            -cell.parse::<f64>().unwrap().ln() / 200.0
        })
        .sum();
    let got = eval(&["--augment-test", "5"])["log_loss"].as_f64().unwrap();
    assert!((got - loss).abs() < 1e-3, "{got}, not {loss}");
    assert_ne!(eval(&[])["log_loss"].as_f64().unwrap(), got);
}

#[test]
fn what_has_no_distortions_is_refused() {
    let place = Workplace::with_data();
    let train =
        ["train", "--device", "cpu", "--data", "data", "--epochs", "1", "--quiet", "--out", "m.safetensors"];
    place.succeed(&train);
    let outcome = place.run(&["eval", "--model", "m.safetensors", "--augment-test", "2"]);
    let line =
        "error: --augment-test: expected a model trained on images with --augment, found another model";
    assert_eq!((outcome.code, outcome.error()), (2, line));
    for (more, line) in [
        (
            ["--augment", "digits", "--scale", "standard"],
            "--augment: expected images of bytes with --scale auto or bytes",
        ),
        (["--augment", "zoom=2", "--scale", "auto"], "a zoom from 0 to 0.9, found 2"),
        (
            ["--augment", "shift=1,shift=2", "--scale", "auto"],
            "expected each distortion once, found shift twice",
        ),
        (
            ["--augment", "cutout=8", "--scale", "auto"],
            "--augment: expected a cutout smaller than images of 8 x 8 pixels, found cutout=8",
        ),
    ] {
        let outcome = place.run(&[&train[..], &more].concat());
        assert!(outcome.code == 2 && outcome.error().contains(line), "{}", outcome.error());
    }
    place.write("t.csv", "a,b,class\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n");
    let outcome = place.run(&["train", "--data", "t.csv", "--augment", "digits", "--quiet"]);
    assert!(
        outcome.code == 2 && outcome.error().contains("--augment: expected images"),
        "{}",
        outcome.error()
    );
}

/// The first image as in the file, its copies as of the reference, and the border.
#[test]
fn a_picture_shows_images_and_their_copies() {
    let place = Workplace::with_data();
    let inspect = ["inspect", "data", "--picture", "sheet.png"];
    place.succeed(&[&inspect[..], &["--augment", "rotate=20,elastic=8:2", "--seed", "5"]].concat());
    let (pixels, [width, height]) = decoded(&place, "sheet.png");
    assert_eq!([width, height], [90, 90]);
    let images = Rows::new(400, 1).pixels;
    let values = Array2::from_shape_fn((1, 64), |(_, value)| f64::from(images[0][value]));
    let augment = "rotate=20,elastic=8:2".parse().unwrap();
    let size = ImageSize { height: 8, width: 8, channels: 1 };
    for copy in 0..10 {
        let copied = ops::augment(values.view(), &augment, size, 5, copy, &[0]);
        for (value, want) in if copy == 0 { values.iter() } else { copied.iter() }.enumerate() {
            let got = pixels[value / 8 * width + 9 * copy as usize + value % 8];
            assert!((f64::from(got) - want).abs() < 0.51, "copy {copy}, value {value}: {got}, not {want}");
        }
    }
    assert!((0..height).all(|line| pixels[line * width + 8] == 128));
    // Without distortions: every fourth image.
    place.succeed(&inspect);
    let (pixels, [width, _]) = decoded(&place, "sheet.png");
    assert_eq!(pixels[9 * width + 18..9 * width + 26], images[4 * 12][..8]);
    place.write("t.csv", "a,b,class\n1,2,x\n3,4,y\n5,6,x\n");
    let outcome = place.run(&["inspect", "t.csv", "--picture", "t.png"]);
    assert_eq!(outcome.error(), "error: --picture: expected images, found other rows");
    let outcome = place.run(&["inspect", "--model", "m.safetensors", "--picture", "t.png"]);
    assert!(outcome.code == 2 && outcome.error().contains("cannot be used with"), "{}", outcome.error());
    assert!(!place.path("t.png").exists());
}

fn decoded(place: &Workplace, name: &str) -> (Vec<u8>, [usize; 2]) {
    let file = std::io::BufReader::new(std::fs::File::open(place.path(name)).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (pixels, [info.width as usize, info.height as usize])
}
