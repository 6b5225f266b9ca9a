//! Training data: from files to rows. Independent of GPUs and models.

mod columns;
pub mod data_paths;
mod dataset;
mod dialect;
mod encoding;
pub(crate) mod excerpt;
mod images;
mod order;
mod reader;
mod reading;
mod splitting;

pub use columns::categories::Dictionary;
pub use columns::class_names::ClassNames;
pub use columns::classes::Classes;
pub(crate) use columns::inputs::are_different_texts;
pub use columns::label_type::LabelType;
pub(crate) use columns::label_type::{has_leading_zero, truth};
pub(crate) use columns::numbers_as_text::number_among;
pub(crate) use columns::odd_cells;
pub use columns::odd_cells::MixedColumn;
pub use columns::schema::{Column, Schema};
pub(crate) use columns::time::{PARTS as DATE_PARTS, date as date_in, parts_of as date_of};
pub use columns::{IgnoredBecause, IgnoredColumn, NumbersAsText, Selection, Target};
pub use dataset::{BLOCK_ROWS, Dataset, Features, FeaturesRef, Rows, Scaling};
pub use dialect::Format;
pub(crate) use dialect::notation::Notation;
#[cfg(feature = "export")]
pub(crate) use dialect::number::MISSING;
pub(crate) use dialect::number::{float, is_missing};
#[cfg(feature = "export")]
pub(crate) use encoding::normal_score::{NORMAL_QUANTILE, RANK_MARGIN};
pub use encoding::scale::Scale;
pub(crate) use encoding::targets::repeated;
pub use encoding::targets::{TargetScale, Targets, TargetsRef};
pub use encoding::transform::Transform;
pub use encoding::unknown::{UnknownCells, UnknownKind};
pub use encoding::{ColumnEncoding, Encoding, NumericScaling};
pub use images::ImageForm;
pub use images::file::{image_form, read_image};
pub use images::folders::{ImageOptions, images_in};
pub use order::sorted::is_sorted;
pub use order::{first_epoch_block, order, rows_at};
pub(crate) use reader::memory_rows::{KeptTogether, MemoryCells, MemoryRows, MemoryTargets, MemoryTexts};
pub use reader::odd_labels::{OddLabel, Oddity};
pub use reader::summary::{ColumnSummary, Contents};
pub use reader::{Block, Reader};
pub use reading::locate::{Source, Sources, is_image, locate};
pub use reading::options::ReadOptions;
pub use reading::subsets::Subset;
pub use splitting::{Fold, Part, Parts, Split};
