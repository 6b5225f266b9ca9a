//! The threads that read and parse, and the rows they deliver in the order of the file.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::csv_table::CsvRows;
use super::gather::Wanted;
use super::table::{Chunk, Table};
use super::workers::Workers;
use super::{BLOCK_ROWS, idx::CHUNK_ROWS, idx::Images};
use crate::Result;
use crate::threads::{hand_over, spawn};

/// Chunks of images that may wait: a whole block, which is there when the one before is trained.
const WAITING_CHUNKS: usize = BLOCK_ROWS / CHUNK_ROWS;

/// Begin and end of each piece that has been parsed.
pub(super) type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Rows on their way. Dropping it stops the threads, without waiting for them, at the next piece they deliver.
pub(super) enum Delivery {
    /// Images, and the thread that reads them, until it has ended.
    Images(Receiver<Result<Chunk>>, Option<JoinHandle<()>>),
    /// A table.
    Table(Workers),
}

impl Delivery {
    /// Images, read by a thread.
    pub(super) fn images(images: Images, times: Option<Times>) -> Result<Self> {
        let (sender, chunks) = sync_channel(WAITING_CHUNKS);
        let work = move || {
            let mut begun = times.is_some().then(Instant::now);
            let read = images.read(|chunk| {
                note(times.as_ref(), begun);
                hand_over();
                let wanted = sender.send(Ok(chunk)).is_ok();
                begun = times.is_some().then(Instant::now);
                wanted
            });
            if let Err(error) = read {
                // Where nobody listens any more, nobody misses the error.
                let _ = sender.send(Err(error));
            }
        };
        Ok(Self::Images(chunks, Some(spawn("reader", "reads data", work)?)))
    }

    /// A table, read by so many threads; see [`Workers::start`].
    pub(super) fn table(rows: CsvRows, threads: Option<usize>, times: &Option<Times>) -> Result<Self> {
        Workers::start(rows, threads, times).map(Self::Table)
    }

    /// Adds the wanted rows to a table; false at the end, which may have come behind some of them.
    pub(super) fn fill(&mut self, table: &mut Table, wanted: Wanted) -> Result<bool> {
        let (chunks, thread) = match self {
            Self::Images(chunks, thread) => (chunks, thread),
            Self::Table(workers) => return workers.fill(table, wanted),
        };
        while let Ok(chunk) = chunks.recv() {
            hand_over();
            if wanted.add(table, chunk?)? {
                return Ok(true);
            }
        }
        // The end, or the thread has panicked, and so does this one.
        if let Some(thread) = thread.take() {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok(false)
    }
}

/// Notes that something was parsed since then.
pub(super) fn note(times: Option<&Times>, begun: Option<Instant>) {
    if let (Some(times), Some(begun)) = (times, begun) {
        times.lock().unwrap_or_else(PoisonError::into_inner).push((begun, Instant::now()));
    }
}
