//! Trains tiny neural networks on any GPU, with hand-written WGSL kernels on wgpu, or on the CPU.
//!
//! Common items are re-exported here:
//!
//! | task | names |
//! |---|---|
//! | train on arrays, or on files | [`Trainer`], [`TrainSettings`], [`Reader`], [`ReadOptions`] |
//! | watch and steer a run | [`Run`], [`Event`], [`Epoch`], [`Summary`], [`train()`] |
//! | choose a device | [`DeviceRequest`], [`Device`], [`find_device`] |
//! | predict and evaluate | [`Model`], [`Predictor`], [`evaluate()`](fn@evaluate), [`importances`] |
//! | search and compare | [`Sweep`], [`Space`], [`CrossValidation`], [`RunFolder`] |
//!
//! The modules contain all other items: [`data`] (tables, images, the order of an epoch), [`settings`] (the
//! options and their defaults), [`train`](mod@train) (the epoch loop), [`model`] (networks and their file),
//! [`step`] (activations, losses, optimizers, learning rates), [`engine`] (GPU and CPU engines), [`sweep`],
//! [`runs`], [`evaluate`](mod@evaluate), [`profile`]. Features of the crate add more: `gpu` (default) adds
//! kernels on wgpu, `check` and `tune`; `export` ONNX, C and TensorBoard; `cli` (default) the program, with
//! all features.
//!
//! [`Trainer`] trains on arrays, and on files by named settings: see [`trainer`]. At a lower level,
//! [`train()`] starts with the first block of rows and reports through a closure; [`train::Run`] does the
//! same, with events returned one by one:
//!
//! ```
//! use std::io::Cursor;
//! use std::path::Path;
//! use tinytrain::{Config, Device, Event, ReadOptions, Reader, train};
//!
//! // Is the sum of two numbers above 1? The name `class` marks the target column.
//! let numbers = (0..2000).map(|i| (f64::from(i % 40) / 40.0, f64::from(i % 50) / 50.0));
//! let rows: String = numbers.map(|(a, b)| format!("{a},{b},{}\n", if a + b > 1.0 { "yes" } else { "no" })).collect();
//! let table = format!("a,b,class\n{rows}");
//! let reader = Reader::from_csv(Path::new("sums.csv"), Cursor::new(table), &ReadOptions::default())?;
//!
//! let config = Config { hidden: vec![16], epochs: 20, batch_size: 16, ..Config::default() };
//! let summary = train(&config, reader, None, &Device::Cpu, &mut |event| {
//!     if let Event::Epoch { epoch, .. } = event {
//!         println!("epoch {}: loss {:.4}", epoch.epoch, epoch.train.loss);
//!     }
//!     Ok(())
//! })?;
//! assert!(summary.epochs[19].train.accuracy > 0.95);
//! std::fs::write(std::env::temp_dir().join("sums.safetensors"), summary.model.to_bytes()?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro, clippy::todo)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(feature = "gpu")]
pub mod check;
mod clock;
pub mod data;
pub mod engine;
pub mod error;
pub mod evaluate;
#[cfg(feature = "export")]
pub mod export;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "gpu")]
pub mod kernels;
pub mod model;
mod named;
pub mod profile;
#[cfg(feature = "cli")]
pub mod report;
pub mod runs;
pub mod settings;
pub mod step;
pub mod sweep;
#[cfg(feature = "export")]
pub mod tensorboard;
mod threads;
pub mod timing;
pub mod train;
pub mod trainer;

// Public only for the program, the tests and the benchmarks of this package: may change in any version.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod prediction_lines;
#[doc(hidden)]
pub mod printable;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod reference;
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod vectors;
#[doc(hidden)]
pub use threads::in_order;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use threads::workers;

pub use data::{Dataset, ReadOptions, Reader};
pub use engine::{Device, DeviceRequest, find_device};
pub use error::{Error, Result};
#[cfg(feature = "export")]
pub use export::{Form, export};
#[cfg(feature = "gpu")]
pub use gpu::{Adapter, DeviceOptions, adapters};
pub use model::{Dense, Model, Network, Parameters};
/// The `ndarray` of the public API.
pub use ndarray;
pub use runs::{CrossValidation, RunFolder};
pub use settings::{DatasetInfo, Patience, Preset, TrainSettings};
pub use step::{Activation, Loss, OptimizerKind, RateSchedule, ScheduleKind};
pub use sweep::{Plan, Space, Sweep};
pub use train::{
    ClassWeights, Clip, Config, Epoch, Event, Keep, Predictor, Run, Score, Summary, evaluate, importances,
    measures, train,
};
pub use trainer::{Missing, Trainer};
