//! Loading overlaps with training, and changes nothing.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tinytrain::data::{BLOCK_ROWS, ReadOptions, Reader};
use tinytrain::model::Model;
use tinytrain::trainer::{Choice, Config, Event, train};

use crate::support::{Pictures, csv_reader, devices};

/// A source that gives its first part at once and the rest only when it is told to.
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
    Config { hidden: vec![9], epochs: 2, batch_size, ..Config::default() }
}

/// Model, and whether the run had to start again.
fn run(config: &Config, reader: Reader, device: &Choice) -> (Model, Vec<f64>, Vec<String>) {
    let mut restarts = Vec::new();
    let summary = train(config, reader, None, device, &mut |event| {
        if let Event::Restarted { reason } = event {
            restarts.push(reason.to_owned());
        }
        Ok(())
    })
    .unwrap();
    (summary.model, summary.epochs.iter().map(|epoch| epoch.train_loss).collect(), restarts)
}

/// The same with everything read before training starts.
fn run_loaded(config: &Config, mut reader: Reader, device: &Choice) -> (Model, Vec<f64>, Vec<String>) {
    reader.read_to_end().unwrap();
    run(config, reader, device)
}

#[test]
fn training_starts_before_the_file_is_wholly_read() {
    let rows = 2 * BLOCK_ROWS + 700;
    let pictures = Pictures::new(rows, 16, 3, 3);
    let text = pictures.csv();
    let lines = text.match_indices('\n').nth(BLOCK_ROWS + 50).unwrap().0 + 1;
    let (images, labels) = pictures.idx_files();
    let options = ReadOptions::default();
    for device in devices() {
        let (slow_table, table_goes_on) = Slow::new(text.as_bytes(), lines);
        let table = Reader::from_csv(Path::new("slow.csv"), slow_table, &options).unwrap();
        let (slow_images, images_go_on) = Slow::new(&images, 12 + 16 * (BLOCK_ROWS + 50));
        let labels = std::io::Cursor::new(labels.clone());
        let idx = Reader::from_idx(Path::new("images"), slow_images, Path::new("labels"), labels, &options)
            .unwrap();
        let loaded = run_loaded(&config(64), csv_reader(text.as_str()), &device);
        for (reader, go_on) in [(table, table_goes_on), (idx, images_go_on)] {
            let mut trained = 0;
            // The source goes on when the first batches have been trained, and fails if that never happens.
            let summary = train(&config(64), reader, None, &device, &mut |event| {
                if let Event::Progress { .. } = event {
                    trained += 1;
                    // When it has all it needs, it listens no longer.
                    let _ = go_on.send(());
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(trained, 2 * rows.div_ceil(64));
            assert_eq!(summary.model, loaded.0, "{}", summary.device);
            assert_eq!(summary.epochs.iter().map(|epoch| epoch.train_loss).collect::<Vec<_>>(), loaded.1);
        }
    }
}

/// CSV passes through a window in the first epoch, IDX stays on the device from the start: the figures are the same,
/// also for batches that straddle blocks and for a block that is exactly full.
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

/// What `text` trains to, starting early and with everything loaded, and why it started again.
fn restarted(text: &str, device: &Choice) -> String {
    let early = run(&config(64), csv_reader(text), device);
    let loaded = run_loaded(&config(64), csv_reader(text), device);
    assert_eq!((early.0, early.1), (loaded.0, loaded.1));
    assert_eq!(loaded.2, Vec::<String>::new());
    assert_eq!(early.2.len(), 1, "{:?}", early.2);
    early.2.into_iter().next().unwrap()
}

#[test]
fn a_new_class_in_a_later_block_starts_the_run_again() {
    let mut text = Pictures::new(2 * BLOCK_ROWS, 6, 3, 5).csv();
    text.push_str("7,1,2,3,4,5,6\n");
    for device in devices() {
        let reason = restarted(&text, &device);
        assert!(reason.contains("3 classes") && reason.contains('8'), "{reason}");
    }
}

#[test]
fn a_cell_that_breaks_the_byte_rule_starts_the_run_again() {
    let bytes = Pictures::new(2 * BLOCK_ROWS, 6, 3, 6).csv();
    let small: String = (0..2 * BLOCK_ROWS).map(|i| format!("{},{},{}\n", i % 3, i % 17, i % 5)).collect();
    for device in devices() {
        // Bytes, and then a half.
        let reason = restarted(&format!("{bytes}1,0.5,0,0,0,0,0\n"), &device);
        assert!(reason.contains("bytes"), "{reason}");
        // Whole numbers up to 16 are taken as they are, until one above 16 makes them bytes.
        let reason = restarted(&format!("{small}1,200,3\n"), &device);
        assert!(reason.contains("bytes"), "{reason}");
    }
}

/// Whole numbers that stay below 17 are taken as they are, although they are stored as bytes.
#[test]
fn small_whole_numbers_are_taken_as_they_are() {
    let text: String = (0..3000).map(|i| format!("{},{},{}\n", i % 3, (i % 3) * 5, (i * 7) % 16)).collect();
    let floats = text.replacen("0,0,0\n", "0,0.0,1e-30\n", 1);
    for device in devices() {
        let small = run(&config(64), csv_reader(text.as_str()), &device);
        let same = run(&config(64), csv_reader(floats.as_str()), &device);
        assert_eq!(small.0.scaling, tinytrain::data::Scaling::AsIs);
        assert_eq!(same.0.scaling, tinytrain::data::Scaling::AsIs);
        assert!((small.1[1] - same.1[1]).abs() < 1e-4, "{:?} {:?}", small.1, same.1);
    }
}
