//! Predicting: rows a second of `tinytrain predict` on tables and small networks, from process start to the last byte, beside
//! what reading the same table takes alone; and of the library on rows in memory, many and one.
//!
//! `cargo bench --bench predicting`. A device may be named by TINYTRAIN_DEVICE; without it the processor predicts.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ndarray::Array2;
use tinytrain::data::{Features, ReadOptions, Reader, Selection, Target};
use tinytrain::model::Model;
use tinytrain::train::{Config, Predictor};
use tinytrain::trainer::Trainer;
use tinytrain::{Device, DeviceRequest, Preset, TrainSettings};

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

/// Rows in memory, 20 numbers each, through a network of 300 and 100 units to 10 classes, on the processor.
fn in_memory() {
    let columns = 20;
    let numbers = |rows: usize| -> Vec<f32> {
        (0..rows * columns).map(|place| (place * 7919 % 1009) as f32 / 1009.0).collect()
    };
    let x = Array2::from_shape_fn((500, columns), |(row, column)| ((row * 31 + column * 17) % 101) as f32);
    let y: Vec<u32> = (0..500).map(|row| row % 10).collect();
    let settings = TrainSettings { epochs: Some(1), preset: Some(Preset::Plain), ..TrainSettings::default() };
    let model =
        Trainer::new(settings).device(DeviceRequest::Cpu).fit(&x, &y).expect("these rows can be learnt");
    let flop: usize = 2 * model.parameters.layers.iter().map(|layer| layer.weights.len()).sum::<usize>();
    for threads in [Some(1), None] {
        let mut predictor = Predictor::new(&model, &Device::Cpu, threads).expect("the processor is there");
        let mut many = Vec::new();
        for _ in 0..TURNS {
            let rows = Features::Floats(numbers(ROWS));
            many.push(timed(|| drop(black_box(predictor.predict(rows, &[]).expect("they are finite")))));
        }
        let one = (0..20_001).map(|_| {
            let row = Features::Floats(numbers(1));
            timed(|| drop(black_box(predictor.predict(row, &[]).expect("it is finite"))))
        });
        let one = middle(one.collect()) * 1e6;
        let seconds = middle(many);
        let network = Config::default();
        let engine = Device::Cpu.engine(
            &model.parameters,
            &model.network,
            &network.engine_options(network.batch_size),
        );
        let ceilings =
            engine.and_then(|mut engine| engine.ceilings()).expect("the processor can be measured");
        let least = ceilings.least_seconds((4 * ROWS * columns) as u64, (flop * ROWS) as u64);
        let threads = threads.map_or("all threads".to_owned(), |threads| format!("{threads} thread"));
        println!(
            "in memory, 20-300-100-10, {threads}: {:.2} million rows a second, {:.0} GFLOP/s, {:.2} of what all threads can do at most; one row {one:.1} us",
            ROWS as f64 / seconds / 1e6,
            (flop * ROWS) as f64 / seconds / 1e9,
            least / seconds,
        );
    }
}

fn main() {
    in_memory();
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
        let common =
            ["train", "--data", &train, "--preset", "plain", "--hidden", hidden, "--epochs", "2", "--quiet"];
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
