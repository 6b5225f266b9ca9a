//! Threads that read and parse, and the rows they deliver in the order of the file.
//!
//! One thread reads at a time: it takes the next piece of the text, puts the place where its rows will be in the queue, and parses it
//! while another one reads on. The consumer takes these slots in their order. Where there are no threads, it does their work, a slot
//! whenever it wants one.

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

/// Chunks of images that may wait: a whole block, which is there when the one before is trained.
const WAITING_CHUNKS: usize = BLOCK_ROWS / CHUNK_ROWS;

/// Pieces of a table that may wait: a block at least, but no more of them than this.
const MOST_WAITING: usize = 64;

/// Pieces that may wait for each thread at least.
const LEAST_WAITING: usize = 6;

/// Threads, unless another number is said: more would wait for the one that reads.
const MOST_THREADS: usize = 8;

/// How often a wait looks whether it should end.
const LOOK: Duration = Duration::from_millis(100);

/// Begin and end of each piece that has been parsed.
pub(crate) type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Rows on their way. Dropping it stops the threads, without waiting for them, at the next piece they deliver.
pub(crate) struct Delivery {
    queue: Receiver<Slot>,
    /// What puts together the rows of a table.
    merger: Option<Merger>,
    threads: Vec<JoinHandle<()>>,
    /// Ends a wait once it is set.
    stop: Option<Arc<AtomicBool>>,
    /// Puts the next slot in the queue, where no thread does; false at the end.
    own: Option<Box<dyn FnMut() -> bool + Send>>,
}

/// The next rows.
enum Slot {
    Here(Result<Box<Table>>),
    /// What the thread with this number will have parsed.
    Coming(usize, Receiver<Parsed>),
}

/// What the consumer waits for.
pub(crate) struct Wanted<'a> {
    /// Whether it is all rows that are left, or those up to the end of a block.
    pub all: bool,
    /// The file, in messages.
    pub name: &'a Path,
    /// Values of a row.
    pub inputs: usize,
    /// Rows that the whole table may have; 0 where that is not known, or not all of them are kept.
    pub expected: usize,
    /// Rows of the whole data set, where that is known: behind the last of them the end of the file is still to be looked at.
    pub known: Option<usize>,
}

/// What is still to be read of a table.
struct Source {
    text: Arc<Mutex<Text>>,
    queue: SyncSender<Slot>,
    is_over: bool,
}

impl Delivery {
    /// Images, read by a thread, or by the caller's where there are to be none.
    ///
    /// # Errors
    /// Where the system has no room for a thread.
    pub(crate) fn images(mut images: Images, threads: Option<usize>, times: Option<Times>) -> Result<Self> {
        let (sender, queue) = sync_channel(WAITING_CHUNKS);
        let turn = move || {
            let begun = times.is_some().then(Instant::now);
            let Some(read) = images.next().transpose() else { return false };
            note(times.as_ref(), begun);
            hand_over();
            let is_read = read.is_ok();
            // Where nobody listens any more, nobody misses an error.
            sender.send(Slot::Here(read.map(Box::new))).is_ok() && is_read
        };
        let mut delivery = Self { queue, merger: None, threads: Vec::new(), stop: None, own: None };
        delivery.begin(has_own(threads), ["reader", "reads data"], turn)?;
        Ok(delivery)
    }

    /// A table, read by `threads` threads: by default one per core, at most eight, and no more than there are pieces; by the
    /// caller's where there are to be none.
    ///
    /// # Errors
    /// Where the system has no room for a single one.
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

    /// Has a thread of this name and purpose take turns until one is the last, or keeps them for the consumer.
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

    /// Adds the wanted rows to a table; false at the end, which may have come behind some of them.
    ///
    /// # Errors
    /// That of the first row with a fault, and those of the file.
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

    /// Waits for the threads to end. If one has panicked, so does this one.
    pub(crate) fn join(&mut self) {
        // Those that wait for room in the queue must end, too.
        self.queue = sync_channel(0).1;
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// Takes the first cell of each column that only all rows can judge, in the order of the rows.
    pub(crate) fn take_doubts(&mut self) -> Vec<Doubt> {
        self.merger.as_mut().map_or_else(Vec::new, |merger| std::mem::take(&mut merger.doubts))
    }

    /// Whether there are such cells so far.
    pub(crate) fn has_doubts(&self) -> bool {
        self.merger.as_ref().is_some_and(|merger| !merger.doubts.is_empty())
    }

    /// Makes each cell an error that is no pixel, and each row without a label.
    pub(crate) fn expect_pixels(&mut self) {
        self.merger.iter_mut().for_each(|merger| merger.has_only_pixels = true);
    }

    /// The same rows; waiting for them ends once this is set.
    pub(crate) fn stopped_by(self, stop: Option<&Arc<AtomicBool>>) -> Self {
        Self { stop: stop.cloned(), ..self }
    }

    /// The next slot of the queue; nothing at the end.
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
        // What it has put in the queue stays there when it goes.
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

/// Whether the consumer does the work of threads.
fn has_own(threads: Option<usize>) -> bool {
    !EXIST || threads == Some(0)
}

/// The next piece of a table, and where its rows go, when there is room for them; `None` at the end, or when no more are wanted.
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

/// Notes that something was parsed since then.
fn note(times: Option<&Times>, begun: Option<Instant>) {
    if let (Some(times), Some(begun)) = (times, begun) {
        times.lock().unwrap_or_else(PoisonError::into_inner).push((begun, Instant::now()));
    }
}
