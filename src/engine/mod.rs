//! What trains a network: on an adapter, or on the processor.

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
pub use ensemble::EnsembleEngine;
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

/// What one batch gave while it was trained, with the parameters before its update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchMetrics {
    /// Rows of the batch.
    pub rows: usize,
    /// Sum of their losses.
    pub loss: f64,
    /// How many were classified correctly.
    pub correct: u64,
}

/// What a pass over a data set without training gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Mean loss.
    pub loss: f64,
    /// The predicted class of every row.
    pub predictions: Vec<u32>,
}

/// The order in which rows are trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order<'a> {
    /// These rows one after the other.
    Given(&'a [u32]),
    /// The order of an epoch, as [`rows_at`](crate::data::rows_at) returns it. It may be made on the device.
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
    /// Which positions of the order. Those of the first epoch come one after the other; those of a later epoch
    /// all at once, and what is left of them.
    pub positions: Range<usize>,
}

/// What an optimizer remembers from step to step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineState {
    /// Steps so far.
    pub step: u64,
    /// The numbers of state, each in the form of the parameters; none is all zeros.
    pub optimizer: Vec<Parameters>,
}

/// A result that is ready when the device is. [`block`] waits for it; a thread that must not wait, such as that of a browser, awaits it.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A network on a device. Futures of an engine that computes in the call are ready at once.
pub trait Inference: Send {
    /// Loss and predictions of `rows`, of networks that predict classes.
    ///
    /// # Errors
    /// Those of the device.
    fn evaluate<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation>;

    /// Outputs of the last layer for `rows`, [rows, outputs]: [`Inference::evaluate`] predicts from the same bits. A set may come in
    /// blocks, one call each, in order. Targets are ignored.
    ///
    /// # Errors
    /// Those of the device.
    fn outputs<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>>;

    /// The device, and how it computes.
    fn description(&self) -> Description;
}

/// A network on a device, in training.
pub trait Engine: Inference {
    /// Begins to train on `batches`, of the configured size each; the last may be shorter. Takes as many whole batches as
    /// there is room for, and returns the number of positions that it took: 0 when [`Engine::poll`] has to make room first.
    /// Call it again for the others, with only the start of the positions moved.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`](crate::Error::Config) for rows that are not there.
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize>;

    /// The metrics of batches that have ended since the last call, in the order in which they were trained. With `wait`,
    /// waits for the oldest submission; none then means that nothing is in flight.
    ///
    /// # Errors
    /// Those of the device.
    fn poll(&mut self, wait: bool) -> Waiting<'_, Vec<BatchMetrics>>;

    /// The current parameters. Call it when nothing is in flight, as all methods below.
    ///
    /// # Errors
    /// Those of the device.
    fn parameters(&mut self) -> Waiting<'_, Parameters>;

    /// The parameters, the optimizer's state and the number of steps, all of one moment.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`](crate::Error::Config) while metrics of a step have not been polled.
    fn snapshot(&mut self) -> Waiting<'_, (Parameters, EngineState)>;

    /// Begins again with these parameters, this state and no rows, in the buffers and with the kernels that are there.
    ///
    /// # Errors
    /// Those of the device.
    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()>;

    /// Gradient of the mean loss over one batch, the first rows of `rows` (at most a batch), without an update.
    ///
    /// # Errors
    /// Those of the device.
    fn gradients<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Parameters>;

    /// Sets the observer that receives timings of training; `None` costs nothing.
    fn observe(&mut self, observer: Observer);

    /// The ceilings of the device, measured now.
    ///
    /// # Errors
    /// Those of the device.
    fn ceilings(&mut self) -> Result<Ceilings>;
}
