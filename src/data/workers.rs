//! Threads that read a table and parse it, and put its pieces together in order.
//!
//! A thread reads a piece and parses it itself, while the text is in its core's caches. One thread reads at a time, and one adds
//! rows to the table at a time; nobody waits for the latter.

use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, available_parallelism};
use std::time::Instant;

use super::BLOCK_ROWS;
use super::ahead::Ahead;
use super::csv_table::{CsvRows, CsvTable};
use super::dataset::Features;
use super::delivery::{Times, note};
use super::gather::{Done, Gatherer, Wanted};
use super::merge::Merger;
use super::piece::{PIECE_BYTES, Piece};
use super::pieces::Pieces;
use super::row_parser::RowParser;
use super::spare::Spare;
use super::table::Table;
use crate::Result;
use crate::threads::{hand_over, spawn};

/// Pieces that may wait until they are asked for: a block at least, but no more of them than this.
const MOST_WAITING: usize = 64;

/// Pieces that may wait for each thread at least.
const LEAST_WAITING: usize = 6;

/// Threads, unless another number is said: more would wait for the one that reads.
const MOST_THREADS: usize = 8;

/// A table that is read. Dropping it stops the threads, without waiting for them, behind the pieces they are at.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads have in common.
struct Shared {
    source: Mutex<Source>,
    state: Mutex<State>,
    gatherer: Mutex<Gatherer>,
    /// Notified where the rows that somebody waits for are there, or no more will come.
    changed: Condvar,
    /// Notified where there is room for more.
    taken: Condvar,
    /// Pieces that may wait.
    waiting: usize,
}

/// What is still to be read.
struct Source {
    first: Option<Piece>,
    pieces: Pieces,
    /// The number of the next piece.
    next: usize,
    is_over: bool,
}

/// What has been parsed.
#[derive(Default)]
struct State {
    /// Pieces in their order from number `taken` on; nothing where one is still parsed.
    done: VecDeque<Option<Result<Done>>>,
    /// Pieces that were asked for.
    taken: usize,
    /// Whether somebody waits for rows.
    is_wanted: bool,
    /// Threads that have not ended.
    left: usize,
    /// Whether nobody wants more.
    is_stopped: bool,
}

impl Workers {
    /// So many threads: one for each core, eight at most, unless said otherwise, and none for whom there is no piece.
    ///
    /// # Errors
    /// Where the system has no room for a single one.
    pub(super) fn start(rows: CsvRows, threads: Option<usize>, times: &Option<Times>) -> Result<Self> {
        let CsvRows { table, first, pieces, row_bytes, length } = rows;
        let table = Arc::new(table);
        let cores = || available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
        let all_pieces = length.map_or(usize::MAX, |bytes| bytes as usize / PIECE_BYTES + 1);
        let wanted = threads.unwrap_or_else(cores).clamp(1, all_pieces);
        let least = LEAST_WAITING * wanted;
        let shared = Arc::new(Shared {
            source: Mutex::new(Source { first: Some(first), pieces, next: 0, is_over: false }),
            state: Mutex::default(),
            gatherer: Mutex::new(Gatherer::new(Merger::new(Arc::clone(&table), wanted))),
            changed: Condvar::new(),
            taken: Condvar::new(),
            waiting: (BLOCK_ROWS * row_bytes / PIECE_BYTES).clamp(least, MOST_WAITING.max(least)),
        });
        let (mut workers, spare) = (Self { shared, threads: Vec::new() }, Spare::default());
        for thread in 0..wanted {
            let mut parser = Parser::new(&table, &spare, thread, times);
            workers.shared.state().left += 1;
            let working = Working(Arc::clone(&workers.shared));
            match spawn("parser", "reads and parses data", move || working.0.work(&mut parser)) {
                Ok(handle) => workers.threads.push(handle),
                Err(error) if workers.threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(workers)
    }

    /// Adds the wanted rows to a table; false at the end, which may have come behind some of them.
    ///
    /// # Errors
    /// That of the first row with a fault, and those of the file.
    pub(super) fn fill(&mut self, table: &mut Table, wanted: Wanted) -> Result<bool> {
        let shared = &self.shared;
        shared.gatherer().lend(std::mem::replace(table, Table::new()), wanted);
        shared.state().is_wanted = true;
        let is_filled = shared.wait();
        // Who has added the last of them lets go of the table next.
        let (filled, fault) = shared.gatherer().give_back().unwrap_or_else(|| unreachable!("lent above"));
        *table = filled;
        if !is_filled {
            // The end, or a thread has panicked, and so does this one.
            for thread in self.threads.drain(..) {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        }
        fault.map(|()| is_filled)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// Held by a thread as long as it lives.
struct Working(Arc<Shared>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.state().left -= 1;
        self.0.changed.notify_all();
        if std::thread::panicking() {
            // Its piece will never come, and nobody can take those behind it.
            self.0.stop();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the threads end.
    fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
        self.taken.notify_all();
    }

    fn gatherer(&self) -> MutexGuard<'_, Gatherer> {
        self.gatherer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and parses pieces until there are none, or nobody wants more.
    fn work(&self, parser: &mut Parser) {
        while let Some((number, piece)) = self.read() {
            hand_over();
            let done = piece.map(|piece| parser.parse(&piece));
            hand_over();
            let mut state = self.state();
            let place = number - state.taken;
            state.done[place] = Some(done);
            drop(state);
            self.gather();
        }
    }

    /// Adds the pieces that are ready to the table of whom waits for them, unless another thread does it.
    fn gather(&self) {
        // Where a thread has found another one here, what it has parsed is left to that one.
        while self.state().is_ready() {
            hand_over();
            // Where a thread has panicked here, what it had taken is lost, and nothing may follow.
            let Ok(mut gatherer) = self.gatherer.try_lock() else { return };
            while let Some(done) = self.take() {
                hand_over();
                if gatherer.add(done) {
                    self.state().is_wanted = false;
                    self.changed.notify_all();
                }
            }
        }
    }

    /// Waits until the rows that are wanted are there; false if fewer will come.
    fn wait(&self) -> bool {
        hand_over();
        // What was parsed while nobody waited.
        self.gather();
        let mut state = self.state();
        while state.is_wanted && state.left > 0 && !state.is_stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !std::mem::replace(&mut state.is_wanted, false)
    }

    /// The next piece, or what is wrong with it, when there is room for it, and its number.
    fn read(&self) -> Option<(usize, Result<Piece>)> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if source.is_over {
            return None;
        }
        let mut state = self.state();
        while state.done.len() >= self.waiting && !state.is_stopped {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_stopped {
            return None;
        }
        drop(state);
        let piece = match source.first.take() {
            Some(first) => Ok(Some(first)),
            None => source.pieces.next(),
        };
        source.is_over = !matches!(piece, Ok(Some(_)));
        let piece = piece.transpose()?;
        let number = source.next;
        source.next += 1;
        let mut state = self.state();
        state.done.push_back(None);
        Some((number, piece))
    }

    /// The next piece that was parsed, if it is there and somebody waits for it.
    fn take(&self) -> Option<Result<Done>> {
        let mut state = self.state();
        if !state.is_ready() {
            return None;
        }
        state.taken += 1;
        let done = state.done.pop_front().flatten();
        drop(state);
        self.taken.notify_one();
        done
    }
}

impl State {
    /// Whether somebody waits for the next piece, and it is there.
    fn is_ready(&self) -> bool {
        self.is_wanted && matches!(self.done.front(), Some(Some(_)))
    }
}

/// What one thread parses with.
struct Parser {
    thread: usize,
    rows: RowParser,
    ahead: Ahead,
    times: Option<Times>,
}

impl Parser {
    fn new(table: &Arc<CsvTable>, spare: &Spare<Features>, thread: usize, times: &Option<Times>) -> Self {
        let rows = RowParser::new(Arc::clone(table), spare.clone());
        Self { thread, rows, ahead: Ahead::default(), times: times.clone() }
    }

    fn parse(&mut self, piece: &Piece) -> Done {
        let begun = self.times.is_some().then(Instant::now);
        let parsed = self.rows.parse(piece, &mut self.ahead);
        note(self.times.as_ref(), begun);
        Done { thread: self.thread, parsed }
    }
}
