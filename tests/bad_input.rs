//! Invalid input: exit code 2 (or 3), a one-line reason, and no files left.

mod program;

#[path = "bad_input/check.rs"]
mod check;
#[cfg(unix)]
#[path = "bad_input/corpus.rs"]
mod corpus;
#[path = "bad_input/images.rs"]
mod images;
#[path = "bad_input/learning.rs"]
mod learning;
#[cfg(target_os = "linux")]
#[path = "bad_input/memory.rs"]
mod memory;
#[path = "bad_input/models.rs"]
mod models;
#[path = "bad_input/options.rs"]
mod options;
#[path = "bad_input/tables.rs"]
mod tables;
