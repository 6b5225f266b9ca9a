//! Arrival of rows, and concurrent work.

use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tinytrain::data::{BLOCK_ROWS, FeaturesRef, ReadOptions, Reader, Scaling, Transform};

use crate::support::{assert_error, gzip, idx, label_first, read_csv};

/// A source controlled by the test; it ends when the test drops its sender.
struct Slow {
    parts: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    /// Closed when the reader drops the source.
    _gone: Sender<()>,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.parts.recv() {
                Ok(part) => self.rest = part,
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

fn slow() -> (Slow, Sender<Vec<u8>>, Receiver<()>) {
    let (sender, parts) = channel();
    let (gone, is_gone) = channel();
    (Slow { parts, rest: Vec::new(), _gone: gone }, sender, is_gone)
}

/// Returns rows of 8 x 8 pixels that are read before others.
fn table(rows: usize) -> Vec<u8> {
    let row = |row: usize| {
        let pixels: String = (0..64).map(|pixel| format!(",{}", pixel_of(row, pixel))).collect();
        format!("{}{pixels}\n", row % 10).into_bytes()
    };
    (0..rows).flat_map(row).collect()
}

fn pixel_of(row: usize, pixel: usize) -> u8 {
    ((row * 7 + pixel) % 250) as u8
}

fn open(source: Slow) -> Reader {
    Reader::from_csv(Path::new("slow.csv"), source, &label_first()).unwrap()
}

#[test]
fn csv_blocks_arrive_before_the_file_is_whole() {
    let (source, sender, _) = slow();
    sender.send(table(BLOCK_ROWS)).unwrap();
    let mut reader = open(source);
    assert_eq!((reader.rows(), reader.inputs(), reader.is_complete()), (BLOCK_ROWS, 64, false));
    assert_eq!((reader.total_rows(), reader.classes().len()), (None, 10));
    let pixels: Vec<u8> = (0..64).map(|pixel| pixel_of(300, pixel)).collect();
    assert_eq!(reader.block(300..301, Scaling::Bytes), (FeaturesRef::Bytes(&pixels), &[0][..]));

    sender.send(table(BLOCK_ROWS + 7)).unwrap();
    assert!(reader.next_block().unwrap());
    assert_eq!((reader.rows(), reader.is_complete()), (2 * BLOCK_ROWS, false));
    drop(sender);
    assert!(reader.next_block().unwrap());
    assert_eq!((reader.rows(), reader.total_rows()), (2 * BLOCK_ROWS + 7, Some(2 * BLOCK_ROWS + 7)));
    assert!(reader.is_complete());
    assert!(!reader.next_block().unwrap());
    let dataset = reader.into_dataset(&Transform::Bytes).unwrap();
    assert!(dataset == read_csv([table(BLOCK_ROWS), table(BLOCK_ROWS + 7)].concat()));
}

#[test]
fn idx_blocks_arrive_before_the_file_is_whole() {
    let rows = BLOCK_ROWS + 2;
    let labels: Vec<u8> = (0..rows).map(|row| if row == rows - 1 { 9 } else { 3 }).collect();
    let images = idx(&[rows as u32, 1], &vec![7; rows]);
    let (source, sender, _) = slow();
    sender.send(images[..images.len() - 1].to_vec()).unwrap();
    let labels = io::Cursor::new(idx(&[rows as u32], &labels));
    let mut reader =
        Reader::from_idx(Path::new("i"), source, Path::new("l"), labels, &ReadOptions::default()).unwrap();
    assert_eq!((reader.rows(), reader.total_rows(), reader.classes().len()), (0, Some(rows), 2));
    assert!(reader.next_block().unwrap());
    assert_eq!((reader.rows(), reader.is_complete()), (BLOCK_ROWS, false));
    sender.send(images[images.len() - 1..].to_vec()).unwrap();
    drop(sender);
    assert!(reader.next_block().unwrap());
    assert_eq!((reader.rows(), reader.is_complete()), (rows, true));
    assert!(!reader.next_block().unwrap());
}

#[test]
fn a_whole_number_of_blocks_ends_without_an_empty_one() {
    let (source, sender, _) = slow();
    sender.send(table(BLOCK_ROWS)).unwrap();
    drop(sender);
    let mut reader = open(source);
    assert!(!reader.next_block().unwrap());
    assert_eq!((reader.is_complete(), reader.total_rows()), (true, Some(BLOCK_ROWS)));
}

#[test]
fn dropping_a_reader_waits_for_nothing() {
    let (source, sender, is_gone) = slow();
    sender.send(table(BLOCK_ROWS + 200)).unwrap();
    // The source is blocked; if this hangs, the test hangs.
    drop(open(source));
    // When data arrive, the thread notices and drops the source; it may have done so before.
    let _ = sender.send(table(2 * BLOCK_ROWS));
    let gone = is_gone.recv_timeout(Duration::from_secs(60));
    assert_eq!(gone, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn an_unread_reader_does_not_run_ahead_without_end() {
    let (source, sender, is_gone) = slow();
    let reader = {
        for _ in 0..20 {
            sender.send(table(BLOCK_ROWS)).unwrap();
        }
        drop(sender);
        open(source)
    };
    let waiting = is_gone.recv_timeout(Duration::from_millis(300));
    assert_eq!(waiting, Err(std::sync::mpsc::RecvTimeoutError::Timeout), "the thread must wait");
    assert_eq!(reader.into_dataset(&Transform::Bytes).unwrap().rows(), 20 * BLOCK_ROWS);
}

/// A source that returns one byte at a time, interspersed with errors that request a retry.
struct Drops(io::Cursor<Vec<u8>>, bool);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn bytes_may_come_one_by_one() {
    let text = "\u{feff}\"la\nbel\",x,\"y\"\"\"\r\n\"1\",\" 20\",3\r\n\r\n0,\"4\",\"5.0\"\r\n";
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        let source = Drops(io::Cursor::new(bytes), false);
        let reader = Reader::from_csv(Path::new("d"), source, &label_first()).unwrap();
        let dataset = reader.into_dataset(&Transform::Bytes).unwrap();
        assert_eq!(dataset, read_csv("1,20,3\n0,4,5\n"));
    }
    let bad = text.replace("5.0", "5e50");
    let source = Drops(io::Cursor::new(bad.into_bytes()), false);
    let error = Reader::from_csv(Path::new("d"), source, &label_first()).err().unwrap();
    assert_error(
        &error,
        &["d, row 5, column 3 (y\"): expected a number that a 32-bit float", "found \"5e50\""],
    );
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is on fire"))
    }
}

#[test]
fn a_failing_source_is_reported_and_ends_the_reader() {
    let source = io::Cursor::new(table(BLOCK_ROWS)).chain(Broken);
    let mut reader = Reader::from_csv(Path::new("b"), source, &label_first()).unwrap();
    let error = reader.read_to_end().unwrap_err();
    assert_error(&error, &["cannot read b: the disk is on fire"]);
    assert!(!reader.is_complete());
    assert_error(&reader.next_block().unwrap_err(), &["b: cannot continue after an error"]);
    let error = Reader::from_csv(Path::new("b"), Broken, &ReadOptions::default()).err().unwrap();
    assert_error(&error, &["cannot read b: the disk is on fire"]);
}

#[cfg(unix)]
#[test]
fn named_pipes_are_read_once() {
    use std::fs;
    use std::process::Command;
    use tinytrain::data::{Source, locate};

    let directory = tempfile::tempdir().unwrap();
    let make_pipe = |name: &str, bytes: Vec<u8>| {
        let path = directory.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let target = path.clone();
        std::thread::spawn(move || fs::write(target, bytes).unwrap());
        path
    };
    let read = |path: &Path| {
        let source = locate(path).unwrap().train.unwrap();
        let reader = Reader::open(&source, &label_first()).unwrap();
        (source, reader.into_dataset(&Transform::Bytes).unwrap())
    };
    let path = make_pipe("table", gzip(&table(5000)));
    assert!(read(&path) == (Source::Csv { path: path.clone() }, read_csv(table(5000))));

    let labels = make_pipe("labels-idx1", idx(&[2], &[0, 1]));
    let images = make_pipe("images-idx3", idx(&[2, 1], &[7, 8]));
    let (source, dataset) = read(&images);
    assert_eq!(source, Source::Idx { images, labels });
    assert_eq!((dataset.row(1), dataset.labels()), (vec![8.0 / 255.0], &[0, 1][..]));
}
