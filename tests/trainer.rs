//! Networks from arrays: the same as from files, and errors of arrays.

mod program;

#[path = "trainer/errors.rs"]
mod errors;
#[path = "trainer/examples.rs"]
mod examples;
#[path = "trainer/like_files.rs"]
mod like_files;
#[path = "trainer/models.rs"]
mod models;
#[path = "trainer/tables.rs"]
mod tables;
