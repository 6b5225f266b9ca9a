//! Images in the forms in which data sets come: transposed, with names of classes, in arrays, and in folders to predict.

use serde_json::json;

use crate::npz::{npy, npz};
use crate::program::{Outcome, Rows, SIDE, Workplace, idx};

const TRAIN: [&str; 9] =
    ["train", "--device", "cpu", "--hidden", "6", "--epochs", "2", "--out", "m.safetensors"];
const NAMES: [&str; 4] = ["north west", "north east", "south west", "south east"];

fn transposed(mut rows: Rows) -> Rows {
    for pixels in &mut rows.pixels {
        let upright = *pixels;
        *pixels = std::array::from_fn(|place| upright[place % SIDE * SIDE + place / SIDE]);
    }
    rows
}

/// Trains with these options, and returns the model's predictions for a file, without the file's name.
#[track_caller]
fn predictions(place: &Workplace, train: &[&str], file: &str) -> String {
    place.succeed(&[&TRAIN[..], train].concat());
    place.succeed(&["predict", "--model", "m.safetensors", "--device", "cpu", file]).stdout
}

#[test]
fn transposed_images_train_like_upright_ones() {
    let place = Workplace::with_data();
    let [train, test] = [(400, 1), (200, 2)].map(|(count, seed)| transposed(Rows::new(count, seed)));
    place.write_idx("emnist-x-train", &train);
    place.write_idx("emnist-x-test", &test);
    let upright = predictions(&place, &["--data", "data"], "data/t10k-images-idx3-ubyte");
    let tensors = place.model("m.safetensors").tensors;
    let images = ["emnist-x-train-images-idx3-ubyte", "emnist-x-test-images-idx3-ubyte"];
    let data = ["--data", images[0], "--test", images[1]];
    let raw = predictions(&place, &[&data[..], &["--transpose"]].concat(), images[1]);
    assert!(raw == upright && place.model("m.safetensors").tensors == tensors);
    assert_eq!(place.model("m.safetensors").at("/data/transposed"), true);
    let accuracy = |data: &str| {
        let eval =
            ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json", "--data", data];
        place.succeed(&eval).objects()[0]["accuracy"].as_f64().unwrap()
    };
    assert!(accuracy(images[1]) > accuracy("data/t10k-images-idx3-ubyte") + 0.2);
    // A resumed run reads them alike.
    place.succeed(&[&TRAIN[..7], &["--out", "r", "--transpose"], &data].concat());
    place.succeed(&["train", "--resume", "r", "--epochs", "3", "--quiet"]);
    place.succeed(&[&TRAIN[..5], &["--epochs", "3", "--data", "data", "--out", "m.safetensors"]].concat());
    assert!(place.model("r").tensors == place.model("m.safetensors").tensors);
    let hint = "EMNIST stores images with rows and columns swapped; use --transpose to swap them";
    let has_hint = |outcome: Outcome| outcome.stderr.lines().any(|line| line == hint);
    for command in [&["inspect", images[0]][..], &[&TRAIN[..], &data].concat()] {
        assert!(has_hint(place.succeed(command)), "{command:?}");
        assert!(!has_hint(place.succeed(&[command, &["--transpose"]].concat())), "{command:?}");
    }
    assert!(!has_hint(place.succeed(&["inspect", "data"])));
}

#[test]
fn transposed_tables_train_like_upright_ones() {
    let place = Workplace::new();
    let rows = transposed(Rows::new(300, 1));
    let names = rows.csv();
    let without_names = names.split_once('\n').unwrap().1;
    place.write("upright.csv", Rows::new(300, 1).csv());
    place.write("t.csv", &names);
    place.write("n.csv", without_names);
    let pixels = |line: &str| line.split_once(',').unwrap().1.to_owned() + "\n";
    place.write("pixels.csv", without_names.lines().map(pixels).collect::<String>());
    let upright = predictions(&place, &["--data", "upright.csv"], "upright.csv");
    assert!(predictions(&place, &["--data", "t.csv", "--transpose"], "t.csv") == upright);
    let names = place.model("m.safetensors").columns();
    assert!(names.starts_with("[\"p0\",\"p8\",\"p16\""), "{names}");
    let nameless = ["--data", "n.csv", "--header", "no", "--target", "0", "--transpose"];
    assert!(predictions(&place, &nameless, "pixels.csv") == upright);
    let outcome =
        place.run(&[&TRAIN[..], &["--data", "upright.csv", "--exclude", "p0", "--transpose"]].concat());
    let line = "error: --transpose: expected images of n x n pixels, found 63 input columns";
    assert_eq!((outcome.code, outcome.error()), (2, line));
    place.write("points.csv", crate::program::Points::new(60, 1).csv(["a", "b", "c"]));
    let outcome = place.run(&[&TRAIN[..], &["--data", "points.csv", "--transpose"]].concat());
    assert!(
        outcome.code == 2 && outcome.error().contains("--transpose: expected images"),
        "{}",
        outcome.error()
    );
}

#[test]
fn many_whole_numbers_are_classes_of_images() {
    let place = Workplace::new();
    let numbered = Rows::new(400, 1).csv().lines().enumerate().fold(String::new(), |text, (row, line)| {
        let (label, pixels) = line.split_once(',').unwrap();
        let label =
            label.parse().map_or("kind".to_owned(), |label: usize| (10 * label + row % 10).to_string());
        text + &format!("{label},{pixels}\n")
    });
    place.write("t.csv", numbered);
    let train = [&TRAIN[..], &["--data", "t.csv", "--target", "kind", "--format", "json"]].concat();
    let classes: Vec<String> = (0..40).map(|class| class.to_string()).collect();
    assert_eq!(place.succeed(&train).objects()[0]["classes"], json!(classes));
}

#[test]
fn models_of_idx_files_predict_tables_of_pixels() {
    let place = Workplace::with_data();
    let expected = predictions(&place, &["--data", "data"], "data/t10k-images-idx3-ubyte");
    let labelled = Rows::new(200, 2).csv();
    let pixels = labelled.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned() + "\n");
    place.write("pixels.csv", pixels.collect::<String>());
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu", "pixels.csv"];
    assert_eq!(place.succeed(&predict).stdout, expected);
    assert_eq!(expected.lines().count(), 201);
}

#[test]
fn names_of_classes_are_in_models_and_results() {
    let place = Workplace::with_data();
    let list = NAMES.join(",");
    place.write("names.txt", NAMES.join("\n"));
    place.write("mapping.txt", "0 65\n1 66\n2 97\n3 48\n");
    for (names, expected) in [(&list[..], NAMES), ("names.txt", NAMES), ("mapping.txt", ["A", "B", "a", "0"])]
    {
        let classes = &[&TRAIN[..], &["--data", "data", "--format", "json", "--class-names", names]].concat();
        assert_eq!(place.succeed(classes).objects()[0]["classes"], json!(expected));
        let model = place.model("m.safetensors");
        assert_eq!(model.at("/data/classes/names"), &json!(expected));
        assert_eq!(model.at("/data/classes/labels"), &json!(["0", "1", "2", "3"]));
    }
    place.succeed(&[&TRAIN[..], &["--data", "data", "--class-names", &list]].concat());
    let common = ["--model", "m.safetensors", "--device", "cpu"];
    // Labels of other files are numbers, or the names.
    let eval = |data: &str| {
        let outcome = place.succeed(&[&["eval", "--format", "json", "--data", data][..], &common].concat());
        outcome.objects().remove(0)
    };
    let tested = eval("data");
    assert_eq!(tested["classes"], json!(NAMES));
    let named: String = Rows::new(200, 2).csv().lines().fold(String::new(), |text, line| {
        let (label, pixels) = line.split_once(',').unwrap();
        let label = label.parse().map_or(label, |label: usize| NAMES[label]);
        text + &format!("{label},{pixels}\n")
    });
    place.write("named.csv", named);
    let by_name = eval("named.csv");
    assert_eq!((&by_name["accuracy"], &by_name["loss"]), (&tested["accuracy"], &tested["loss"]));
    let predicted =
        place.succeed(&[&["predict", "data/t10k-images-idx3-ubyte"][..], &common].concat()).stdout;
    let header = predicted.lines().next().unwrap();
    assert!(NAMES.iter().all(|name| header.contains(name)), "{header}");
    assert!(predicted.lines().skip(1).all(|line| NAMES.contains(&line.split(',').next().unwrap())));
    assert!(place.succeed(&[&["eval"][..], &common].concat()).stdout.contains("south west"));
    // Held-out rows of the training file are found again.
    let out = ["--data", "data", "--test-fraction", "0.25", "--class-names", &list, "--out", "r"];
    place.succeed(&[&TRAIN[..7], &out].concat());
    let held_out = place.succeed(&["eval", "--model", "r", "--device", "cpu", "--format", "json"]).objects();
    assert_eq!((&held_out[0]["samples"], &held_out[0]["classes"]), (&json!(101), &json!(NAMES)));
    place.succeed(&["report", "r"]);
    assert!(std::fs::read_to_string(place.path("report.html")).unwrap().contains("south west"));
}

#[test]
fn names_of_classes_that_do_not_fit_are_refused() {
    let place = Workplace::with_data();
    for (more, line) in [
        (
            &["--data", "data", "--class-names", "a,b"][..],
            "error: data/train-labels-idx1-ubyte, row 1: expected the 2 names of labels 0 to 1 (--class-names), found label \"2\"",
        ),
        (
            &["--data", "data", "--class-names", "absent"],
            "error: --class-names: expected a file of names, or names separated by commas, found \"absent\"",
        ),
        (
            &["--data", "data", "--class-names", "a,b", "--task", "regression"],
            "error: --class-names: expected classes, found values to predict (--task regression)",
        ),
    ] {
        let outcome = place.run(&[&TRAIN[..], more].concat());
        assert_eq!((outcome.code, outcome.error()), (2, line));
    }
}

/// Returns arrays of images of 8 x 12 pixels with this number of values each, made of the images of `Rows`.
fn arrays(channels: usize) -> Vec<u8> {
    let rows = Rows::new(300, 1);
    let line = |line: &[u8]| {
        [line, &line[..4]].concat().into_iter().flat_map(|value| vec![value; channels]).collect()
    };
    let values: Vec<u8> = rows
        .pixels
        .iter()
        .flat_map(|pixels| pixels.chunks(SIDE).map(line).collect::<Vec<Vec<u8>>>())
        .flatten()
        .collect();
    let shape = if channels == 1 { "(300, 8, 12)".to_owned() } else { format!("(300, 8, 12, {channels})") };
    let labels: Vec<u8> = rows.classes.iter().flat_map(|class| i64::from(*class).to_le_bytes()).collect();
    npz(&[("X", npy("|u1", "False", &shape, &values)), ("y", npy("<i8", "False", "(300,)", &labels))], false)
}

#[test]
fn arrays_of_images_need_not_be_square() {
    let place = Workplace::new();
    place.write("grey.npz", arrays(1));
    place.write("colour.npz", arrays(3));
    place.write("other.npz", arrays(2));
    for (data, more, form) in [
        ("grey.npz", &[][..], json!({ "height": 8, "width": 12, "colour": false })),
        ("colour.npz", &[], json!({ "height": 8, "width": 12, "colour": true })),
        ("colour.npz", &["--transpose"], json!({ "height": 12, "width": 8, "colour": true })),
    ] {
        let distorted = ["--augment", "shift=1", "--class-names", "a,b,c,d", "--data", data];
        place.succeed(&[&TRAIN[..], &distorted, more].concat());
        let model = place.model("m.safetensors");
        assert_eq!((model.at("/data/image"), model.at("/transform")), (&form, &json!("bytes")), "{data}");
        let eval =
            ["eval", "--model", "m.safetensors", "--device", "cpu", "--format", "json", "--data", data];
        let evaluated = place.succeed(&eval).objects().remove(0);
        assert_eq!(
            (&evaluated["samples"], &evaluated["classes"]),
            (&json!(300), &json!(["a", "b", "c", "d"]))
        );
        assert!(evaluated["accuracy"].as_f64().unwrap() > 0.4, "{evaluated}");
    }
    assert!(place.succeed(&["inspect", "grey.npz"]).stdout.starts_with("300 rows, images of 8 x 12\n"));
    let other = place.succeed(&["inspect", "other.npz"]).stdout;
    assert!(other.starts_with("300 rows, 192 input columns\n"), "{other}");
}

fn png(place: &Workplace, name: &str, pixels: &[u8; SIDE * SIDE]) {
    let mut bytes = Vec::new();
    let encoder = png::Encoder::new(&mut bytes, SIDE as u32, SIDE as u32);
    let mut encoder = encoder;
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    place.write(name, bytes);
}

#[test]
fn folders_of_images_are_predicted_in_the_order_of_their_names() {
    let place = Workplace::with_data();
    let rows = Rows::new(200, 2);
    let names = ["new/b.png", "new/b/2.png", "new/b/1.PNG", "new/a/9.png"];
    for (name, pixels) in names.iter().zip(&rows.pixels) {
        png(&place, name, pixels);
    }
    place.write("new/notes.txt", "not an image");
    let raw = predictions(&place, &["--data", "data"], "data/t10k-images-idx3-ubyte");
    let predict = ["predict", "--model", "m.safetensors", "--device", "cpu", "--strict"];
    let outcome = place.succeed(&[&predict[..], &["new"]].concat());
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], format!("file,{}", raw.lines().next().unwrap()));
    let order = [3, 2, 1, 0];
    assert_eq!(lines.len(), 1 + order.len());
    for (line, number) in lines[1..].iter().zip(order) {
        assert_eq!(**line, format!("{},{}", names[number], raw.lines().nth(1 + number).unwrap()));
    }
    assert!(
        place
            .succeed(&[&predict[..], &["new/b"]].concat())
            .stdout
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("new/b/1.PNG,")
    );
    place.write("none/notes.txt", "not an image");
    let outcome = place.run(&[&predict[..], &["none"]].concat());
    let line = "error: none: expected PNG or JPEG images, in it or in its folders, found none; name other files, not their folder";
    assert_eq!((outcome.code, outcome.error()), (2, line));
    let outcome = place.run(&[&predict[..], &["new", "--out", "new/b.png"]].concat());
    assert!(outcome.code == 2 && outcome.error().contains("which holds the data"), "{}", outcome.error());
}

#[test]
fn images_are_drawn_with_colours_only() {
    let place = Workplace::with_data();
    let plain = place.succeed(&["inspect", "data"]).stdout;
    assert!(plain.starts_with("400 rows, images of 8 x 8\n") && !plain.contains(['▀', '\u{1b}']), "{plain}");
    let drawn = place.succeed(&["--color", "always", "inspect", "data"]).stdout;
    let (text, images) = drawn.split_once("\nmean of all images, and 17 images:\n").unwrap();
    assert_eq!(text, plain);
    // Two lines of nine images, each of four lines, and blank lines.
    assert_eq!(images.lines().map(|line| line.matches('▀').count()).sum::<usize>(), 18 * 8 * 4);
    assert_eq!(images.lines().count(), 10);
    assert!(images.lines().all(|line| line.is_empty() || line.ends_with("\u{1b}[0m")));
    let json = place.succeed(&["--color", "always", "inspect", "data", "--format", "json"]).stdout;
    assert!(!json.contains('\u{1b}'), "{json}");
    place.write(
        "c-images-idx3-ubyte",
        idx(&[4, 8, 9, 3], &(0..4 * 216).map(|value| value as u8).collect::<Vec<u8>>()),
    );
    place.write("c-labels-idx1-ubyte", idx(&[4], &[0, 1, 1, 0]));
    let json = place.succeed(&["inspect", "c-images-idx3-ubyte", "--format", "json"]).objects();
    assert_eq!(json[0]["image"], json!([8, 9, 3]));
    assert_eq!(json[0]["classes"], json!([{ "name": "0", "rows": 2 }, { "name": "1", "rows": 2 }]));
}
