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

use std::future::ready;
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

/// What comes when a device is ready.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A network on a device, in training. What waits for a device is a call, and also a future, for threads that must not wait, such as
/// those of a browser. Of an engine that computes in the call the future is ready at once.
pub trait Engine: Instrumented + Send {
    /// Begins to train on `batches`, of the configured size each; the last may be shorter. Takes as many whole batches as
    /// there is room for, and gives the number of positions that it took: 0 when [`Engine::poll`] has to make room first.
    /// Call it again for the others, with nothing but the start of the positions moved.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`](crate::Error::Config) for rows that are not there.
    fn submit(&mut self, batches: &Batches<'_>) -> Result<usize>;

    /// The metrics of batches that have ended since the last call, in the order in which they were trained. With `wait`,
    /// waits for the oldest submission; none then means that nothing is on its way.
    ///
    /// # Errors
    /// Those of the device.
    fn poll(&mut self, wait: bool) -> Result<Vec<BatchMetrics>>;

    /// As [`Engine::poll`].
    fn poll_async(&mut self, wait: bool) -> Waiting<'_, Vec<BatchMetrics>> {
        Box::pin(ready(self.poll(wait)))
    }

    /// The parameters as they are. Call it when nothing is on its way, as with all methods below.
    ///
    /// # Errors
    /// Those of the device.
    fn parameters(&mut self) -> Result<Parameters>;

    /// As [`Engine::parameters`].
    fn parameters_async(&mut self) -> Waiting<'_, Parameters> {
        Box::pin(ready(self.parameters()))
    }

    /// The parameters, what the optimizer remembers and the number of steps, all of one moment.
    ///
    /// # Errors
    /// Those of the device; [`Error::Config`](crate::Error::Config) while metrics of a step have not been polled.
    fn snapshot(&mut self) -> Result<(Parameters, EngineState)>;

    /// As [`Engine::snapshot`].
    fn snapshot_async(&mut self) -> Waiting<'_, (Parameters, EngineState)> {
        Box::pin(ready(self.snapshot()))
    }

    /// Begins again with these parameters, this state and no rows, in the buffers and with the kernels that are there.
    ///
    /// # Errors
    /// Those of the device.
    fn restore(&mut self, parameters: &Parameters, state: &EngineState) -> Result<()>;

    /// Loss and predictions of `rows`, of networks that predict classes.
    ///
    /// # Errors
    /// Those of the device.
    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation>;

    /// As [`Engine::evaluate`].
    fn evaluate_async<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Evaluation> {
        Box::pin(ready(self.evaluate(rows)))
    }

    /// Outputs of the last layer for `rows`, [rows, outputs]: those from which [`Engine::evaluate`] predicts, bit for bit.
    /// A set may come in blocks, one call each, from its front on. Targets are not looked at.
    ///
    /// # Errors
    /// Those of the device.
    fn outputs(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>>;

    /// As [`Engine::outputs`].
    fn outputs_async<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Vec<f32>> {
        Box::pin(ready(self.outputs(rows)))
    }

    /// Gradient of the mean loss over one batch, the first rows of `rows` (at most a batch), without an update.
    ///
    /// # Errors
    /// Those of the device.
    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters>;

    /// As [`Engine::gradients`].
    fn gradients_async<'a>(&'a mut self, rows: &'a Rows<'a>) -> Waiting<'a, Parameters> {
        Box::pin(ready(self.gradients(rows)))
    }
}

/// What can be known of an engine beside its work. Call its methods when nothing is on its way.
pub trait Instrumented {
    /// What computes, and how.
    fn description(&self) -> Description;

    /// Sets the observer that receives timings of training; `None` costs nothing.
    fn observe(&mut self, observer: Observer);

    /// What the device can do at most, measured now.
    ///
    /// # Errors
    /// Those of the device.
    fn ceilings(&mut self) -> Result<Ceilings>;
}
