//! What an engine must do, whatever it computes on.

pub(crate) mod cpu;
mod device;
pub(crate) mod gpu;
pub(crate) mod recorder;

use std::fmt;
use std::ops::Range;

use crate::data::{Rows, rows_at};
use crate::error::Result;
use crate::kernels::Ceilings;
use crate::model::{Origin, Parameters};
use crate::schedule::{SelectedSchedule, Tiles};

pub use cpu::CpuEngine;
pub use device::{Device, DeviceRequest, find_device};
pub use gpu::GpuEngine;
pub(crate) use recorder::begin;
pub use recorder::{Clock, Detail, Log, Member, Observer, Recorder, Stage, Submission, Work};

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// The processor, without a driver.
    Cpu,
    /// An adapter of wgpu, real or software.
    Gpu,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineKind::Cpu => "cpu",
            EngineKind::Gpu => "gpu",
        })
    }
}

/// What one batch gave while it was trained, with the weights before its update.
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

impl Evaluation {
    /// The share of rows whose prediction is their label, from 0 to 1.
    pub fn accuracy(&self, labels: &[u32]) -> f64 {
        let correct = self.predictions.iter().zip(labels).filter(|(a, b)| a == b).count();
        correct as f64 / labels.len() as f64
    }
}

/// Takes the metrics of batches, in the order in which they were trained. An error ends training.
pub type Sink<'a> = dyn FnMut(BatchMetrics) -> Result<()> + 'a;

/// A network on a device, in training.
pub trait Engine {
    /// What computes.
    fn kind(&self) -> EngineKind;

    /// The device, for people.
    fn device(&self) -> String;

    /// Trains on the rows that `order` names, in that order, in batches of the configured size; the last may be
    /// shorter. `rows` are all that have been read so far: rows of earlier calls must still be the same. May return
    /// before the work is done; `sink` then hears of it in a later call.
    ///
    /// # Errors
    /// Those of the device and of `sink`.
    fn train(&mut self, rows: &Rows<'_>, order: &[u32], sink: &mut Sink<'_>) -> Result<()>;

    /// Trains on the rows at `positions` of an epoch's order, as [`rows_at`] gives it, otherwise as [`Engine::train`].
    /// The order may be made where the rows are. Positions are asked for one after the other; those of a later epoch
    /// than the first all at once.
    ///
    /// # Errors
    /// As [`Engine::train`].
    fn train_epoch(
        &mut self,
        rows: &Rows<'_>,
        seed: u64,
        epoch: usize,
        positions: Range<usize>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        self.train(rows, &rows_at(seed, epoch, rows.len(), positions), sink)
    }

    /// Waits until all that was asked for is trained, and `sink` has heard of it.
    ///
    /// # Errors
    /// Those of the device and of `sink`.
    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<()>;

    /// Loss and predictions of `rows` under the parameters as they are. Call it after [`Engine::finish`].
    ///
    /// # Errors
    /// Those of the device.
    fn evaluate(&mut self, rows: &Rows<'_>) -> Result<Evaluation>;

    /// Outputs of the last layer for `rows`, [rows, classes]: those from which [`Engine::evaluate`] predicts, bit for bit.
    /// A set may come in blocks, one call each, from its front on. Labels are not looked at. Call it after [`Engine::finish`].
    ///
    /// # Errors
    /// Those of the device.
    fn logits(&mut self, rows: &Rows<'_>) -> Result<Vec<f32>>;

    /// Which predictions are not their labels: row numbers in ascending order.
    ///
    /// # Errors
    /// Those of the device.
    fn errors(&mut self, labels: &[u32], predictions: &[u32]) -> Result<Vec<u32>> {
        let pairs = (0..).zip(labels.iter().zip(predictions));
        Ok(pairs.filter(|(_, (label, prediction))| label != prediction).map(|(row, _)| row).collect())
    }

    /// The parameters as they are. Call it after [`Engine::finish`].
    ///
    /// # Errors
    /// Those of the device.
    fn parameters(&mut self) -> Result<Parameters>;

    /// Gradient of the mean loss over one batch, the first rows of `rows` (at most a batch), without an update.
    ///
    /// # Errors
    /// Those of the device.
    fn gradients(&mut self, rows: &Rows<'_>) -> Result<Parameters>;

    /// From now on this one is told what takes how long in training, or nobody, which costs nothing. Call it after
    /// [`Engine::finish`].
    fn observe(&mut self, listener: Observer);

    /// Begins again with these parameters and no rows, in the buffers and with the kernels that are there. Call it after
    /// [`Engine::finish`].
    ///
    /// # Errors
    /// Those of the device.
    fn restart(&mut self, parameters: &Parameters) -> Result<()>;

    /// What the device can do at most, measured now.
    ///
    /// # Errors
    /// Those of the device.
    fn ceilings(&mut self) -> Result<Ceilings>;

    /// How a step is divided into dispatches, where it is.
    fn schedule(&self) -> Option<SelectedSchedule>;

    /// Tile shapes, where there are any.
    fn tiles(&self) -> Option<Tiles> {
        None
    }

    /// What a model's file tells of this.
    fn origin(&self) -> Origin {
        Origin {
            device: self.device(),
            schedule: self.schedule().map(|chosen| chosen.kind.to_string()),
            tuning: self.tiles().map(|tiles| tiles.tuning.to_string()),
        }
    }

    /// The dispatches of a step in words, one a line, where there are any.
    fn describe(&self) -> Vec<String>;
}
