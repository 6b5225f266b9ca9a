//! The threads that read and parse, and the rows they deliver in the order of the file.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, available_parallelism};
use std::time::Instant;

use super::csv_table::{CsvRows, CsvTable};
use super::dataset::Features;
use super::merge::Merger;
use super::piece::{PIECE_BYTES, Piece};
use super::pieces::Pieces;
use super::row::Cells;
use super::row_parser::{Parsed, RowParser};
use super::spare::Spare;
use super::table::Chunk;
use super::{BLOCK_ROWS, idx::CHUNK_ROWS, idx::Images};
use crate::Result;
use crate::threads::spawn;

/// Pieces of a table that may wait until they are asked for: a block at least, but no more of them than this.
const MOST_WAITING: usize = 64;

/// Threads that parse, unless another number is said: more would wait for the one that reads.
const MOST_THREADS: usize = 8;

/// Chunks of images that may wait: a whole block, which is there when the one before is trained.
const WAITING_CHUNKS: usize = BLOCK_ROWS / CHUNK_ROWS;

/// Begin and end of each piece that has been parsed.
pub(super) type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Rows on their way. Dropping it stops the threads, without waiting for them, at the next piece they deliver.
pub(super) struct Delivery {
    rows: Rows,
    threads: Vec<JoinHandle<()>>,
}

enum Rows {
    /// Images.
    Chunks(Receiver<Result<Chunk>>),
    /// Pieces of a table in their order, each of which some thread parses.
    Pieces(Receiver<Result<Receiver<Done>>>, Box<Merger>),
}

/// What a thread has made of a piece.
struct Done {
    thread: usize,
    parsed: Parsed,
}

/// A piece, and where what it holds is waited for.
type Task = (Piece, SyncSender<Done>);

impl Delivery {
    /// Images, read by a thread.
    pub(super) fn images(images: Images, times: Option<Times>) -> Result<Self> {
        let (sender, chunks) = sync_channel(WAITING_CHUNKS);
        let work = move || {
            let mut begun = times.is_some().then(Instant::now);
            let read = images.read(|chunk| {
                note(times.as_ref(), begun);
                let wanted = sender.send(Ok(chunk)).is_ok();
                begun = times.is_some().then(Instant::now);
                wanted
            });
            if let Err(error) = read {
                // Where nobody listens any more, nobody misses the error.
                let _ = sender.send(Err(error));
            }
        };
        Ok(Self { rows: Rows::Chunks(chunks), threads: vec![spawn("reader", "reads data", work)?] })
    }

    /// A table: a thread reads it and divides it into pieces, and so many parse them: one for each core, eight at most,
    /// unless said otherwise, and none for whom there is no piece. Where that is one, or the system has no room for more, the thread that reads parses, too.
    pub(super) fn table(rows: CsvRows, threads: Option<usize>, times: Option<Times>) -> Result<Self> {
        let CsvRows { table, first, pieces, row_bytes, length } = rows;
        let table = Arc::new(table);
        let cores = || available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
        let all_pieces = length.map_or(usize::MAX, |bytes| bytes as usize / PIECE_BYTES + 1);
        let wanted = threads.unwrap_or_else(cores).clamp(1, all_pieces);
        let (tasks, queue) = sync_channel::<Task>(wanted);
        let queue = Arc::new(Mutex::new(queue));
        let (mut started, spare) = (Vec::new(), Spare::default());
        for thread in 0..if wanted > 1 { wanted } else { 0 } {
            let (mut parser, queue) = (Parser::new(&table, &spare, thread, &times), Arc::clone(&queue));
            let work = move || {
                // The lock is held only until a task is there.
                while let Ok(task) = { queue.lock().unwrap_or_else(PoisonError::into_inner).recv() } {
                    parser.parse(task);
                }
            };
            match spawn("parser", "parses data", work) {
                Ok(handle) => started.push(handle),
                Err(_) => break,
            }
        }
        let merger = Box::new(Merger::new(Arc::clone(&table), started.len().max(1)));
        let waiting = (BLOCK_ROWS * row_bytes / PIECE_BYTES).clamp(wanted + 2, MOST_WAITING.max(wanted + 2));
        let (sender, ordered) = sync_channel(waiting);
        let parser = started.is_empty().then(|| Parser::new(&table, &spare, 0, &times));
        let work = move || divide(first, pieces, &sender, &tasks, parser);
        started.push(spawn("reader", "reads data", work)?);
        Ok(Self { rows: Rows::Pieces(ordered, merger), threads: started })
    }

    /// The next rows; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>> {
        let found = match &mut self.rows {
            Rows::Chunks(chunks) => chunks.recv().ok(),
            Rows::Pieces(pieces, merger) => match pieces.recv() {
                Ok(Ok(piece)) => {
                    piece.recv().ok().map(|Done { thread, parsed }| merger.merge(thread, parsed))
                }
                Ok(Err(error)) => Some(Err(error)),
                Err(_) => None,
            },
        };
        if let Some(found) = found {
            return found.map(Some);
        }
        // The end, or a thread has panicked, and so does this one.
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok(None)
    }
}

/// Hands out pieces until nobody wants more, or parses them.
fn divide(
    first: Piece,
    mut pieces: Pieces,
    ordered: &SyncSender<Result<Receiver<Done>>>,
    tasks: &SyncSender<Task>,
    mut parser: Option<Parser>,
) {
    let mut next = Ok(Some(first));
    while let Some(piece) = next.transpose() {
        let (slot, done) = sync_channel(1);
        let (message, task) = match piece {
            Ok(piece) => (Ok(done), Some((piece, slot))),
            Err(error) => (Err(error), None),
        };
        if ordered.send(message).is_err() {
            return;
        }
        let Some(task) = task else { return };
        match &mut parser {
            Some(parser) => parser.parse(task),
            None => {
                if tasks.send(task).is_err() {
                    return;
                }
            }
        }
        next = pieces.next();
    }
}

/// What one thread parses with.
struct Parser {
    thread: usize,
    rows: RowParser,
    cells: Cells,
    times: Option<Times>,
}

impl Parser {
    fn new(table: &Arc<CsvTable>, spare: &Spare<Features>, thread: usize, times: &Option<Times>) -> Self {
        let rows = RowParser::new(Arc::clone(table), spare.clone());
        Self { thread, rows, cells: Cells::default(), times: times.clone() }
    }

    fn parse(&mut self, (piece, slot): Task) {
        let begun = self.times.is_some().then(Instant::now);
        let parsed = self.rows.parse(&piece, &mut self.cells);
        note(self.times.as_ref(), begun);
        // Where nobody waits any more, nobody misses it.
        let _ = slot.send(Done { thread: self.thread, parsed });
    }
}

fn note(times: Option<&Times>, begun: Option<Instant>) {
    if let (Some(times), Some(begun)) = (times, begun) {
        times.lock().unwrap_or_else(PoisonError::into_inner).push((begun, Instant::now()));
    }
}
