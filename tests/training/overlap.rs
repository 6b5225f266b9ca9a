//! Loading overlaps with training, without effect on results.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tinytrain::data::{BLOCK_ROWS, ReadOptions, Reader, Scale};
use tinytrain::engine::Device;
use tinytrain::model::Parameters;
use tinytrain::train::{Config, DataOptions, End, Event, train};

use crate::support::{Pictures, as_bytes, csv_reader, devices, label_first};

/// A source that provides its first part at once and the rest only on request.
struct Slow {
    first: std::io::Cursor<Vec<u8>>,
    rest: std::io::Cursor<Vec<u8>>,
    go_on: Receiver<()>,
    waiting: bool,
}

impl Slow {
    fn new(contents: &[u8], split: usize) -> (Self, Sender<()>) {
        let (sender, go_on) = channel();
        let part = |bytes: &[u8]| std::io::Cursor::new(bytes.to_vec());
        (
            Self { first: part(&contents[..split]), rest: part(&contents[split..]), go_on, waiting: true },
            sender,
        )
    }
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.first.read(buffer)?;
        if read > 0 {
            return Ok(read);
        }
        if self.waiting {
            self.go_on
                .recv_timeout(Duration::from_secs(60))
                .map_err(|_| std::io::Error::other("training has not started while the source waited"))?;
            self.waiting = false;
        }
        self.rest.read(buffer)
    }
}

fn config(batch_size: usize) -> Config {
    Config { hidden: vec![9], epochs: 2, batch_size, data: as_bytes(), ..Config::default() }
}

/// Returns weights and losses.
fn run(config: &Config, reader: Reader, device: &Device) -> (Parameters, Vec<f64>) {
    let summary = train(config, reader, None, device, &mut |_| Ok(())).unwrap();
    (summary.model.parameters, summary.epochs.iter().map(|epoch| epoch.train.loss).collect())
}

/// Returns the same with everything read before training starts.
fn run_loaded(config: &Config, mut reader: Reader, device: &Device) -> (Parameters, Vec<f64>) {
    reader.read_to_end().unwrap();
    run(config, reader, device)
}

#[test]
fn training_starts_before_the_file_is_wholly_read() {
    let rows = 2 * BLOCK_ROWS + 700;
    let pictures = Pictures::new(rows, 64, 3, 3);
    let text = pictures.csv();
    let lines = text.match_indices('\n').nth(BLOCK_ROWS + 50).unwrap().0 + 1;
    let (images, labels) = pictures.idx_files();
    let options = label_first();
    for device in devices() {
        let (slow_table, table_goes_on) = Slow::new(text.as_bytes(), lines);
        let table = Reader::from_csv(Path::new("slow.csv"), slow_table, &options).unwrap();
        let (slow_images, images_go_on) = Slow::new(&images, 12 + 64 * (BLOCK_ROWS + 50));
        let labels = std::io::Cursor::new(labels.clone());
        let idx = Reader::from_idx(Path::new("images"), slow_images, Path::new("labels"), labels, &options)
            .unwrap();
        let loaded = run_loaded(&config(64), csv_reader(text.as_str()), &device);
        for (reader, go_on) in [(table, table_goes_on), (idx, images_go_on)] {
            let mut trained = [0; 2];
            // The source continues when the first batches have been trained, and fails if that never happens.
            let summary = train(&config(64), reader, None, &device, &mut |event| {
                if let Event::Progress { epoch, rows, .. } = event {
                    assert!(rows > trained[epoch - 1], "epoch {epoch}: {rows} rows after {trained:?}");
                    trained[epoch - 1] = rows;
                    // The source stops receiving once it is complete.
                    let _ = go_on.send(());
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(trained, [rows; 2]);
            assert_eq!(summary.model.parameters, loaded.0, "{}", summary.engine.device);
            assert_eq!(summary.epochs.iter().map(|epoch| epoch.train.loss).collect::<Vec<_>>(), loaded.1);
        }
    }
}

/// CSV passes through a window in the first epoch, IDX stays on the device from the start: the results are
/// the same, also for batches that straddle blocks and for a block that is exactly full.
#[test]
fn csv_and_idx_train_to_the_same_bits() {
    for rows in [BLOCK_ROWS + 333, BLOCK_ROWS, 50] {
        let pictures = Pictures::new(rows, 18, 3, 4);
        for device in devices() {
            for batch in [64, 1000, 9000] {
                let idx = run(&config(batch), pictures.idx(), &device);
                let csv = run(&config(batch), csv_reader(pictures.csv()), &device);
                let quoted = pictures.csv().replace(',', "\",\"").replace('\n', "\"\r\n\"");
                let quoted = format!("\"{}", quoted.trim_end_matches('"'));
                let quoted = run(&config(batch), csv_reader(quoted), &device);
                assert_eq!(idx, csv, "{rows} rows in batches of {batch}");
                assert_eq!(idx, quoted, "{rows} rows in batches of {batch}, quoted");
            }
        }
    }
}

/// Returns the error when later rows of `text` contradict the first ones in training; if all are read first,
/// it trains.
fn refused(text: &str, device: &Device) -> String {
    let error = train(&config(64), csv_reader(text), None, device, &mut |_| Ok(())).unwrap_err();
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("--read-all")), "{error}");
    let all = ReadOptions { read_all: true, ..label_first() };
    let reader = Reader::from_bytes(Path::new("table.csv"), text.as_bytes(), &all).unwrap();
    assert!(reader.is_complete());
    run(&config(64), reader, device);
    error.to_string()
}

#[test]
fn a_new_class_in_a_later_block_is_refused() {
    let mut text = Pictures::new(2 * BLOCK_ROWS, 64, 3, 5).csv();
    text.push_str(&format!("7{}\n", ",9".repeat(64)));
    for device in devices() {
        let expected =
            "table.csv, row 8193, column 1: expected labels of the first 4,096 rows (0, 1, 2), found label 7";
        assert_eq!(refused(&text, &device), expected);
    }
}

#[test]
fn a_cell_that_is_not_a_byte_in_a_later_block_is_refused() {
    let bytes = Pictures::new(2 * BLOCK_ROWS, 64, 3, 6).csv();
    for device in devices() {
        let cells = ",9".repeat(62);
        let expected = "table.csv, row 8193, column 64: expected a whole number from 0 to 255, as in the first 4,096 rows, found \"0.5\"";
        assert_eq!(refused(&format!("{bytes}1{cells},0.5,0\n"), &device), expected);
    }
}

/// Blocks of one class each would mislead the training.
#[test]
fn rows_sorted_by_label_after_the_first_block_are_refused() {
    let mixed = Pictures::new(3 * BLOCK_ROWS, 64, 2, 8).csv();
    let mut rows: Vec<&str> = mixed.lines().collect();
    // The first block still contains both classes.
    rows[BLOCK_ROWS..].sort_unstable();
    let sorted = rows.join("\n") + "\n";
    for device in devices() {
        let error = refused(&sorted, &device);
        assert!(error.starts_with("table.csv, column 1: ") && error.contains("sorted by label"), "{error}");
        assert_eq!(run(&config(64), csv_reader(mixed.as_str()), &device).1.len(), 2);
    }
    // If the first block is sorted, all rows are read before training.
    let mut rows: Vec<&str> = mixed.lines().collect();
    rows.sort_unstable();
    assert!(csv_reader(rows.join("\n")).is_complete() && !csv_reader(mixed).is_complete());
}

/// Standardised rows do not depend on their arrival: training waits for all rows.
#[test]
fn standardised_rows_are_the_same_whatever_their_unit() {
    let rows = BLOCK_ROWS + 500;
    let table = |factor: f64, offset: f64| -> String {
        let value = |i: usize| ((i * 37 % 101) as f64 * 0.25 + (i % 2) as f64 * 30.0) * factor + offset;
        (0..rows).map(|i| format!("{},{},{}\n", i % 2, value(i), value(i * 7 % 501 * 2))).collect()
    };
    let data = DataOptions { scale: Scale::Auto, ..DataOptions::default() };
    for device in devices() {
        let config = Config { data, ..config(64) };
        let small = run(&config, csv_reader(table(1.0, 0.0)), &device);
        // Powers of two are exact, so that the standardised numbers are the same bits.
        let large = run(&config, csv_reader(table(4096.0, 0.0)), &device);
        assert_eq!(small, large);
        let shifted = run(&config, csv_reader(table(4096.0, 65536.0)), &device);
        assert!((small.1[1] - shifted.1[1]).abs() < 1e-3 * small.1[1], "{:?} {:?}", small.1, shifted.1);
        assert!(small.1[1] < 0.3, "{:?}", small.1);
    }
}

#[test]
fn an_epoch_is_broken_off_when_the_time_is_over() {
    let pictures = Pictures::new(40_000, 9, 3, 5);
    for device in devices() {
        let config = Config { max_time: Some(Duration::from_nanos(1)), ..config(4) };
        let summary = train(&config, pictures.idx(), None, &device, &mut |_| Ok(())).unwrap();
        assert_eq!(summary.end, End::Time);
        let rows: Vec<usize> = summary.epochs.iter().map(|epoch| epoch.rows).collect();
        assert!(rows.len() == 1 && (1..40_000).contains(&rows[0]), "{device:?}: {rows:?}");
        // The result equals a run with the same number of steps.
        assert_eq!(summary.steps as usize, rows[0].div_ceil(4));
        assert_eq!(summary.kept, 1);
    }
}
