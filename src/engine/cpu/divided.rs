//! A network divided into parts, and where its steps are computed.

use super::dense_layer::DenseLayer;
use super::first_layer::Panel;
use super::loss::RowLosses;
use super::matrix::Matrix;
use super::outputs::Outputs;
use super::parts::Parts;
use super::plan::Plan;
use super::sparse::Inputs;
use super::tensors::{Owned, Tensors};
use crate::model::{Network, Parameters};
use crate::step::UpdateRule;

/// The parameters of a network, divided into parts, and everything that is computed in a step: memory that is taken in the
/// first steps and stays.
pub struct DividedNetwork {
    pub network: Network,
    pub rule: UpdateRule,
    pub plan: Plan,
    /// The first layer: a panel of columns for each part.
    pub panels: Vec<Panel>,
    /// The layers above it.
    pub above: Vec<DenseLayer>,
    /// Of each layer, what each part owns.
    pub parameters: Vec<Parts<Owned>>,
    /// Of one batch and of the next, a share of the rows for each part.
    pub inputs: [Parts<Inputs>; 2],
    /// Pre-activations of the first layer, [rows, width] of each panel.
    pub first: Parts<Matrix>,
    /// Of each layer, what each part computes.
    pub outputs: Vec<Parts<Outputs>>,
    /// A share of the rows for each part.
    pub losses: Parts<RowLosses>,
    /// Sums of the squares of each part's gradients, where they are clipped.
    pub squares: Parts<f64>,
}

/// A value for each part.
fn for_parts<T>(plan: Plan, value: impl FnMut(usize) -> T) -> Parts<T> {
    (0..plan.parts()).map(value).collect()
}

impl DividedNetwork {
    /// With these parameters and this state of the optimizer; what is missing of that is 0.
    pub fn new(
        network: &Network,
        rule: &UpdateRule,
        plan: Plan,
        parameters: &Parameters,
        states: &[Parameters],
    ) -> Self {
        let layers: Vec<(usize, usize)> = network.layers().collect();
        let (inputs, outputs) = layers[0];
        let panels = (0..plan.parts()).map(|number| Panel::new(inputs, outputs, number, plan.parts()));
        let above = layers[1..]
            .iter()
            .map(|(inputs, outputs)| DenseLayer::new(*inputs, *outputs, plan.parts(), plan.divide()));
        let mut divided = Self {
            network: network.clone(),
            rule: rule.clone(),
            plan,
            panels: panels.collect(),
            above: above.collect(),
            parameters: Vec::new(),
            inputs: std::array::from_fn(|_| for_parts(plan, |_| Inputs::default())),
            first: for_parts(plan, |_| Matrix::default()),
            outputs: layers.iter().map(|_| for_parts(plan, |_| Outputs::default())).collect(),
            losses: for_parts(plan, |_| RowLosses::default()),
            squares: for_parts(plan, |_| 0.0),
        };
        divided.set(parameters, states);
        divided
    }

    /// Takes other parameters and another state of the optimizer.
    pub fn set(&mut self, parameters: &Parameters, states: &[Parameters]) {
        let owned = |layer, number| {
            let states = states.iter().map(|state| self.cut(state, layer, number));
            Owned::new(self.cut(parameters, layer, number), &self.rule, states)
        };
        let layers = 0..self.outputs.len();
        self.parameters = layers.map(|layer| for_parts(self.plan, |number| owned(layer, number))).collect();
    }

    /// What part `number` owns of a layer.
    fn cut(&self, parameters: &Parameters, layer: usize, number: usize) -> Tensors {
        let whole = &parameters.layers[layer];
        match layer.checked_sub(1) {
            None => self.panels[number].cut(whole),
            Some(above) => self.above[above].cut(whole, number),
        }
    }

    /// The whole network, from what each part owns of each layer.
    pub fn join<'a>(&self, tensors: impl Fn(usize, usize) -> &'a Tensors) -> Parameters {
        let first = self.panels.iter().enumerate().map(|(number, panel)| (panel, tensors(0, number)));
        let mut layers = vec![Panel::join(first)];
        for (index, layer) in self.above.iter().enumerate() {
            layers.push(layer.join((0..self.plan.parts()).map(|number| tensors(index + 1, number))));
        }
        Parameters { layers }
    }
}
