//! Images in folders, one for each class.

use crate::jpegs::{BLUE, RED, bytes};
use crate::program::{Rows, Workplace, noise};

/// Returns a colour image of this size, mostly of the channel of its class.
fn image(width: u32, height: u32, class: usize, noise: &mut impl FnMut() -> f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut value = |channel: usize| (noise() * 80.0) as u8 + if channel == class { 170 } else { 0 };
    let pixels: Vec<u8> = (0..(width * height * 3) as usize).map(|index| value(index % 3)).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// Returns a folder with folders `train` and `test` of this number of images in each of three colours, of
/// different sizes.
fn place() -> Workplace {
    let (place, mut noise) = (Workplace::new(), noise(5));
    for (folder, count) in [("train", 40), ("test", 20)] {
        for (class, name) in ["red", "green", "blue"].into_iter().enumerate() {
            for number in 0..count {
                let (width, height) = if number == 0 { (6, 4) } else { (8, 12) };
                let bytes = image(width, height, class, &mut noise);
                place.write(&format!("{folder}/{name}/{number:03}.png"), bytes);
            }
        }
    }
    place.write("train/red/.hidden", "no image");
    place
}

const TRAIN: [&str; 12] = [
    "train",
    "--device",
    "cpu",
    "--data",
    "train",
    "--test",
    "test",
    "--hidden",
    "8",
    "--out",
    "m.safetensors",
    "--epochs",
];

#[test]
fn folders_of_images_train_and_their_names_are_the_classes() {
    let place = place();
    let outcome = place.succeed(&[&TRAIN[..], &["60", "--colour", "--format", "json"]].concat());
    let told = "images are converted to 4 x 6 pixels in colour, the size of the first; use --image-size or --colour to change that";
    assert!(outcome.stderr.lines().any(|line| line == told), "{}", outcome.stderr);
    let objects = outcome.objects();
    assert_eq!(objects[0]["classes"], serde_json::json!(["blue", "green", "red"]));
    assert_eq!((&objects[0]["rows"], &objects[0]["layers"][0]), (&120.into(), &72.into()));
    // Only colours distinguish the classes.
    assert_eq!(objects.last().unwrap()["test_accuracy"], 1.0);
    assert_eq!(
        place.model("m.safetensors").at("/data/image"),
        &serde_json::json!({ "height": 4, "width": 6, "colour": true })
    );
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    let evaluated = place.succeed(&eval).objects().remove(0);
    assert_eq!((&evaluated["samples"], &evaluated["accuracy"]), (&60.into(), &1.0.into()));
    let images = ["test/green/000.png", "test/red/001.png"];
    let predicted =
        place.succeed(&[&["predict", "--model", "m.safetensors", "--device", "cpu"], &images[..]].concat());
    let lines: Vec<&str> = predicted.stdout.lines().skip(1).collect();
    assert!(
        lines[0].starts_with("test/green/000.png,green,") && lines[1].starts_with("test/red/001.png,red,")
    );
    let expected = "warning: test/red/001.png has 12 x 8 pixels in colour; it is converted to 4 x 6 pixels in colour, the form of the model's images; use --strict to refuse such files";
    assert_eq!(predicted.error(), expected);
}

#[test]
fn training_and_prediction_convert_images_alike() {
    let place = place();
    let objects = place.succeed(&[&TRAIN[..], &["3", "--image-size", "5", "--format", "json"]].concat());
    let told = "images are converted to 5 x 5 pixels in grey; use --image-size or --colour to change that";
    assert!(objects.stderr.contains(told), "{}", objects.stderr);
    let objects = objects.objects();
    assert_eq!(objects[0]["layers"][0], 25);
    let converted = place.succeed(&["inspect", "train", "--image-size", "7x5"]).stdout;
    assert!(converted.starts_with("120 rows, images of 7 x 5\n"), "{converted}");
    // The loss of `eval`, which reads the folder, equals the loss of `predict`'s probabilities, which reads
    // the files.
    let loss = place
        .succeed(&[
            "eval",
            "--model",
            "m.safetensors",
            "--device",
            "cpu",
            "--format",
            "json",
            "--data",
            "test",
        ])
        .objects()[0]["loss"]
        .as_f64()
        .unwrap();
    let files: Vec<String> = ["blue", "green", "red"]
        .iter()
        .flat_map(|class| (0..20).map(move |number| format!("test/{class}/{number:03}.png")))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let table = place
        .succeed(&[&["predict", "--model", "m.safetensors", "--device", "cpu"], &files[..]].concat())
        .stdout;
    let sum: f64 = table
        .lines()
        .skip(1)
        .enumerate()
        .map(|(row, line)| line.split(',').nth(2 + row / 20).unwrap().parse::<f64>().unwrap().ln())
        .sum();
    assert!((loss + sum / 60.0).abs() < 1e-4, "{loss}, {sum}");
}

#[test]
fn rows_that_are_held_out_of_folders_are_found_again() {
    let place = place();
    let line = ["train", "--device", "cpu", "--data", "train", "--hidden", "8", "--epochs", "20", "--colour"];
    let more = ["--test-fraction", "0.25", "--out", "r", "--format", "json"];
    let summary = place.succeed(&[&line[..], &more].concat()).objects().pop().unwrap();
    let eval = ["eval", "--model", "r", "--device", "cpu", "--format", "json"];
    let evaluated = place.succeed(&eval).objects().remove(0);
    assert_eq!((&evaluated["samples"], &evaluated["accuracy"]), (&30.into(), &summary["test_accuracy"]));
    place.succeed(&["report", "r"]);
    place.succeed(&["train", "--resume", "r", "--epochs", "21", "--quiet"]);
}

#[test]
fn folders_of_a_data_set_are_its_parts() {
    let place = place();
    let mut noise = noise(6);
    for (class, name) in ["red", "green", "blue"].into_iter().enumerate() {
        for number in 0..10 {
            place.write(&format!("valid/{name}/{number}.png"), image(8, 12, class, &mut noise));
        }
    }
    let line = ["train", "--device", "cpu", "--hidden", "8", "--epochs", "6", "--colour", "--format", "json"];
    let trained = |data: &[&str]| {
        let outcome = place.succeed(&[&line[..], &["--out", "m.safetensors", "--data"], data].concat());
        let summary = outcome.objects().pop().unwrap();
        (place.model("m.safetensors").tensors, summary["test_accuracy"].clone())
    };
    let samples = || {
        let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
        place.succeed(&eval).objects()[0]["samples"].clone()
    };
    let expected = trained(&["train", "--validation", "valid", "--test", "test"]);
    assert!(trained(&["."]) == expected);
    assert_eq!(samples(), 60);
    // Options for the held-out rows replace the folders.
    assert!(trained(&["train", "--validation", ".", "--test", "."]) == expected);
    let fractions = ["--validation-fraction", "0.2", "--test-fraction", "0.25"];
    let divided = trained(&[&["train"], &fractions[..]].concat());
    assert!(trained(&[&["."], &fractions[..]].concat()) == divided && divided != expected);
    assert_eq!(samples(), 30);
    std::fs::remove_dir_all(place.path("test")).unwrap();
    trained(&["."]);
    assert_eq!(samples(), 30);
}

#[test]
fn jpeg_images_train_evaluate_and_are_predicted() {
    let place = Workplace::new();
    for (class, image) in [("red", RED), ("blue", BLUE)] {
        for number in 0..20 {
            place.write(&format!("train/{class}/{number}.{}", ["jpg", "JPEG"][number % 2]), bytes(image));
        }
    }
    // Both formats may be in one folder.
    place.write("train/red/a.png", image(8, 8, 0, &mut noise(1)));
    let train = ["train", "--device", "cpu", "--data", "train", "--colour", "--hidden", "4"];
    place.succeed(&[&train[..], &["--epochs", "30", "--out", "m.safetensors"]].concat());
    let eval = ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json"];
    let evaluated = place.succeed(&eval).objects().remove(0);
    assert_eq!((&evaluated["samples"], &evaluated["accuracy"]), (&41.into(), &1.0.into()));
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu", "--strict"];
    let lines = place.succeed(&[&predict[..], &["train/red/0.jpg", "train/blue/1.JPEG"]].concat()).stdout;
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[1].starts_with("train/red/0.jpg,red,") && lines[2].starts_with("train/blue/1.JPEG,blue,"));
    place.write("cut.jpg", &bytes(RED)[..200]);
    let outcome = place.run(&[&predict[..], &["cut.jpg"]].concat());
    let line = "error: cut.jpg: expected a whole JPEG image, found an early end";
    assert_eq!((outcome.code, outcome.error()), (2, line));
}

#[test]
fn invalid_images_are_named() {
    let place = place();
    let refused = |arguments: &[&str], expected: &str| {
        let outcome = place.run(&[&TRAIN[..], &["1", "--quiet"], arguments].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.error().contains(expected), "{}", outcome.stderr);
    };
    refused(&["--image-size", "0x3"], "expected height and width such as 32x48");
    refused(&["--categorical", "a"], "--categorical: expected a table, found images");
    place.write("test/violet/1.png", image(3, 3, 0, &mut noise(1)));
    refused(
        &[],
        "test, row 61: expected labels of the training data (blue, green, red), found label \"violet\"",
    );
    place.write("train/red/notes.txt", "no image");
    refused(&[], "train/red/notes.txt: expected a PNG or JPEG image, found a file that begins otherwise");
    std::fs::create_dir(place.path("train/empty")).unwrap();
    refused(&[], "train/empty: expected PNG or JPEG images of a class, found none");
    place.write("t.csv", "a,class\n1,x\n2,y\n");
    let outcome = place.run(&["train", "--data", "t.csv", "--device", "cpu", "--image-size", "4"]);
    let expected =
        "error: --image-size: expected PNG or JPEG images in folders, one for each class, found other data";
    assert_eq!((outcome.code, outcome.error()), (2, expected));
}

#[test]
fn folders_in_other_layouts_are_named_with_a_remedy() {
    let place = place();
    place.write_idx("tv/MNIST/raw/train", &Rows::new(60, 1));
    place.write_idx("emnist/emnist-letters-train", &Rows::new(60, 1));
    place.write_idx("emnist/emnist-digits-train", &Rows::new(60, 1));
    place.write("webp/cat/1.WEBP", b"RIFF");
    place.write("tables/a.csv", "a,b\n1,2\n");
    place.write("set/val/red/1.png", image(4, 4, 0, &mut noise(1)));
    place.write("set/valid/red/1.png", image(4, 4, 0, &mut noise(1)));
    place.write_idx("two/MNIST/raw/train", &Rows::new(60, 1));
    place.write_idx("two/FashionMNIST/raw/train", &Rows::new(60, 1));
    place.write("flat/1.png", image(4, 4, 0, &mut noise(1)));
    place.write("other/note.txt", "");
    for (folder, found) in [
        ("two", "data in two/FashionMNIST; use --data two/FashionMNIST"),
        ("emnist", "files with other names; use --data emnist/emnist-digits-train-images-idx3-ubyte"),
        (
            "webp",
            "images in other formats, such as webp/cat/1.WEBP; convert them to PNG, in one folder for each class",
        ),
        ("tables", "files with other names; use --data tables/a.csv"),
        ("set", "set/val and set/valid"),
        ("flat", "images, but no folder for each class"),
        ("other", "none of them, only note.txt"),
    ] {
        let outcome = place.run(&["train", "--data", folder]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.error().ends_with(&format!("found {found}")), "{}", outcome.stderr);
    }
    assert!(place.succeed(&["inspect", "tv"]).stdout.starts_with("60 rows"));
    place.succeed(&["inspect", "emnist/emnist-letters-train-images-idx3-ubyte"]);
    // Archives whose files are each in a folder of the same name.
    for kind in ["images-idx3", "labels-idx1"] {
        let bytes = std::fs::read(place.path(&format!("tv/MNIST/raw/train-{kind}-ubyte"))).unwrap();
        place.write(&format!("nested/train-{kind}-ubyte/train-{kind}-ubyte"), bytes);
    }
    assert!(place.succeed(&["inspect", "nested"]).stdout.starts_with("60 rows"));
}
