//! Engines that train a network: on an adapter, or on the processor.

pub(crate) mod augmented;
pub(crate) mod cpu;
mod description;
mod device;
mod drive;
pub(crate) mod ensemble;
mod find;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
mod options;
mod order;
pub(crate) mod recorder;
#[cfg(feature = "gpu")]
mod verified;

use std::ops::Range;
use std::pin::Pin;

pub use cpu::{CpuEngine, CpuTeam, TeamRows};
pub use description::{Description, EngineKind};
pub use device::{Device, DeviceRequest};
pub use drive::{Drive, Sink};
pub use ensemble::{DistortedCopies, EnsembleEngine};
pub(crate) use find::{GPU_START, Load};
pub use find::{find_device, find_device_for, leaves_gpu, predicts_soon};
#[cfg(feature = "gpu")]
pub use gpu::{GpuEngine, GpuPack, MemberMetrics, PackMember};
pub use options::EngineOptions;
pub(crate) use recorder::begin;
pub use recorder::{Clock, Detail, Log, Member, Observer, Recorder, Stage, Submission, Work};
#[cfg(feature = "gpu")]
pub(crate) use verified::verified_engine;

pub use crate::threads::block;

use crate::data::Rows;
use crate::error::Result;
use crate::model::Parameters;
use crate::timing::Ceilings;

/// Metrics of one training batch, computed with the parameters before its update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMetrics {
    /// Number of rows.
    pub rows: usize,
    /// Sum of the rows' losses.
    pub loss: f64,
    /// Number of correctly classified rows.
    pub correct: u64,
}

/// Results of a pass over a data set without training.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Mean loss.
    pub loss: f64,
    /// Predicted class of every row.
    pub predictions: Vec<u32>,
}

/// The order in which rows are trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order<'a> {
    /// These rows, in order.
    Given(&'a [u32]),
    /// Order of an epoch, as [`rows_at`](crate::data::rows_at) returns it. It may be computed on the device.
    Epoch {
        /// The seed.
        seed: u64,
        /// The epoch, from 1.
        epoch: usize,
    },
}

/// Some batches to train.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    /// All rows that have been read so far: rows of earlier calls must still be the same.
    pub rows: Rows<'a>,
    /// Their order.
    pub order: Order<'a>,
    /// Positions of the order. Positions of the first epoch come in sequence; positions of a later epoch all
    /// at once, then the remaining ones.
    pub positions: Range<usize>,
    /// Number of the epoch, on which the distortions of its rows depend.
    pub epoch: usize,
}

/// State of an optimizer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineState {
    /// Number of steps done.
    pub step: u64,
    /// State numbers, each in the form of the parameters; an empty list means all zeros.
    pub optimizer: Vec<Parameters>,
}

/// A result that becomes ready with the device. [`block`] waits for it; a thread that must not block, such as
/// a browser's main thread, awaits it.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A network on a device. Futures of an engine that computes synchronously are ready at once.
pub trait Inference: Send {
    /// Returns loss and predictions of `rows`, for networks that predict classes.
    ///
    /// # Errors
    /// Errors of the device.
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation>;

    /// Returns outputs of the last layer for `rows`, [rows, outputs]: [`Inference::evaluate`] predicts from
    /// the same bits. A set may come in blocks, one call each, in order. Targets are ignored.
    ///
    /// # Errors
    /// Errors of the device.
    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>>;

    /// Returns the device, and how it computes.
    fn description(&self) -> Description;
}

/// A network on a device, in training.
pub trait Engine: Inference {
    /// Begins to train on `batches`, of the configured size each; the last may be shorter. Takes the whole
    /// batches that fit, and returns the number of positions taken: 0 when [`Engine::poll`] has to make room
    /// first. Call this again for the remaining batches, with only the start of the positions moved.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`](crate::Error::Config) for rows that do not exist.
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize>;

    /// Returns the metrics of batches that have ended since the last call, in the order of training. With
    /// `wait`, waits for the oldest submission; an empty result then means that nothing is in flight.
    ///
    /// # Errors
    /// Errors of the device.
    fn poll(&mut self, wait: bool) -> Waiting<'_, Vec<BatchMetrics>>;

    /// Returns the current parameters. Call this when nothing is in flight, as all methods below.
    ///
    /// # Errors
    /// Errors of the device.
    fn parameters(&mut self) -> Waiting<'_, Parameters>;

    /// Returns the parameters, the optimizer's state and the number of steps, all of one moment.
    ///
    /// # Errors
    /// Errors of the device; [`Error::Config`](crate::Error::Config) while metrics of a step have not been
    /// polled.
    fn snapshot(&mut self) -> Waiting<'_, (Parameters, EngineState)>;

    /// Begins again with these parameters, this state and no rows, reusing buffers and kernels.
    ///
    /// # Errors
    /// Errors of the device.
    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()>;

    /// Returns the gradient of the mean loss over one batch, the first rows of `rows` (at most a batch),
    /// without an update.
    ///
    /// # Errors
    /// Errors of the device.
    fn gradients<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Parameters>;

    /// Sets the observer that receives timings of training; `None` costs nothing.
    fn observe(&mut self, observer: Observer);

    /// Measures the ceilings of the device.
    ///
    /// # Errors
    /// Errors of the device.
    fn ceilings(&mut self) -> Result<Ceilings>;
}
