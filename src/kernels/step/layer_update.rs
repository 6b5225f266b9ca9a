//! What the kernels that update parameters receive of the optimizer.

use crate::kernels::{Piece, vec4s, word};
use crate::model::ParameterLayout;
use crate::step::{OptimizerKind, UpdateRule};

/// How the parameters of a layer are updated in place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerUpdate {
    /// The optimizer.
    pub optimizer: OptimizerKind,
    /// How far behind a parameter its optimizer state stands, in vec4s.
    pub state: usize,
    /// How far behind that the second number of state stands.
    pub region: usize,
    /// Factors of the learning rate: of the weights, of the bias.
    pub rates: [f32; 2],
    /// Factor of the weight decay of the bias.
    pub bias_decay: f32,
}

impl LayerUpdate {
    /// Of layer `layer`, from 0, by this rule in this layout.
    pub fn of(rule: &UpdateRule, layout: &ParameterLayout, layer: usize) -> Self {
        Self::at(rule, layout, rule.factors.of(layer))
    }

    /// Of the input layer: its weights, and as a bias its factors of inputs.
    pub fn of_input(rule: &UpdateRule, layout: &ParameterLayout) -> Self {
        Self::at(rule, layout, rule.factors.of_input())
    }

    fn at(rule: &UpdateRule, layout: &ParameterLayout, rates: [f32; 2]) -> Self {
        Self {
            optimizer: rule.optimizer.kind,
            state: layout.state_distance(),
            region: layout.weights(),
            rates,
            bias_decay: rule.bias_decay(),
        }
    }

    /// Bytes behind the last parameter up to the end of its optimizer state.
    pub(crate) fn reach(&self) -> u64 {
        match self.optimizer.states() {
            0 => 0,
            states => vec4s(&[&[self.state], &[states - 1, self.region]]),
        }
    }

    /// The piece that includes the optimizer.
    pub(crate) fn piece(&self) -> (&'static str, Piece) {
        ("optimizer", Piece::Text(self.optimizer.shader().to_owned()))
    }

    /// State distance and region, rates of weights and bias, and decay of the bias, as the shaders hold them.
    pub(crate) fn params(&self) -> [u32; 5] {
        let [weights, bias] = self.rates.map(f32::to_bits);
        [word(self.state), word(self.region), weights, bias, self.bias_decay.to_bits()]
    }

    /// (elements read, elements written, FLOP) for each parameter beside the gradient.
    pub(crate) fn cost(&self) -> [usize; 3] {
        let states = self.optimizer.states();
        [1 + states, 1 + states, self.optimizer.flop()]
    }
}
