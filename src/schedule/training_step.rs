//! Training steps, which schedules divide into dispatches.

use crate::kernels::{StepShape, Tuning};
use crate::model::Network;
use crate::step::UpdateRule;

/// A training step: a network, its update rule, and its batches.
#[derive(Debug, Clone, Copy)]
pub struct TrainingStep<'a> {
    /// The network.
    pub network: &'a Network,
    /// Update rule of the parameters.
    pub rule: &'a UpdateRule,
    /// Most rows of a batch.
    pub rows: usize,
    /// Whether rows have weights in the loss.
    pub weighted: bool,
}

impl<'a> TrainingStep<'a> {
    /// Creates a step without weights of rows.
    pub fn new(network: &'a Network, rule: &'a UpdateRule, rows: usize) -> Self {
        Self { network, rule, rows, weighted: false }
    }

    /// Returns the two-dispatch step, if the kernels support the number of layers and none of them is an
    /// input layer.
    pub fn shape(&self, tuning: &Tuning) -> Option<StepShape> {
        let shape = || StepShape::new(self.network, self.rule, self.weighted, self.rows, tuning);
        self.network.input_layer().is_none().then(shape).flatten()
    }
}
