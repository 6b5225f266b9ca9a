//! Threads that read and parse, and deliver rows in the order of the file.
//!
//! One thread reads at a time: it takes the next piece of the text, queues a slot for its rows, and parses the piece
//! while another thread continues reading. The consumer takes the slots in order. Without threads, the consumer itself
//! reads and parses one slot at a time.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::csv_table::CsvTable;
use super::first_rows::FirstRows;
use super::merge::Merger;
use super::pieces::{PIECE_BYTES, Piece};
use super::records::Cells;
use super::row_parser::{Doubt, Parsed, RowParser};
use super::table::{Room, Table};
use super::text::Text;
use crate::clock::Instant;
use crate::data::dataset::BLOCK_ROWS;
use crate::data::images::idx::{CHUNK_ROWS, Images};
use crate::error::{Error, Result};
use crate::threads::{EXIST, available, hand_over, spawn};

/// Maximum number of waiting chunks of images: a whole block, which is ready when training on the previous one ends.
const WAITING_CHUNKS: usize = BLOCK_ROWS / CHUNK_ROWS;

/// Upper bound of the number of waiting pieces, which otherwise suffices for a block.
const MOST_WAITING: usize = 64;

/// Minimum number of pieces per thread that may wait.
const LEAST_WAITING: usize = 6;

/// Default maximum number of threads: more would wait for the reading thread.
const MOST_THREADS: usize = 8;

/// Interval at which a wait checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Start and end of the parsing of each piece.
pub(crate) type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Rows being delivered. Dropping it stops the threads, without waiting for them, at the next piece they deliver.
pub(crate) struct Delivery {
    queue: Receiver<Slot>,
    /// Merges the rows of a table.
    merger: Option<Merger>,
    threads: Vec<JoinHandle<()>>,
    /// Ends waiting once it is set.
    stop: Option<Arc<AtomicBool>>,
    /// Queues the next slot if there are no threads; returns false at the end.
    own: Option<Box<dyn FnMut() -> bool + Send>>,
}

/// The next rows.
enum Slot {
    Here(Result<Box<Table>>),
    /// The future result of the thread with this number.
    Coming(usize, Receiver<Parsed>),
}

/// The rows that the consumer waits for.
pub(crate) struct Wanted<'a> {
    /// Whether to wait for all remaining rows, rather than for the end of a block.
    pub all: bool,
    /// The name of the file in messages.
    pub name: &'a Path,
    /// Values per row.
    pub inputs: usize,
    /// Estimated rows of the whole table; 0 if unknown, or if not all of them are kept.
    pub expected: usize,
    /// Rows of the whole data set, if known; after the last of them the end of the file is still to be checked.
    pub known: Option<usize>,
}

/// The part of a table still to be read.
struct Source {
    text: Arc<Mutex<Text>>,
    queue: SyncSender<Slot>,
    is_over: bool,
}

impl Delivery {
    /// Delivers images, read by a thread, or by the caller's thread if no threads are wanted.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn images(mut images: Images, threads: Option<usize>, times: Option<Times>) -> Result<Self> {
        let (sender, queue) = sync_channel(WAITING_CHUNKS);
        let turn = move || {
            let begun = times.is_some().then(Instant::now);
            let Some(read) = images.next().transpose() else { return false };
            note(times.as_ref(), begun);
            hand_over();
            let is_read = read.is_ok();
            // Without a receiver, errors are irrelevant.
            sender.send(Slot::Here(read.map(Box::new))).is_ok() && is_read
        };
        let mut delivery = Self { queue, merger: None, threads: Vec::new(), stop: None, own: None };
        delivery.begin(has_own(threads), ["reader", "reads data"], turn)?;
        Ok(delivery)
    }

    /// Delivers a table, read by `threads` threads: by default one per core, at most eight, and at most one per piece;
    /// by the caller's thread if no threads are wanted.
    ///
    /// # Errors
    /// If the system cannot start a single thread.
    pub(crate) fn table(
        table: &Arc<CsvTable>,
        text: &Arc<Mutex<Text>>,
        &FirstRows { row_bytes, length, .. }: &FirstRows,
        threads: Option<usize>,
        times: Option<&Times>,
    ) -> Result<Self> {
        let cores = || available().min(MOST_THREADS);
        let all_pieces = length.map_or(usize::MAX, |bytes| bytes as usize / PIECE_BYTES + 1);
        let has_own = has_own(threads);
        let wanted = if has_own { 1 } else { threads.unwrap_or_else(cores).clamp(1, all_pieces) };
        let least = LEAST_WAITING * wanted;
        let waiting = (BLOCK_ROWS * row_bytes / PIECE_BYTES).clamp(least, MOST_WAITING.max(least));
        let (sender, queue) = sync_channel(waiting);
        let source = Arc::new(Mutex::new(Source { text: Arc::clone(text), queue: sender, is_over: false }));
        let merger = Some(Merger::new(Arc::clone(table), wanted));
        let mut delivery = Self { queue, merger, threads: Vec::new(), stop: None, own: None };
        for thread in 0..wanted {
            let (source, times) = (Arc::clone(&source), times.cloned());
            let mut parser = RowParser::new(Arc::clone(table));
            let mut cells = Cells::new(table.dialect.delimiter);
            let turn = move || {
                let Some((piece, done)) = next(&source, thread) else { return false };
                hand_over();
                let begun = times.is_some().then(Instant::now);
                let parsed = parser.parse(&piece, &mut cells);
                note(times.as_ref(), begun);
                hand_over();
                done.send(parsed).is_ok()
            };
            match delivery.begin(has_own, ["parser", "reads and parses data"], turn) {
                Err(error) if thread == 0 => return Err(error),
                Err(_) => break,
                Ok(()) => {}
            }
        }
        Ok(delivery)
    }

    /// Starts a thread with this name and purpose that takes turns until the last one, or keeps the turns for the
    /// consumer.
    fn begin(
        &mut self,
        is_own: bool,
        [name, purpose]: [&'static str; 2],
        mut turn: impl FnMut() -> bool + Send + 'static,
    ) -> Result<()> {
        if is_own {
            self.own = Some(Box::new(turn));
        } else {
            self.threads.push(spawn(name, purpose, move || while turn() {})?);
        }
        Ok(())
    }

    /// Adds the wanted rows to a table; returns false at the end, possibly after some rows.
    ///
    /// # Errors
    /// The error of the first invalid row, and errors of the file.
    pub(crate) fn fill(&mut self, table: &mut Table, wanted: &Wanted<'_>) -> Result<bool> {
        while let Some(new) = self.next() {
            hand_over();
            let new = new?;
            let rows = new.features.len() / wanted.inputs;
            table.append(new, &Room { name: wanted.name, rows, expected: wanted.expected })?;
            let rows = table.features.len() / wanted.inputs;
            if !wanted.all && rows.is_multiple_of(BLOCK_ROWS) && wanted.known != Some(rows) {
                return Ok(true);
            }
        }
        self.join();
        Ok(false)
    }

    /// Waits for the threads to end; panics if one of them panicked.
    pub(crate) fn join(&mut self) {
        // Threads that wait for space in the queue must end, too.
        self.queue = sync_channel(0).1;
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// Takes the first cell of each column that only all rows can decide on, in row order.
    pub(crate) fn take_doubts(&mut self) -> Vec<Doubt> {
        self.merger.as_mut().map_or_else(Vec::new, |merger| std::mem::take(&mut merger.doubts))
    }

    /// Whether there are such cells so far.
    pub(crate) fn has_doubts(&self) -> bool {
        self.merger.as_ref().is_some_and(|merger| !merger.doubts.is_empty())
    }

    /// Makes cells other than pixels, and rows without a label, errors.
    pub(crate) fn expect_pixels(&mut self) {
        self.merger.iter_mut().for_each(|merger| merger.has_only_pixels = true);
    }

    /// Returns the same delivery, whose waits end once `stop` is set.
    pub(crate) fn stopped_by(self, stop: Option<&Arc<AtomicBool>>) -> Self {
        Self { stop: stop.cloned(), ..self }
    }

    /// Waits for the next slot of the queue; `None` at the end.
    fn wait(&self) -> Option<Result<Slot>> {
        let Some(stop) = &self.stop else { return self.queue.recv().ok().map(Ok) };
        loop {
            match self.queue.recv_timeout(LOOK) {
                Ok(slot) => return Some(Ok(slot)),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Some(Err(Error::Interrupted));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn next(&mut self) -> Option<Result<Table>> {
        // Slots in the queue remain after the function is dropped.
        self.own.take_if(|turn| !turn());
        let slot = match self.wait()? {
            Ok(slot) => slot,
            Err(error) => return Some(Err(error)),
        };
        match slot {
            Slot::Here(rows) => Some(rows.map(|rows| *rows)),
            Slot::Coming(thread, parsed) => {
                let parsed = parsed.recv().ok()?;
                self.merger.as_mut().map(|merger| merger.merge(thread, parsed))
            }
        }
    }
}

/// Whether the consumer itself reads and parses.
fn has_own(threads: Option<usize>) -> bool {
    !EXIST || threads == Some(0)
}

/// The next piece of a table and the sender for its rows, once the queue has space; `None` at the end, or if no more
/// pieces are wanted.
fn next(source: &Mutex<Source>, thread: usize) -> Option<(Arc<Piece>, SyncSender<Parsed>)> {
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    if source.is_over {
        return None;
    }
    let piece = source.text.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (done, parsed) = sync_channel(1);
    let (piece, slot) = match piece.transpose() {
        Some(Ok(piece)) => (Some((piece, done)), Some(Slot::Coming(thread, parsed))),
        fault => (None, fault.map(|fault| Slot::Here(fault.map(|_| Box::default())))),
    };
    let is_sent = slot.is_none_or(|slot| source.queue.send(slot).is_ok());
    source.is_over = piece.is_none() || !is_sent;
    piece.filter(|_| is_sent)
}

/// Records a parsing time that began at `begun`.
fn note(times: Option<&Times>, begun: Option<Instant>) {
    if let (Some(times), Some(begun)) = (times, begun) {
        times.lock().unwrap_or_else(PoisonError::into_inner).push((begun, Instant::now()));
    }
}
