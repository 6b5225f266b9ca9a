//! Whole runs: steps against the reference, repetition bit for bit, loading that overlaps with training, profiles.

#[path = "support/bounds.rs"]
mod bounds;
#[path = "training/overlap.rs"]
mod overlap;
#[path = "training/pictures.rs"]
mod pictures;
#[path = "training/profile.rs"]
mod profile;
#[path = "training/steps.rs"]
mod steps;
mod support;
