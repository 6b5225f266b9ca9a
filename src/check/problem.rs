//! Networks with a batch, to compare engines with the reference.

use ndarray::Array2;

use super::Figures;
use super::targets::{Expected, dataset, stacked};
use super::training::{RATE, rule};
use crate::data::{Dataset, Features};
use crate::engine::{Batches, Engine, EngineOptions, Order};
use crate::error::Result;
use crate::kernels::LossTargets;
use crate::model::{Dense, Network, Parameters};
use crate::random::{Purpose, normal};
use crate::reference::{ReferenceNetwork, bounds};
use crate::schedule::ScheduleKind;
use crate::step::{Activation, Loss, OptimizerKind, UpdateRule};

/// Layer sizes and rows of the batch of [`Problem::mixed`].
const SIZES: [usize; 4] = [13, 18, 11, 5];
const ROWS: usize = 33;

/// Least distance of hidden pre-activations from the kink of a ReLU, where rounding would decide its value.
const KINK: f64 = 1e-4;

/// A network, its rule, and one batch, for engines and for the reference.
pub(super) struct Problem {
    pub network: Network,
    pub parameters: Parameters,
    pub data: Dataset,
    pub x: Array2<f64>,
    rule: UpdateRule,
    wanted: Expected,
}

impl Problem {
    fn from_parts(network: Network, parameters: Parameters, rule: UpdateRule, data: Dataset) -> Self {
        let x = match &data.features {
            Features::Floats(values) => stacked(values, data.inputs),
            Features::Bytes(_) => Array2::zeros((0, 0)),
        };
        let (loss, weighted) = (network.loss(), !data.weights.is_empty());
        let wanted = Expected::from_dataset(LossTargets { loss, smoothing: 0.0, weighted }, &data);
        Self { network, parameters, data, x, rule, wanted }
    }

    /// Creates a classifier with ReLU and plain gradient descent: He-normal weights, small normal biases,
    /// normal features, random labels. Every ReLU has the same state in f32 and f64.
    pub fn new(sizes: &[usize], rows: usize) -> Result<Self> {
        let network = Network::classifier(sizes)?;
        let mut seed = 1;
        loop {
            let mut problem = Self::drawn(&network, rows, seed);
            if problem.clears_kinks() {
                return Ok(problem);
            }
            seed += 1;
        }
    }

    fn drawn(network: &Network, rows: usize, seed: u64) -> Self {
        let mut parameters = Parameters::he_normal(network, seed);
        for (layer, place) in parameters.layers.iter_mut().zip(1000..) {
            for (bias, i) in layer.bias.iter_mut().zip(0..) {
                *bias = (0.1 * normal(seed, Purpose::Weights, [i, place])) as f32;
            }
        }
        let data = dataset(network.loss(), seed, rows, [network.inputs(), network.outputs()]);
        Self::from_parts(network.clone(), parameters, UpdateRule::sgd(RATE), data)
    }

    /// Creates a problem that combines two of the activations and one of the losses with an optimizer, with
    /// dropout, weights of the rows, label smoothing, clipping and factors of the learning rate, in rotation.
    pub fn mixed(number: usize, kind: OptimizerKind) -> Result<Self> {
        let activation = |place: usize| Activation::ALL[(2 * number + place) % Activation::ALL.len()];
        let loss = Loss::ALL[number % Loss::ALL.len()];
        let layers = vec![
            Dense { units: SIZES[1], activation: activation(0), dropout: 0.25 * (number % 2) as f32 },
            Dense::new(SIZES[2], activation(1)),
            Dense::new(SIZES[3], Activation::Identity),
        ];
        let network = Network::new(SIZES[0], layers, loss)?;
        let rule = UpdateRule {
            clip_norm: Some(0.4).filter(|_| number % 3 == 2),
            label_smoothing: if loss.of_classes() { 0.1 } else { 0.0 },
            ..rule(kind)
        };
        let weights = (0..ROWS).map(|row| [1.0, 0.5, 2.0][row % 3]).collect();
        let data = Dataset { weights, ..dataset(loss, 90, ROWS, [SIZES[0], SIZES[3]]) };
        Ok(Self::from_parts(network.clone(), Parameters::he_normal(&network, 4), rule, data))
    }

    fn reference(&self) -> ReferenceNetwork {
        ReferenceNetwork::new(&self.network, &self.parameters)
    }

    /// Returns the pre-activations of each hidden layer, from 0.
    fn pre_activations(&self) -> Vec<Array2<f64>> {
        let mut all = self.reference().pass(self.x.view(), None).pre_activations;
        all.truncate(self.parameters.layers.len() - 1);
        all
    }

    /// Moves pre-activations away from kinks by small changes of their units' biases. Returns whether all are
    /// clear.
    fn clears_kinks(&mut self) -> bool {
        for layer in 0..self.parameters.layers.len() - 1 {
            for (unit, column) in self.pre_activations()[layer].columns().into_iter().enumerate() {
                // Steps of three kinks: one of a hundred steps leaves all rows of the batch clear.
                let clear = |shift: &f64| column.iter().all(|z| (z + shift).abs() > 1.5 * KINK);
                let mut steps = (0..100).map(|step| f64::from(step) * 3.0 * KINK);
                let Some(step) = steps.find(clear) else { return false };
                self.parameters.layers[layer].bias[unit] += step as f32;
            }
        }
        self.distance_from_kinks() > KINK
    }

    /// Returns the smallest magnitude of a hidden pre-activation.
    fn distance_from_kinks(&self) -> f64 {
        self.pre_activations().iter().flatten().fold(f64::INFINITY, |least, z| least.min(z.abs()))
    }

    pub fn options(&self, schedule: Option<ScheduleKind>) -> EngineOptions {
        let (rule, weighted) = (self.rule.clone(), !self.data.weights.is_empty());
        EngineOptions { rule, weighted, schedule, ..EngineOptions::sgd(self.data.rows(), RATE) }
    }

    /// Returns loss and optimizer.
    pub fn subject(&self) -> String {
        format!("{} {}", self.network.loss(), self.rule.optimizer.kind)
    }

    /// Returns inputs, activations, outputs.
    pub fn activations(&self) -> String {
        let dense = self.network.dense();
        format!("{}-{}-{}-{}", SIZES[0], dense[0].activation, dense[1].activation, SIZES[3])
    }

    /// Compares the gradients of the batch.
    pub async fn gradients(&self, engine: &mut dyn Engine) -> Result<Figures> {
        let got = engine.gradients(&self.data.view()).await?;
        let reference = self.reference();
        let want = reference.gradients(self.x.view(), self.wanted.targets());
        let bound = bounds::gradients(&reference, &self.x, self.wanted.targets());
        let want = want.numbers().zip(bound.numbers()).map(|(want, bound)| [want, bound]).collect();
        Ok(relative_to_largest(&got, want))
    }

    /// Compares parameters and state after one step, within the bound of the gradient, which some schedules
    /// do not store.
    pub async fn one_step(&self, engine: &mut dyn Engine) -> Result<Figures> {
        let order = Vec::from_iter(0..self.data.rows() as u32);
        let rows = self.data.view();
        engine.submit(&Batches { rows, order: Order::Given(&order), positions: 0..order.len(), epoch: 1 })?;
        while !engine.poll(true).await?.is_empty() {}
        let (parameters, state) = engine.snapshot().await?;
        let before = (&self.parameters, &[][..]);
        let want = bounds::step(&self.network, &self.rule, before, (&self.x, self.wanted.targets()), 0);
        let mut figures = Figures::default();
        for (place, got) in [parameters].iter().chain(&state.optimizer).enumerate() {
            figures.extend(relative_to_largest(got, want.iter().map(|all| all[place]).collect()));
        }
        Ok(figures)
    }
}

/// Compares numbers with bounds relative to the largest, since single numbers may be 0 by chance.
fn relative_to_largest(got: &Parameters, want: Vec<[f64; 2]>) -> Figures {
    let largest = want.iter().fold(f64::MIN_POSITIVE, |most, [want, _]| most.max(want.abs()));
    let (got, magnitude) = (got.numbers().map(f64::from).collect(), vec![largest; want.len()]);
    let (want, bound) = want.into_iter().map(|[want, bound]| (want, bound)).unzip();
    Figures { got, want, magnitude, bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_relu_of_a_problem_stands_at_its_kink() {
        for (sizes, rows) in super::super::network::SHAPES {
            let problem = Problem::new(sizes, rows).unwrap();
            assert!(problem.distance_from_kinks() > KINK, "{sizes:?}");
        }
    }
}
