//! Model files.

use crate::check::refused;
use crate::program::{Rows, Workplace, idx};

const EVAL: [&str; 7] = ["eval", "--device", "cpu", "--data", "data", "--model", "m.safetensors"];

fn with_model() -> (Workplace, Vec<u8>) {
    let place = Workplace::with_data();
    place.train(&["--data", "data", "--epochs", "1", "--out", "m.safetensors", "--device", "cpu"]);
    let bytes = std::fs::read(place.path("m.safetensors")).unwrap();
    (place, bytes)
}

#[test]
fn invalid_model_files() {
    let (place, whole) = with_model();
    refused(&place, &[&EVAL[..6], &["missing"]].concat(), &["cannot read missing"]);
    refused(&place, &[&EVAL[..6], &["data"]].concat(), &["cannot read data"]);
    refused(&place, &[&EVAL[..6], &["data/train-images-idx3-ubyte"]].concat(), &["expected a whole model"]);
    place.write("m.safetensors", "");
    refused(&place, &EVAL, &["m.safetensors: expected a model", "an empty file"]);
    for length in [1, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        place.write("m.safetensors", &whole[..length]);
        refused(&place, &EVAL, &["error: m.safetensors: expected a whole model"]);
    }
    place.write("m.safetensors", [&whole[..], b"more"].concat());
    refused(&place, &EVAL, &["error: m.safetensors: expected a whole model"]);
}

#[test]
fn headers_that_lie() {
    let (place, whole) = with_model();
    let text = String::from_utf8_lossy(&whole).into_owned();
    for (from, to, part) in [
        ("\"data_offsets\":[0,", "\"data_offsets\":[4,", "expected a whole model"),
        (r#"\"units\":12"#, r#"\"units\":13"#, "expected w1 of f32"),
        (r#"\"units\":12"#, r#"\"units\":-2"#, "expected usize"),
        (r#"\"activation\":\"relu\""#, r#"\"activation\":\"rely\""#, "sigmoid or identity, found \"rely\""),
        (r#"\"transform\":\"bytes\""#, r#"\"transform\":\"bites\""#, "unknown variant `bites`"),
    ] {
        assert!(text.contains(from), "{from}");
        let at = whole.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut lying = whole.clone();
        lying[at..at + from.len()].copy_from_slice(to.as_bytes());
        place.write("m.safetensors", lying);
        refused(&place, &EVAL, &["error: m.safetensors: expected ", part]);
    }
    // The first of two entries has other data; a parser may use it.
    let length = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(whole[8..8 + length].to_vec()).unwrap();
    let again = r#"{"w1":{"dtype":"F32","shape":[64,12],"data_offsets":[0,3072]},"#;
    let mut text = header.trim_end().replacen('{', again, 1);
    text += &" ".repeat(text.len().next_multiple_of(8) - text.len());
    let twice = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &whole[8 + length..]].concat();
    place.write("m.safetensors", twice);
    refused(&place, &EVAL, &["error: m.safetensors: expected each tensor once, found w1 twice"]);
    let mut long = whole.clone();
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    place.write("m.safetensors", long);
    refused(&place, &EVAL, &["error: m.safetensors: expected a whole model"]);
    let mut infinite = whole;
    let last = infinite.len() - 4;
    infinite[last..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    place.write("m.safetensors", infinite);
    refused(&place, &EVAL, &["error: m.safetensors: expected finite weights"]);
}

#[test]
fn data_that_do_not_fit_the_model() {
    let (place, _) = with_model();
    place.write("narrow.csv", "0,1,2\n1,2,3\n");
    let eval =
        |data| ["eval", "--device", "cpu", "--model", "m.safetensors", "--target", "0", "--data", data];
    refused(&place, &eval("narrow.csv"), &["narrow.csv", "expected 64 inputs per row", "found 2"]);
    let mut rows = Rows::new(20, 1);
    rows.classes[7] = 200;
    place.write_idx("more/t10k", &rows);
    refused(
        &place,
        &eval("more"),
        &["t10k-labels", "row 8", "labels of the training data (0, 1, 2, 3)", "found label \"200\""],
    );
    place.write("more/t10k-images-idx3-ubyte", idx(&[20, 8, 8], &[0; 20]));
    refused(&place, &eval("more"), &["t10k-images", "expected "]);
    refused(&place, &eval("missing"), &["cannot read missing"]);
}

#[test]
fn numbers_that_no_table_gives() {
    let place = Workplace::new();
    place.write(
        "t.csv",
        "a,b,y\n".to_owned()
            + &(0..60).map(|row| format!("{}.5,{},{}.25\n", row % 7, row % 5, row % 9)).collect::<String>(),
    );
    let train = ["train", "--data", "t.csv", "--target", "y", "--preset", "plain", "--epochs", "1"];
    let train = [&train[..], &["--device", "cpu", "--out", "m.safetensors"]].concat();
    place.succeed(&train);
    let eval = ["eval", "--device", "cpu", "--data", "t.csv", "--model", "m.safetensors"];
    let (target, number) = ("/data/target_scale", "/transform/columns/columns/0/number");
    for (entry, number, named) in [
        (format!("{number}/map/affine/width"), 1e308, "the range of 32-bit floats"),
        (format!("{number}/map/affine/width"), 1e-320, "the range of 32-bit floats"),
        (format!("{number}/map/affine/center"), -1e308, "the range of 32-bit floats"),
        (format!("{number}/fill"), 1e300, "the range of 32-bit floats"),
        (format!("{target}/width/0"), 1e300, "target_scale"),
        (format!("{target}/center/0"), 1e308, "target_scale"),
        (format!("{target}/width/0"), 1e-320, "target_scale"),
    ] {
        place.succeed(&train);
        let mut model = place.model("m.safetensors");
        *model.metadata.pointer_mut(&entry).unwrap() = number.into();
        place.write("m.safetensors", model.bytes());
        refused(&place, &eval, &[named]);
    }
}
