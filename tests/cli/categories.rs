//! Tables with text and missing values: training, evaluation and prediction.

use crate::program::Workplace;

/// Forty rows; `class` depends on the colour; the size is uninformative and has missing values.
fn table() -> String {
    let row = |row: usize| {
        let colour = ["red", "blue", "green", "NA"][row % 4];
        let size = if row.is_multiple_of(5) { String::new() } else { format!("{}.5", row % 3) };
        let answer = ["yes", "no"][row / 4 % 2];
        format!("{colour},{size},{answer},{}\n", ["warm", "cold", "cold", "warm"][row % 4])
    };
    "colour,size,answer,class\n".to_owned() + &(0..40).map(row).collect::<String>()
}

const TRAIN: [&str; 14] = [
    "train", "--preset", "plain", "--data", "t.csv", "--device", "cpu", "--hidden", "8", "--epochs", "40",
    "--lr", "0.3", "--out",
];

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("t.csv", table());
    place.succeed(&[&TRAIN[..], &["m.safetensors"]].concat());
    place
}

#[test]
fn category_encodings_are_stored_in_the_model() {
    let place = place();
    let model = place.model("m.safetensors");
    assert_eq!(model.sizes(), [7, 8, 2]);
    assert_eq!(
        ["0/category/categories/names", "0/category/has_missing", "1/number/has_indicator"]
            .map(|entry| model.at(&format!("/transform/columns/columns/{entry}")).to_string()),
        ["[\"blue\",\"green\",\"red\"]", "true", "true"]
    );
    let eval = place.succeed(&[
        "eval",
        "--model",
        "m.safetensors",
        "--data",
        "t.csv",
        "--device",
        "cpu",
        "--format",
        "json",
    ]);
    assert_eq!(eval.objects()[0]["accuracy"], 1.0);
}

#[test]
fn predictions_know_categories_and_missing_cells_in_any_order() {
    let place = place();
    let classes = |table: &str| -> (Vec<String>, String) {
        place.write("new.csv", table);
        let outcome = place.succeed(&["predict", "--model", "m.safetensors", "--device", "cpu", "new.csv"]);
        let class = |line: &str| line.split(',').next().unwrap().to_owned();
        (outcome.stdout.lines().skip(1).map(class).collect(), outcome.stderr)
    };
    let (found, warning) = classes("size,answer,colour\n1.5,no,red\n,yes,\n0.5,no,blue\n2.5,yes,green\n");
    assert_eq!((found, warning.as_str()), (["warm", "warm", "cold", "cold"].map(String::from).to_vec(), ""));
    // An unknown category in two cells, and a missing answer, which no training row has.
    let (found, warning) = classes("size,answer,colour\n1.5,no,pink\n1.5,no,pink\n1.5,,red\n");
    assert_eq!(found.len(), 3);
    assert!(warning.starts_with("warning: in the predicted rows, 2 cells hold an unknown category in column colour, treated as no category"), "{warning}");
    let missing = "warning: in the predicted rows, 1 cell misses a category in column answer, unlike all training rows; treated as no \
                   category";
    assert_eq!(warning.lines().skip(1).collect::<Vec<_>>(), [missing]);
}

#[test]
fn training_rows_and_test_rows_give_the_same_predictions_in_any_file() {
    let place = place();
    let probabilities = |file: &str| {
        place
            .succeed(&["predict", "--model", "m.safetensors", "--device", "cpu", "--format", "json", file])
            .stdout
    };
    // The same rows in another order, which numbers the categories differently.
    let text = table();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.reverse();
    place.write("reversed.csv", format!("{header}\n{}\n", lines.join("\n")));
    let mut reversed: Vec<String> = probabilities("reversed.csv").lines().map(String::from).collect();
    reversed.reverse();
    assert_eq!(probabilities("t.csv").lines().collect::<Vec<_>>(), reversed);
}

#[test]
fn held_out_rows_with_unknown_categories_are_counted() {
    let place = place();
    place.write("test.csv", table().replacen("red", "pink", 3));
    let outcome = place.succeed(&[&TRAIN[..], &["m2.safetensors", "--test", "test.csv"]].concat());
    let warnings: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.contains("in the test rows")).collect();
    assert_eq!(warnings.len(), 1, "{}", outcome.stderr);
    let expected = "warning: in the test rows, 3 cells hold an unknown category in column colour, treated as no category";
    assert_eq!(warnings[0], expected);
    let json = place
        .succeed(&[&TRAIN[..], &["m2.safetensors", "--test", "test.csv", "--format", "json"]].concat())
        .objects();
    let unknown: Vec<_> = json.iter().filter(|object| object["event"] == "unknown").collect();
    assert_eq!(unknown.len(), 1);
    assert_eq!((&unknown[0]["set"], &unknown[0]["cells"]), (&"test".into(), &3.into()));
}

#[test]
fn missing_values_of_images_are_refused() {
    let place = Workplace::new();
    let pixels = |row: usize| -> String {
        (0..64).map(|pixel| format!(",{}", (row * 37 + pixel * 11) % 256)).collect()
    };
    let rows: String = (0..40).map(|row| format!("{}{}\n", row % 2, pixels(row))).collect();
    place.write("t.csv", rows + "1" + &",".repeat(64) + "\n");
    let outcome = place.run(&["train", "--data", "t.csv", "--target", "0", "--device", "cpu"]);
    assert_eq!(outcome.code, 2);
    let expected = "error: t.csv, row 41, column 2: expected a value (";
    assert!(outcome.error().starts_with(expected), "{}", outcome.stderr);
}
