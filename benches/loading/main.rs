//! Reading: MNIST as gzipped IDX, and as a CSV table, and a table of numbers and text, beside what the `csv` crate alone
//! needs for the same bytes.
//!
//! `cargo bench --bench loading` ends with the ratio of the two, taken in turn. `-- --write FILE ROWS` writes that table of numbers and
//! text, and `-- --read FILE` reads a table once and prints the seconds: `scripts/bench reading` calls both.

mod mixed;

use std::env::args;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Cursor, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use csv::{ByteRecord, ReaderBuilder};
use tinytrain::data::{Dataset, Features, ReadOptions, Reader, Source, Transform, locate};

/// Rows of the tables.
const ROWS: usize = 20_000;

/// Pairs of runs for the ratio.
const TURNS: usize = 15;

fn mnist() -> Source {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mnist");
    let sources = locate(&folder).expect("MNIST is in the repository");
    sources.train.expect("MNIST has training files")
}

/// As CSV, the label first. `cell` writes a pixel.
fn table(data: &Dataset, cell: impl Fn(u8) -> String) -> Arc<[u8]> {
    let Features::Bytes(pixels) = &data.features else { panic!("IDX holds bytes") };
    let cells: Vec<String> = (0..=255).map(cell).collect();
    let mut text = String::new();
    for (label, pixels) in data.labels().iter().zip(pixels.chunks(data.inputs)).take(ROWS) {
        text += &label.to_string();
        for pixel in pixels {
            text.push(',');
            text += &cells[usize::from(*pixel)];
        }
        text.push('\n');
    }
    text.into_bytes().into()
}

/// What training does before it has all rows.
fn read(table: &Arc<[u8]>) {
    let stream = Cursor::new(Arc::clone(table));
    let reader = Reader::from_csv(Path::new("table.csv"), stream, &ReadOptions::default());
    assert_eq!(read_to_end(reader), ROWS);
}

/// Reads all rows, and counts them.
fn read_to_end(reader: tinytrain::Result<Reader>) -> usize {
    let mut reader = reader.expect("the table can be read");
    reader.read_to_end().expect("the table can be read");
    black_box(reader.rows())
}

/// Reads a file, and prints its rows and the seconds that took.
fn read_file(path: &Path) {
    let source = Source::Csv { path: path.to_owned() };
    let begun = Instant::now();
    let rows = read_to_end(Reader::open(&source, &ReadOptions::default()));
    println!("{rows} {}", begun.elapsed().as_secs_f64());
}

/// Writes the table of numbers and text to a file.
fn write_file(path: &Path, rows: usize) {
    let mut file = BufWriter::new(File::create(path).expect("the file can be written"));
    mixed::write(rows, &mut file).and_then(|()| file.flush()).expect("the file can be written");
}

/// The table of numbers and text.
fn mixed_table() -> Arc<[u8]> {
    let mut text = Vec::new();
    mixed::write(ROWS, &mut text).expect("memory can be written");
    text.into()
}

/// What the parser alone does.
fn parse(table: &Arc<[u8]>) {
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(Cursor::new(Arc::clone(table)));
    let (mut record, mut rows) = (ByteRecord::new(), 0);
    while reader.read_byte_record(&mut record).expect("the table can be parsed") {
        rows += black_box(&record).len().min(1);
    }
    assert!(rows >= ROWS);
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

/// Prints how fast both are, and the ratio; they take turns, so that whatever else the machine does slows both.
fn compare(name: &str, table: &Arc<[u8]>) {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        ours.push(timed(|| read(table)));
        bare.push(timed(|| parse(table)));
    }
    let (ours, bare) = (middle(ours), middle(bare));
    let speed = |time: f64| table.len() as f64 / time / 1e6;
    println!(
        "{name}, {:.0} MB: tinytrain on all threads {:.0} MB/s, csv::ByteRecord on one {:.0} MB/s, {:.0} % of it (medians of {TURNS} turns)",
        table.len() as f64 / 1e6,
        speed(ours),
        speed(bare),
        100.0 * bare / ours
    );
}

fn main() {
    let arguments: Vec<String> = args().collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["--read", path, ..] => return read_file(Path::new(path)),
        ["--write", path, rows, ..] => {
            return write_file(Path::new(path), rows.parse().expect("a number of rows"));
        }
        _ => {}
    }
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let source = mnist();
    let open = || Reader::open(&source, &ReadOptions::default()).expect("MNIST can be read");
    let data = open().into_dataset(&Transform::Bytes).expect("MNIST can be read");
    let tables = [
        ("bytes", table(&data, |pixel| pixel.to_string())),
        ("numbers", table(&data, |pixel| format!("{:.3}", f64::from(pixel) / 255.0))),
        ("numbers and text", mixed_table()),
    ];
    let mut group = criterion.benchmark_group("loading");
    group.throughput(Throughput::Bytes(data.features.len() as u64));
    group.bench_function("IDX, gzipped", |bencher| {
        bencher.iter(|| open().read_to_end().expect("MNIST can be read"));
    });
    for (name, table) in &tables {
        group.throughput(Throughput::Bytes(table.len() as u64));
        group.bench_function(format!("CSV of {name}"), |bencher| bencher.iter(|| read(table)));
        group.bench_function(format!("CSV of {name}, csv::ByteRecord"), |bencher| {
            bencher.iter(|| parse(table));
        });
    }
    group.finish();
    criterion.final_summary();
    for (name, table) in &tables {
        compare(&format!("CSV of {name}"), table);
    }
}
