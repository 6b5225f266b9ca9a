//! What a reader has to know besides the files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::data::columns::Selection;
use crate::data::dialect::Format;
use crate::data::images::folders::ImageOptions;

/// What a reader has to know besides the files.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Which columns of a CSV table are read.
    pub columns: Selection,
    /// How a CSV table is written.
    pub format: Format,
    /// Whether a CSV table of pixels is read whole, as other tables are, and not while it trains.
    pub read_all: bool,
    /// What images in folders become.
    pub images: ImageOptions,
    /// Most threads that parse a table, and that look through its columns; nothing is one for each core, of those that parse
    /// eight at most. With 0, and in browsers, whoever asks for rows reads them. They change nothing of what is read.
    pub threads: Option<usize>,
    /// Whether the threads that parse read the clock round every piece: see [`Reader::times`](crate::data::Reader::times).
    pub timed: bool,
    /// Ends a wait for rows with [`Error::Interrupted`](crate::Error::Interrupted) once it is set; the reader can go on afterwards.
    pub stop: Option<Arc<AtomicBool>>,
}
