//! Reading of training data: contents, timing, and errors of unreadable files.

#[path = "data/bundled_tables.rs"]
mod bundled_tables;
#[path = "data/categories.rs"]
mod categories;
#[path = "data/dialects.rs"]
mod dialects;
#[path = "data/errors.rs"]
mod errors;
#[path = "data/formats.rs"]
mod formats;
#[path = "data/idx_errors.rs"]
mod idx_errors;
#[path = "data/idx_labels.rs"]
mod idx_labels;
#[path = "data/jpeg.rs"]
mod jpeg;
#[path = "support/jpegs.rs"]
mod jpegs;
#[path = "data/mnist.rs"]
mod mnist;
#[path = "data/parts.rs"]
mod parts;
#[path = "data/places.rs"]
mod places;
#[path = "data/streaming.rs"]
mod streaming;
#[path = "data/support.rs"]
mod support;
#[path = "data/threads.rs"]
mod threads;
