//! The thread that reads and parses, and the rows it has delivered so far.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::BLOCK_ROWS;
use super::csv::Rows;
use super::dataset::{Dataset, FeaturesRef, Rows as RowsView, Scaling};
use super::idx::{CHUNK_ROWS, Images, read_labels};
use super::locate::Source;
use super::stream::Stream;
use super::table::{Chunk, Table};
use crate::error::Place;
use crate::threads::spawn;
use crate::{Error, Result};

/// Blocks of a table that may wait between the reader thread and its consumer.
const WAITING_BLOCKS: usize = 4;

/// The same of images in chunks: a whole block, which is there when the one before is trained.
const WAITING_CHUNKS: usize = BLOCK_ROWS / CHUNK_ROWS;

/// The column of a table that holds the labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LabelColumn {
    /// The first one.
    #[default]
    First,
    /// The one with this text in the header; where there is none, the one with this index, counted from 0.
    Named(String),
}

/// What a reader has to know besides the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// Where the labels of a CSV table are.
    pub label_column: LabelColumn,
    /// Whether a table in which all labels are the same is an error: true for training, false for tests.
    pub needs_two_classes: bool,
    /// Whether the reader thread looks at the clock round every block: see [`Reader::times`].
    pub timed: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { label_column: LabelColumn::First, needs_two_classes: true, timed: false }
    }
}

/// A block of rows, or the end.
type Message = Result<Option<Chunk>>;

/// Reads a data set in a thread of its own and gathers the rows.
///
/// Dropping it stops the thread, without waiting for it, at the next block it delivers.
pub struct Reader {
    name: PathBuf,
    inputs: usize,
    table: Table,
    known_rows: Option<usize>,
    is_idx: bool,
    times: Option<Times>,
    state: State,
}

/// Begin and end of each block that the thread has parsed.
type Times = Arc<Mutex<Vec<(Instant, Instant)>>>;

enum State {
    Reading { chunks: Receiver<Message>, thread: JoinHandle<()> },
    Complete,
    Failed,
}

impl Reader {
    /// Opens the files, checks their headers and starts reading.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        match source {
            Source::Idx { images, labels } => {
                // The labels come first and wholly: they tell how many classes there are.
                let labels_stream = Stream::open(labels)?;
                Self::idx(labels_stream, || Stream::open(images), options)
            }
            Source::Csv { path } => Self::csv(Stream::open(path)?, options),
        }
    }

    /// Reads CSV from any source of bytes; `name` stands for the path in messages.
    pub fn from_csv(name: &Path, stream: impl Read + Send + 'static, options: &ReadOptions) -> Result<Self> {
        Self::csv(Stream::new(name, stream)?, options)
    }

    /// Reads IDX from any two sources of bytes; the names stand for the paths in messages.
    pub fn from_idx(
        images_name: &Path,
        images: impl Read + Send + 'static,
        labels_name: &Path,
        labels: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        Self::idx(Stream::new(labels_name, labels)?, || Stream::new(images_name, images), options)
    }

    fn csv(stream: Stream, options: &ReadOptions) -> Result<Self> {
        let name = stream.name().to_path_buf();
        let rows = Rows::open(stream, options)?;
        let inputs = rows.inputs();
        let times = options.timed.then(Times::default);
        let state = start(WAITING_BLOCKS, times.clone(), |emit| rows.read(emit))?;
        Ok(Self {
            name,
            inputs,
            table: Table::new(Vec::new()),
            known_rows: None,
            is_idx: false,
            times,
            state,
        })
    }

    fn idx(
        mut labels_stream: Stream,
        open_images: impl FnOnce() -> Result<Stream>,
        options: &ReadOptions,
    ) -> Result<Self> {
        let labels = read_labels(&mut labels_stream)?;
        if options.needs_two_classes && labels.iter().all(|label| *label == labels[0]) {
            let found = format!("only label {}", labels[0]);
            return Err(labels_stream.error(Place::default(), "labels of two or more classes", found));
        }
        let images = Images::open(open_images()?, labels.len(), labels_stream.name())?;
        let name = images.name().to_path_buf();
        let inputs = images.inputs();
        let rows = labels.len();
        let mut table = Table::new(labels);
        table.reserve(rows * inputs, &name)?;
        let times = options.timed.then(Times::default);
        let state = start(WAITING_CHUNKS, times.clone(), |emit| images.read(emit))?;
        Ok(Self { name, inputs, table, known_rows: Some(rows), is_idx: true, times, state })
    }

    /// Waits until one more block of [`BLOCK_ROWS`] rows is in, or the end of the file.
    ///
    /// `Ok(false)` once everything had been delivered before the call.
    pub fn next_block(&mut self) -> Result<bool> {
        let received = self.receive_block();
        if received.is_err() {
            self.state = State::Failed;
        }
        received
    }

    fn receive_block(&mut self) -> Result<bool> {
        let before = self.rows();
        while let Some(chunk) = self.receive()? {
            self.table.append(chunk, &self.name)?;
            // After the last row whose number was known, the end of the file is still to be looked at.
            let at_end = self.known_rows == Some(self.rows());
            if self.rows().is_multiple_of(BLOCK_ROWS) && !at_end {
                break;
            }
        }
        Ok(self.rows() > before)
    }

    fn receive(&mut self) -> Message {
        let chunks = match &self.state {
            State::Reading { chunks, .. } => chunks,
            State::Complete => return Ok(None),
            State::Failed => {
                let name = self.name.display();
                return Err(Error::Config(format!("{name}: cannot go on after an error")));
            }
        };
        let message = chunks.recv();
        if let Ok(Ok(Some(_)) | Err(_)) = message {
            return message.expect("it was just matched");
        }
        // The end, or no message at all: then the thread has panicked, and so does this one.
        if let State::Reading { thread, .. } = std::mem::replace(&mut self.state, State::Complete)
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        Ok(None)
    }

    /// Reads everything that is left.
    pub fn read_to_end(&mut self) -> Result<()> {
        while self.next_block()? {}
        Ok(())
    }

    /// Whether all rows are here and the file proved to be whole.
    pub fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// When the thread began and ended to read and parse each block so far; none unless it was asked for.
    pub fn times(&self) -> Vec<(Instant, Instant)> {
        let times = self.times.as_ref();
        times.map_or_else(Vec::new, |times| times.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Rows delivered so far.
    pub fn rows(&self) -> usize {
        self.table.features.len() / self.inputs
    }

    /// Rows of the whole data set: known in advance for IDX, at the end for CSV.
    pub fn total_rows(&self) -> Option<usize> {
        self.known_rows.or(self.is_complete().then(|| self.rows()))
    }

    /// The file, or what stands for it in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Values of a row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The greatest label + 1: of the whole file for IDX, of the rows so far for CSV.
    pub fn classes(&self) -> usize {
        self.table.classes()
    }

    /// How values become inputs, by what has been seen so far.
    ///
    /// IDX holds bytes. A CSV table of whole numbers from 0 to 255, at least one of them above 16, is taken
    /// for bytes, every other one as it is.
    pub fn scaling(&self) -> Scaling {
        if self.is_idx || self.table.looks_like_pixels() { Scaling::Bytes } else { Scaling::AsIs }
    }

    /// The rows `range`, which must have been delivered, as network inputs, and their labels.
    pub fn block(&self, range: Range<usize>, scaling: Scaling) -> (FeaturesRef<'_>, &[u32]) {
        let rows = self.view(scaling);
        (rows.scaled(range.clone()), &rows.labels[range])
    }

    /// All rows delivered so far, under `scaling`.
    pub fn view(&self, scaling: Scaling) -> RowsView<'_> {
        let labels = &self.table.labels[..self.rows()];
        let total = self.total_rows();
        RowsView { inputs: self.inputs, features: &self.table.features, labels, scaling, total }
    }

    /// Reads to the end and hands over all rows as network inputs under `scaling`.
    pub fn into_dataset(mut self, scaling: Scaling) -> Result<Dataset> {
        self.read_to_end()?;
        let labels = std::mem::take(&mut self.table.labels);
        let features = self.table.into_scaled(scaling, &self.name)?;
        Ok(Dataset { inputs: self.inputs, features, labels })
    }
}

/// Starts the thread that parses; what it emits arrives chunk by chunk, then the end or an error. So many may be
/// `waiting`.
fn start(
    waiting: usize,
    times: Option<Times>,
    parse: impl FnOnce(&mut dyn FnMut(Chunk) -> bool) -> Result<()> + Send + 'static,
) -> Result<State> {
    let (sender, chunks): (SyncSender<Message>, _) = sync_channel(waiting);
    let work = move || {
        let now = || times.as_ref().map(|_| Instant::now());
        let mut begun = now();
        let parsed = parse(&mut |chunk| {
            if let (Some(times), Some(begin), Some(end)) = (&times, begun, now()) {
                times.lock().unwrap_or_else(PoisonError::into_inner).push((begin, end));
            }
            let wanted = sender.send(Ok(Some(chunk))).is_ok();
            begun = now();
            wanted
        });
        // Where nobody listens any more, nobody misses the end.
        let _ = sender.send(parsed.map(|()| None));
    };
    let thread = spawn("reader", "reads data", work)?;
    Ok(State::Reading { chunks, thread })
}
