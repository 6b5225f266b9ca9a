//! How an engine trains.

use crate::step::ScheduleKind;
use crate::step::UpdateRule;

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
}

impl EngineOptions {
    /// Plain gradient descent at one rate, everything else by default.
    pub fn sgd(batch: usize, rate: f32) -> Self {
        let rule = UpdateRule::sgd(rate);
        Self { batch, rule, weighted: false, schedule: None, threads: None }
    }
}
