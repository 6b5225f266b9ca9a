//! A network divided into pieces and parts, with the results of its steps.

mod by_columns;
mod fused_layers;
mod gradient;
mod step;

pub use step::Step;

use std::ops::Range;
use std::sync::Arc;

use super::dense_layer::DenseLayer;
use super::first_layer::Panel;
use super::groups::Groups;
use super::input_panel::InputPanel;
use super::inputs::Inputs;
use super::loss::RowLosses;
use super::matrix::Matrix;
use super::outputs::Outputs;
use super::partition::{columns, range};
use super::parts::Parts;
use super::plan::{Phase, Plan};
use super::tensors::{Owned, Tensors};
use crate::model::{Network, Parameters};
use crate::step::UpdateRule;

/// Parameters of a network in pieces, and all results of a step, in memory that is allocated in the first
/// steps and kept. Each part owns some adjacent pieces of each layer. An input layer is the first layer here,
/// and the first dense layer the second.
pub struct PartitionedNetwork {
    pub network: Network,
    pub rule: UpdateRule,
    pub plan: Plan,
    /// The phases of a step, by regions.
    pub regions: Vec<Vec<Phase>>,
    /// Groups of inputs that are skipped together.
    pub groups: Arc<Groups>,
    /// The first layer, if it is dense: columns for each piece.
    pub panels: Vec<Panel>,
    /// The first layer, if it is an input layer.
    pub input: Vec<InputPanel>,
    /// Columns of the first layer's outputs that belong to each of its pieces.
    pub first_pieces: Vec<Range<usize>>,
    /// Layers above the first.
    pub above: Vec<DenseLayer>,
    /// Pieces of each layer.
    pub parameters: Vec<Parts<Owned>>,
    /// Inputs for the batches of one region of steps and of the next, with a share for each part.
    pub inputs: Vec<Parts<Inputs>>,
    /// Results of each panel for all rows. If layers are divided by columns, only its pre-activations.
    pub hidden: Parts<Outputs>,
    /// For each panel, its sums for the second layer's pre-activations, if the first two layers are paired.
    pub sums: Parts<Matrix>,
    /// For each part, gradients with respect to the second layer's pre-activations for all rows, if the first
    /// two layers are paired.
    pub deltas: Parts<Outputs>,
    /// For each layer, the outputs of each part.
    pub outputs: Vec<Parts<Outputs>>,
    /// Losses of each part's share of the rows.
    pub losses: Parts<RowLosses>,
    /// For each layer, the sum of squares of each piece's gradients, if they are clipped.
    pub squares: Vec<Parts<f64>>,
}

/// Creates `count` values.
fn parts<T>(count: usize, value: impl FnMut(usize) -> T) -> Parts<T> {
    (0..count).map(value).collect()
}

impl PartitionedNetwork {
    /// Creates a network with these parameters and this state of the optimizer; missing state is 0.
    pub fn new(
        network: &Network,
        rule: &UpdateRule,
        plan: Plan,
        parameters: &Parameters,
        states: &[Parameters],
    ) -> Self {
        let before = network.input_layer().map(|layer| (network.columns(), layer.inputs()));
        let layers: Vec<(usize, usize)> = before.into_iter().chain(network.layers()).collect();
        let clips = rule.clip_norm.is_some();
        let pieces_of = |columns: usize| plan.pieces(columns, clips);
        let panels = |layer| InputPanel::all(layer, plan.input_pieces(clips));
        let input = network.input_layer().map(panels).unwrap_or_default();
        let first_pieces: Vec<Range<usize>> = match &input[..] {
            [] => plan.fixed_pieces(layers[0].1),
            panels => panels.iter().map(InputPanel::inputs).collect(),
        };
        let panel = |columns: &Range<usize>| Panel::new(layers[0].0, columns.clone());
        let panels: Vec<Panel> = match &input[..] {
            [] => first_pieces.iter().map(panel).collect(),
            _ => Vec::new(),
        };
        let pieces_below =
            [first_pieces.clone()].into_iter().chain(layers[1..].iter().map(|it| pieces_of(it.1)));
        let above = layers[1..].iter().zip(pieces_below).enumerate();
        let above = above.map(|(index, ((_, outputs), pieces))| {
            DenseLayer::new(*outputs, pieces, index == 0 && !input.is_empty())
        });
        let mut divided = Self {
            network: network.clone(),
            rule: rule.clone(),
            plan,
            regions: plan.regions(layers.len() - 1, clips),
            groups: Arc::new(Groups::neighbours(layers[0].0)),
            above: above.collect(),
            parameters: Vec::new(),
            inputs: (0..2 * plan.steps_of_region())
                .map(|_| parts(plan.parts(), |_| Inputs::default()))
                .collect(),
            hidden: parts(first_pieces.len(), |_| Outputs::default()),
            sums: parts(first_pieces.len(), |_| Matrix::default()),
            deltas: parts(plan.parts(), |_| Outputs::default()),
            outputs: layers.iter().map(|_| parts(plan.parts(), |_| Outputs::default())).collect(),
            losses: parts(plan.parts(), |_| RowLosses::default()),
            squares: Vec::new(),
            panels,
            input,
            first_pieces,
        };
        let counts = (0..layers.len()).map(|layer| divided.piece_count(layer));
        divided.squares = counts.map(|count| parts(count, |_| 0.0)).collect();
        divided.set(parameters, states);
        divided
    }

    /// Returns the number of pieces of a layer.
    fn piece_count(&self, layer: usize) -> usize {
        layer.checked_sub(1).map_or(self.hidden.len(), |above| self.above[above].pieces.len())
    }

    /// Returns whether the first layer is dense, so that zeros in its inputs may be skipped.
    pub fn has_dense_inputs(&self) -> bool {
        self.input.is_empty()
    }

    /// Returns the number of a layer among the dense layers; `None` for an input layer.
    pub fn dense_number(&self, layer: usize) -> Option<usize> {
        if self.has_dense_inputs() { Some(layer) } else { layer.checked_sub(1) }
    }

    /// Returns the pieces of a layer that part `part` owns.
    pub fn owned(&self, layer: usize, part: usize) -> Range<usize> {
        range(self.piece_count(layer), part, self.plan.parts())
    }

    /// Returns the part that owns a piece of a layer, and the first column of all pieces of that part.
    pub fn owner(&self, layer: usize, piece: usize) -> (usize, usize) {
        let part = (0..self.plan.parts()).find(|part| self.owned(layer, *part).contains(&piece));
        let part = part.expect("every piece has an owner");
        (part, self.edge(layer, self.owned(layer, part).start))
    }

    /// Returns the start of piece `piece` of a layer; after the last piece, the end of all.
    fn edge(&self, layer: usize, piece: usize) -> usize {
        let edge = |pieces: &[Range<usize>]| match pieces.get(piece) {
            Some(columns) => columns.start,
            None => pieces.last().map_or(0, |columns| columns.end),
        };
        layer.checked_sub(1).map_or(edge(&self.first_pieces), |above| edge(&self.above[above].pieces))
    }

    /// Returns the columns of a layer's outputs that part `part` computes when divided by columns: those read
    /// by its own pieces of the layer above.
    pub fn columns(&self, layer: usize, part: usize) -> Range<usize> {
        if layer + 1 == self.outputs.len() {
            return columns(self.network.outputs(), part, self.plan.parts());
        }
        let pieces = self.owned(layer + 1, part);
        self.edge(layer + 1, pieces.start)..self.edge(layer + 1, pieces.end)
    }

    /// Replaces the parameters and the optimizer's state.
    pub fn set(&mut self, parameters: &Parameters, states: &[Parameters]) {
        let owned = |layer, number| {
            let states = states.iter().map(|state| self.cut(state, layer, number));
            Owned::new(self.cut(parameters, layer, number), &self.rule, states)
        };
        let layers = 0..self.outputs.len();
        self.parameters =
            layers.map(|layer| parts(self.piece_count(layer), |number| owned(layer, number))).collect();
    }

    /// Changes the groups of the first layer's inputs.
    pub fn regroup(&mut self, groups: &Arc<Groups>) {
        if self.groups != *groups {
            let parameters = self.parameters();
            let states: Vec<Parameters> = self.states().collect();
            self.groups = Arc::clone(groups);
            self.set(&parameters, &states);
        }
    }

    /// Returns the parameters of the whole network.
    pub fn parameters(&self) -> Parameters {
        self.join(|layer, piece| self.parameters[layer].read(piece).values.clone())
    }

    /// Returns the optimizer's state tensors.
    pub fn states(&self) -> impl Iterator<Item = Parameters> {
        let state = |number: usize| {
            self.join(|layer, piece| self.parameters[layer].read(piece).states[number].clone())
        };
        (0..self.rule.optimizer.kind.states()).map(state)
    }

    /// Cuts a piece out of a layer.
    fn cut(&self, parameters: &Parameters, layer: usize, number: usize) -> Tensors {
        let Some(dense) = self.dense_number(layer) else {
            let input = parameters.input.as_ref().map(|input| self.input[number].cut(input));
            return input.unwrap_or_default();
        };
        let whole = &parameters.layers[dense];
        match layer.checked_sub(1) {
            None => self.panels[number].cut(whole, &self.groups),
            Some(above) => self.above[above].cut(whole, number),
        }
    }

    /// Joins the pieces of all layers into the whole network.
    pub fn join(&self, tensors: impl Fn(usize, usize) -> Tensors) -> Parameters {
        let pieces = |layer| -> Vec<Tensors> {
            (0..self.piece_count(layer)).map(|number| tensors(layer, number)).collect()
        };
        let first = pieces(0);
        let (mut layers, mut input) = (Vec::new(), None);
        if self.has_dense_inputs() {
            layers.push(Panel::join(self.panels.iter().zip(&first), &self.groups));
        } else {
            input = Some(InputPanel::join(first.iter()));
        }
        layers.extend((1..).zip(&self.above).map(|(number, layer)| layer.join(pieces(number).iter())));
        Parameters { layers, input }
    }
}
