//! Training data: from files to rows. Knows neither GPU nor model.

mod by_column;
mod categories;
mod cells;
mod classes;
mod columns;
mod copied;
mod csv_table;
mod dataset;
mod decimal;
mod delivery;
mod dialect;
mod encoded;
mod encoding;
mod folds;
mod groups;
mod header;
mod idx;
mod image;
mod inputs;
mod labelled;
mod locate;
mod merge;
mod normal_score;
mod number;
mod order;
mod pieces;
mod raw_table;
mod reader;
mod recent;
mod row;
mod row_cells;
mod row_parser;
mod sorted;
mod sorted_floats;
mod split;
mod statistics;
mod stream;
mod summary;
mod table;
mod target;
mod targets;
mod transform;
mod zstd;

pub use categories::Dictionary;
pub use classes::Classes;
pub use columns::{Column, LeftOut, Schema, Selection, Target, Why};
pub use dataset::{Dataset, Features, FeaturesRef, Rows, Scaling};
pub use dialect::Format;
pub use encoding::{Code, Encoding, Map};
pub use folds::Fold;
pub use image::read_png;
pub use locate::{Source, Sources, is_png, labels_beside, locate};
pub use order::{first_epoch_block, order, rows_at};
pub use raw_table::RawTable;
pub use reader::{Block, ReadOptions, Reader};
pub use sorted::is_sorted;
pub use split::{Parts, Split};
pub use summary::{ColumnSummary, Contents};
pub use targets::{TargetScale, Targets, TargetsRef};
pub use transform::{Scale, Transform};

/// Rows of the first epoch are shuffled within blocks of this many rows; training starts when the first
/// block is in. The same for every format and engine.
pub const BLOCK_ROWS: usize = 4096;
