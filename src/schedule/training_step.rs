//! What a schedule divides into dispatches.

use crate::kernels::{StepShape, Tuning};
use crate::model::Network;
use crate::step::UpdateRule;

/// A training step: a network, how its parameters change, and its batches.
#[derive(Debug, Clone, Copy)]
pub struct TrainingStep<'a> {
    /// The network.
    pub network: &'a Network,
    /// How parameters change.
    pub rule: &'a UpdateRule,
    /// Most rows of a batch.
    pub rows: usize,
    /// Whether rows have weights in the loss.
    pub weighted: bool,
}

impl<'a> TrainingStep<'a> {
    /// Without weights of rows.
    pub fn new(network: &'a Network, rule: &'a UpdateRule, rows: usize) -> Self {
        Self { network, rule, rows, weighted: false }
    }

    /// The two-dispatch step, where the kernels have room for the layers and none of them is an input layer.
    pub fn shape(&self, tuning: &Tuning) -> Option<StepShape> {
        let shape = || StepShape::new(self.network, self.rule, self.weighted, self.rows, tuning);
        self.network.input_layer().is_none().then(shape).flatten()
    }
}
