//! Training options of engines.

use crate::step::{Distortion, ScheduleKind, UpdateRule};

/// Training options of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineOptions {
    /// Most rows of a batch.
    pub batch: usize,
    /// Update rule of the parameters.
    pub rule: UpdateRule,
    /// Whether rows have weights in the loss.
    pub weighted: bool,
    /// Division of a step into dispatches on a GPU; `None` lets the engine choose.
    pub schedule: Option<ScheduleKind>,
    /// Most threads of the CPU engine; `None` is one per core. The number does not affect the results.
    pub threads: Option<usize>,
    /// Random distortions of the training rows, which are images, in each epoch.
    pub distortion: Option<Distortion>,
}

impl EngineOptions {
    /// Returns options for plain gradient descent at a constant rate, with defaults otherwise.
    pub fn sgd(batch: usize, rate: f32) -> Self {
        let rule = UpdateRule::sgd(rate);
        Self { batch, rule, weighted: false, schedule: None, threads: None, distortion: None }
    }
}
