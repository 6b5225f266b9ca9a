//! Complete runs: steps compared with the reference, bitwise repetition, loading that overlaps with training,
//! profiles.

#[path = "training/augmented.rs"]
mod augmented;
#[path = "support/bounds.rs"]
mod bounds;
#[path = "training/differential.rs"]
mod differential;
#[path = "training/long.rs"]
mod long;
#[path = "training/lost.rs"]
mod lost;
#[path = "training/overlap.rs"]
mod overlap;
#[path = "training/pictures.rs"]
mod pictures;
#[path = "training/problem.rs"]
mod problem;
#[path = "training/profile.rs"]
mod profile;
#[path = "training/resumed.rs"]
mod resumed;
#[path = "training/rules.rs"]
mod rules;
#[path = "training/steps.rs"]
mod steps;
mod support;
#[path = "training/sweep.rs"]
mod sweep;
#[path = "training/verified.rs"]
mod verified;
