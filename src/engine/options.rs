//! How an engine trains.

#[cfg(feature = "gpu")]
pub use crate::schedule::Measurements;
use crate::step::ScheduleKind;
use crate::step::UpdateRule;

/// Tile shapes that were measured; without GPUs there are none.
#[cfg(not(feature = "gpu"))]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurements {}

/// How an engine trains.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineOptions {
    /// Most rows of a batch.
    pub batch: usize,
    /// How parameters change.
    pub rule: UpdateRule,
    /// Whether rows have weights in the loss.
    pub weighted: bool,
    /// How a GPU divides a step into dispatches; nothing leaves it the choice.
    pub schedule: Option<ScheduleKind>,
    /// Most threads of the CPU engine; nothing is one for each core. They change no bit of what is trained.
    pub threads: Option<usize>,
    /// Tile shapes that were measured; those for the network and the device are taken, where there are any.
    pub measured: Measurements,
}

impl EngineOptions {
    /// Plain gradient descent at one rate, everything else by default.
    pub fn sgd(batch: usize, rate: f32) -> Self {
        let rule = UpdateRule::sgd(rate);
        let measured = Measurements::default();
        Self { batch, rule, weighted: false, schedule: None, threads: None, measured }
    }
}
