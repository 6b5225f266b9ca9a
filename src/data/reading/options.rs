//! Options of a reader.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::data::columns::Selection;
use crate::data::columns::class_names::ClassNames;
use crate::data::dialect::Format;
use crate::data::images::folders::ImageOptions;

/// Options of a reader.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The columns of a CSV table to read.
    pub columns: Selection,
    /// The format of a CSV table.
    pub format: Format,
    /// Whether a CSV table of pixels is read completely before training, as other tables are.
    pub read_all: bool,
    /// The conversion of images.
    pub images: ImageOptions,
    /// Names of classes whose labels are numbers.
    pub class_names: Option<Arc<ClassNames>>,
    /// Maximum number of threads that parse a table, and that examine its columns; by default one per core, of which at
    /// most eight parse. With 0, and in browsers, the consumer's thread reads the rows. The result does not depend on
    /// the number.
    pub threads: Option<usize>,
    /// Whether parsing threads measure the time of every piece: see [`Reader::times`](crate::data::Reader::times).
    pub timed: bool,
    /// Once set, ends a wait for rows with [`Error::Interrupted`](crate::Error::Interrupted); the reader can continue
    /// afterwards.
    pub stop: Option<Arc<AtomicBool>>,
}
