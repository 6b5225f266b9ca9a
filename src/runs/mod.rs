//! Saved runs: their folders, summaries of these, and the metrics of their epochs.

mod checkpoints;
#[cfg(feature = "export")]
mod event_log;
pub mod figures;
mod folder;
mod folds;
mod lock;
mod run_summary;

pub use checkpoints::{CheckpointClock, CheckpointInterval};
#[cfg(feature = "export")]
pub use event_log::EventLog;
pub use folder::{
    CHECKPOINT, CONFIG, HISTORY, MODEL, RUN_FILES, RunFolder, checkpoint, new_folder, refuse_used,
};
pub use folds::{CrossValidation, FoldResult, FoldRun};
pub use lock::{FolderLock, Fresh, RUNS};
pub(crate) use run_summary::from_toml;
pub use run_summary::{RunSummary, read_settings};
