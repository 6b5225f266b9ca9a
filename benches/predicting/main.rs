//! Predicting: rows a second of `tinytrain predict` on tables and small networks, from process start to the last byte, beside
//! what reading the same table takes alone.
//!
//! `cargo bench --bench predicting`. A device may be named by TINYTRAIN_DEVICE; without it the processor predicts.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tinytrain::data::{ReadOptions, Reader, Selection, Target};
use tinytrain::model::Model;

/// Rows of the tables.
const ROWS: usize = 1_000_000;

/// Runs of each, taken in turn.
const TURNS: usize = 5;

/// A table of numbers from 0 to 10 with one digit behind the point, and labels or values that depend on them.
fn table(rows: usize, columns: usize, target: Option<&dyn Fn(f64) -> String>) -> String {
    let mut state = 7u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100
    };
    let mut text: String = (0..columns).map(|column| format!("c{column},")).collect();
    if target.is_none() {
        text.pop();
    }
    text += if target.is_some() { "target\n" } else { "\n" };
    for _ in 0..rows {
        let mut sum = 0.0;
        for column in 0..columns {
            let tenths = number();
            sum += tenths as f64 / 10.0;
            let separator = if column > 0 { "," } else { "" };
            // Writing into memory does not fail.
            let _ = write!(text, "{separator}{}.{}", tenths / 10, tenths % 10);
        }
        if let Some(target) = target {
            text += &(",".to_owned() + &target(sum / columns as f64));
        }
        text.push('\n');
    }
    text
}

fn program(arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinytrain"));
    let output = command.args(arguments).env("TINYTRAIN_CACHE", "").output().expect("the program was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    black_box(output.stdout);
}

fn timed(run: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Reads a table as `predict` does, and nothing else.
fn read(file: &Path, model: &Path) {
    let model = Model::load(model).expect("it was saved just now");
    let columns =
        Selection { target: Target::Absent, schema: model.data_schema.schema, ..Selection::default() };
    let options = ReadOptions { columns, ..ReadOptions::default() };
    let mut reader = Reader::open_unlabelled(file, &options).expect("the table can be read");
    let mut rows = 0;
    while reader.next_block().expect("the table can be read") {
        rows += black_box(reader.take_block()).features.len() / reader.inputs();
    }
    assert_eq!(rows, ROWS);
}

fn main() {
    let device = std::env::var("TINYTRAIN_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let classes = |mean: f64| ["low", "middle", "high"][((mean - 3.5).max(0.0) as usize).min(2)].to_owned();
    let values = |mean: f64| format!("{:.3}", mean * 7.5);
    for (name, columns, hidden, target) in [
        ("3 classes, 4-32-16-3", 4, "32,16", &classes as &dyn Fn(f64) -> String),
        ("a value, 16-64-1", 16, "64", &values),
    ] {
        let (train, new, model, out) =
            (path("train.csv"), path("new.csv"), path("model.safetensors"), path("out"));
        std::fs::write(&train, table(2_000, columns, Some(target))).expect("there is room for a table");
        std::fs::write(&new, table(ROWS, columns, None)).expect("there is room for a table");
        let common = ["train", "--data", &train, "--hidden", hidden, "--epochs", "2", "--quiet"];
        program(&[&common[..], &["--device", "cpu", "--out", &model]].concat());
        let predict = ["predict", "--model", &model, &new, "--device", &device, "--out", &out];
        let (mut csv, mut json, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            csv.push(timed(|| program(&predict)));
            json.push(timed(|| program(&[&predict[..], &["--format", "json"]].concat())));
            alone.push(timed(|| read(Path::new(&new), Path::new(&model))));
        }
        let [csv, json, alone] = [csv, json, alone].map(|times| ROWS as f64 / middle(times) / 1e6);
        println!(
            "{name}: {csv:.2} million rows a second as CSV, {json:.2} as JSON; reading alone {alone:.2} (medians of {TURNS} turns)"
        );
    }
}
