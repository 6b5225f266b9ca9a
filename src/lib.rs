//! Trains tiny neural networks on any GPU, with hand-written WGSL kernels on wgpu, or on the processor.
//!
//! | module | what lives there |
//! |---|---|
//! | [`data`] | IDX and CSV files, read in a thread of their own; the order of an epoch |
//! | [`model`] | a network's shape, its parameters, its safetensors file |
//! | [`trainer`] | networks from arrays, in ten lines |
//! | [`settings`] | what is asked for, by the names of the options, and what follows from it |
//! | [`train`] | the epoch loop, evaluation |
//! | [`engine`] | what computes: on an adapter, or on the processor |
//! | [`schedule`] | a step as a list of dispatches, and which list a run takes |
//! | [`step`] | what a step computes: activations, losses, optimizers, learning rates, dropout |
//! | [`evaluate`] | which rows a model is evaluated on |
//! | [`export`] | models for other programs: ONNX, C, numpy, JSON |
//! | [`tensorboard`] | event files of TensorBoard |
//! | [`runs`] | folders of runs: what is saved of one, and what these tell |
//! | [`sweep`] | many networks at once: their settings, their training, the best of them, ensembles |
//! | [`tune`] | the fastest tile shapes for a network on a device |
//! | [`kernels`] | every shader in `shaders/`: its host half, a function that runs it, what it costs |
//! | [`profile`] | where the time of a run goes: kernels, gaps, the host, reading; as a table, JSON, a trace |
//! | [`check`] | every kernel and every gradient of a device against the reference |
//! | [`gpu`] | adapters, devices, pipelines, buffers |
//! | [`vectors`] | how long the vectors of the processor are that are taken |
//! | [`mod@reference`] | every kernel and every gradient again in f64, the oracle of the tests |
//!
//! [`Trainer`] trains on arrays, and on files by settings with names: see [`trainer`]. Below it a run is one call. It starts
//! when the first block of rows is there and reports through a closure; [`train::Run`] is the same, pulled event by event:
//!
//! ```
//! use std::io::Cursor;
//! use std::path::Path;
//! use tinytrain::data::{ReadOptions, Reader};
//! use tinytrain::engine::Device;
//! use tinytrain::train::{Config, Event, train};
//!
//! // Is the sum of two numbers above 1? The column that answers has a name by which it is known.
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

pub mod check;
pub mod convert;
pub mod data;
pub mod engine;
pub mod error;
pub mod evaluate;
#[cfg(feature = "export")]
pub mod export;
pub mod gpu;
pub mod kernels;
pub mod memory;
pub mod model;
mod named;
pub mod output;
#[cfg(feature = "plots")]
pub mod pictures;
pub mod profile;
pub mod random;
pub mod reference;
pub mod runs;
pub mod schedule;
pub mod settings;
pub mod step;
pub mod sweep;
#[cfg(feature = "export")]
pub mod tensorboard;
mod threads;
pub mod train;
pub mod trainer;
pub mod tune;
pub mod vectors;

pub use engine::DeviceRequest;
pub use error::{Error, Result};
pub use model::Model;
/// The crate whose arrays are taken, in the version that is taken.
pub use ndarray;
pub use settings::{Patience, Preset, TrainSettings};
pub use step::{Activation, Loss, OptimizerKind, RateSchedule};
pub use threads::in_order;
pub use train::{ClassWeights, Clip, Event, Keep, Run, Summary};
pub use trainer::{Missing, Trainer};
