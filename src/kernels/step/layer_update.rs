//! The optimizer's values for kernels that update parameters.

use crate::kernels::{Cost, LayerInputs, MatmulTile, Piece, blocks, vec4s, word};
use crate::model::ParameterLayout;
use crate::step::{OptimizerKind, UpdateRule};

/// In-place update of a layer's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerUpdate {
    /// The optimizer.
    pub optimizer: OptimizerKind,
    /// Distance from a parameter to its optimizer state, in vec4s.
    pub state: usize,
    /// Distance from the first to the second number of state, in vec4s.
    pub region: usize,
    /// Factors of the learning rate: of the weights, of the bias.
    pub rates: [f32; 2],
    /// Factor of the weight decay of the bias.
    pub bias_decay: f32,
}

impl LayerUpdate {
    /// Creates the update of layer `layer`, from 0, by this rule in this layout.
    pub fn for_layer(rule: &UpdateRule, layout: &ParameterLayout, layer: usize) -> Self {
        Self::at(rule, layout, rule.factors.for_layer(layer))
    }

    /// Creates the update of the input layer: its weights, and its input factors as the bias.
    pub fn for_input_layer(rule: &UpdateRule, layout: &ParameterLayout) -> Self {
        Self::at(rule, layout, rule.factors.for_input_layer())
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

    /// Returns the bytes from the last parameter to the end of its optimizer state. Here and below, a kernel
    /// without an update stores the gradient.
    pub(crate) fn reach(update: Option<Self>) -> u64 {
        match update.map_or(0, |update| update.optimizer.states()) {
            0 => 0,
            states => update.map_or(0, |it| vec4s(&[&[it.state], &[states - 1, it.region]])),
        }
    }

    /// Returns the piece that includes the optimizer.
    pub(crate) fn piece(update: Option<Self>) -> (&'static str, Piece) {
        let store = Piece::Named("store_gradient");
        ("optimizer", update.map_or(store, |update| Piece::Text(update.optimizer.shader().to_owned())))
    }

    /// Returns the suffix of a kernel's name.
    pub(crate) fn fused(update: Option<Self>) -> Vec<String> {
        update.map(|update| update.optimizer.to_string()).into_iter().collect()
    }

    /// Returns state distance and region, rates of weights and bias, and decay of the bias, in the shaders'
    /// format.
    pub(crate) fn params(update: Option<Self>) -> [u32; 5] {
        update.map_or([0; 5], |Self { state, region, rates: [weights, bias], bias_decay, .. }| {
            [word(state), word(region), weights.to_bits(), bias.to_bits(), bias_decay.to_bits()]
        })
    }

    /// Returns (elements read, elements written, FLOP) per parameter without the gradient.
    pub(crate) fn cost(update: Option<Self>) -> [usize; 3] {
        update.map_or([0, 1, 0], |Self { optimizer, .. }| {
            [1 + optimizer.states(), 1 + optimizer.states(), optimizer.flop()]
        })
    }

    /// Returns the cost of the gradient of a layer's parameters, C = X' dY in such tiles, with rows of X from
    /// `source`, and of the update.
    pub(crate) fn product_cost(
        update: Option<Self>,
        tile: MatmulTile,
        dims: [usize; 3],
        source: LayerInputs,
    ) -> Cost {
        let [stored, outputs, _] = dims;
        let [reads, writes, flop] = Self::cost(update);
        let (width, order) = (4 * blocks(outputs), source.order_reads(tile.places(dims, true)));
        let reads = reads * tile.rows_before(stored) * width + order;
        tile.cost(dims, source.words()).with(reads, writes * stored * width, flop * stored * width)
    }
}
