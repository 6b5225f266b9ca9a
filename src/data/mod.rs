//! Training data: from files to rows. Knows neither GPU nor model.

mod csv;
mod dataset;
mod decimal;
mod idx;
mod image;
mod locate;
mod number;
mod order;
mod quotes;
mod reader;
mod stream;
mod table;

pub use dataset::{Dataset, Features, FeaturesRef, Rows, Scaling};
pub use image::read_png;
pub use locate::{Source, Sources, locate};
pub use order::{first_epoch_block, order, rows_at};
pub use reader::{LabelColumn, ReadOptions, Reader};

/// Rows of the first epoch are shuffled within blocks of this many rows; training starts when the first
/// block is in. The same for every format and engine.
pub const BLOCK_ROWS: usize = 4096;
