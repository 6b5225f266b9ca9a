//! A run of the reference: training steps with every setting of an update rule.

use ndarray::ArrayView2;

use super::{ReferenceNetwork, ReferenceTargets, ops};
use crate::step::UpdateRule;

/// A network in training.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceRun {
    /// The parameters.
    pub network: ReferenceNetwork,
    /// The optimizer's state of each parameter, as in [`ops::optimize`].
    pub states: [ReferenceNetwork; 2],
    /// The rule of the updates.
    pub rule: UpdateRule,
}

impl ReferenceRun {
    /// A run before its first step: all states are 0.
    pub fn new(network: ReferenceNetwork, rule: UpdateRule) -> Self {
        let mut zeros = network.clone();
        zeros.numbers_mut().for_each(|number| *number = 0.0);
        Self { network, states: [zeros.clone(), zeros], rule }
    }

    /// Gradients of step `step`, from 0: with its dropout and with label smoothing, clipped to the maximum norm.
    pub fn gradients<'a>(
        &self,
        x: ArrayView2<f64>,
        targets: impl Into<ReferenceTargets<'a>>,
        step: u64,
    ) -> ReferenceNetwork {
        let targets = targets.into().smoothed(f64::from(self.rule.label_smoothing));
        let pass = self.network.pass(x, Some(&self.rule.record(step)));
        let mut gradients = self.network.gradients_of(&pass, &targets);
        if let Some(clip) = self.rule.clip_norm {
            // torch.nn.utils.clip_grad_norm_.
            let scale = (f64::from(clip) / (gradients.norm() + 1e-6)).min(1.0);
            gradients.numbers_mut().for_each(|g| *g *= scale);
        }
        gradients
    }

    /// Performs step `step`, from 0. Returns the loss before the update, with dropout and without label smoothing.
    pub fn step<'a>(
        &mut self,
        x: ArrayView2<f64>,
        targets: impl Into<ReferenceTargets<'a>>,
        step: u64,
    ) -> f64 {
        let targets = targets.into();
        let gradients = self.gradients(x, targets, step);
        let pass = self.network.pass(x, Some(&self.rule.record(step)));
        let logits = &pass.activations[self.network.weights.len()];
        let loss = ops::batch_loss(self.network.loss, logits.view(), &targets);
        let places = self.network.places(&self.rule.factors);
        let [first, second] = &mut self.states;
        let states = first.numbers_mut().zip(second.numbers_mut());
        let parameters = self.network.numbers_mut().zip(gradients.numbers());
        for (((p, g), (a, b)), place) in parameters.zip(states).zip(places) {
            (*p, [*a, *b]) = optimized(&self.rule, step, place, (*p, g), [*a, *b]);
        }
        loss
    }
}

/// The results of step `step`, from 0, of a rule for a parameter and its state, with a factor of the rate; the
/// parameter may be a bias.
pub(super) fn optimized(
    rule: &UpdateRule,
    step: u64,
    (factor, is_bias): (f64, bool),
    parameter: (f64, f64),
    state: [f64; 2],
) -> (f64, [f64; 2]) {
    let decays = !is_bias || ops::decays_biases(rule.optimizer.kind);
    let decay = if decays { f64::from(rule.optimizer.weight_decay) } else { 0.0 };
    let rate = f64::from(rule.rates.at(step)) * factor;
    ops::optimize(&rule.optimizer, parameter, state, [rate, decay], step + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Hidden;
    use crate::step::{Activation, OptimizerKind, RateFactors};
    use ndarray::{Array1, Array2};

    /// 3 inputs, 4 tanh, 2 classes.
    fn network() -> ReferenceNetwork {
        let weights = |rows, columns| {
            Array2::from_shape_fn((rows, columns), |(i, j)| ((3 * i + 5 * j + 1) as f64).sin())
        };
        let mut network = ReferenceNetwork::relu(
            vec![weights(3, 4), weights(4, 2)],
            vec![Array1::from_elem(4, 0.1), Array1::from_elem(2, -0.2)],
        );
        network.hidden = vec![Hidden { activation: Activation::Tanh, dropout: 0.0 }];
        network
    }

    fn x() -> Array2<f64> {
        Array2::from_shape_fn((5, 3), |(i, j)| ((7 * i + 2 * j) as f64).cos())
    }

    const TARGETS: [usize; 5] = [0, 1, 1, 0, 1];

    #[test]
    fn plain_sgd_is_the_step_of_a_network() {
        let mut run = ReferenceRun::new(network(), UpdateRule::sgd(0.25));
        let mut want = network();
        for step in 0..3 {
            let loss = run.step(x().view(), &TARGETS[..], step);
            assert!((loss - want.loss(x().view(), &TARGETS[..])).abs() < 1e-12);
            want.step(x().view(), &TARGETS[..], 0.25);
        }
        for (got, want) in run.network.numbers().zip(want.numbers()) {
            assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        }
    }

    #[test]
    fn gradients_with_dropout_weights_and_smoothing_agree_with_central_differences() {
        let rule = UpdateRule { label_smoothing: 0.1, seed: 5, ..UpdateRule::sgd(0.1) };
        let mut network = network();
        network.hidden[0].dropout = 0.4;
        let weights = [1.0, 0.0, 2.0, 0.5, 1.0];
        let targets = ReferenceTargets::classes(&TARGETS).weighted(&weights);
        let run = ReferenceRun::new(network, rule);
        let gradients = run.gradients(x().view(), targets, 3);
        let step = 1e-5;
        for i in 0..3 {
            for j in 0..4 {
                let loss = |change: f64| {
                    let mut moved = run.clone();
                    moved.network.weights[0][[i, j]] += change;
                    let pass = moved.network.pass(x().view(), Some(&moved.rule.record(3)));
                    let smoothed = targets.smoothed(f64::from(moved.rule.label_smoothing));
                    ops::batch_loss(moved.network.loss, pass.activations[2].view(), &smoothed)
                };
                let slope = (loss(step) - loss(-step)) / (2.0 * step);
                let got = gradients.weights[0][[i, j]];
                // Truncation error step^2 f''' / 6 and cancellation 1e-16 / step.
                assert!((got - slope).abs() < 1e-9, "({i}, {j}): {got}, slope {slope}");
            }
        }
    }

    #[test]
    fn clipping_scales_to_the_norm_and_leaves_smaller_gradients_alone() {
        let clipped = |clip_norm| {
            let rule = UpdateRule { clip_norm, ..UpdateRule::sgd(0.1) };
            ReferenceRun::new(network(), rule).gradients(x().view(), &TARGETS[..], 0)
        };
        let plain = clipped(None);
        let half = plain.norm() as f32 / 2.0;
        assert!((clipped(Some(half)).norm() / f64::from(half) - 1.0).abs() < 1e-5);
        assert_eq!(clipped(Some(4.0 * half)), plain);
    }

    #[test]
    fn factors_and_decay_belong_to_their_tensors() {
        let layers = vec![0.0, 2.0];
        let rule = UpdateRule {
            factors: RateFactors { biases: 0.5, layers, ..RateFactors::default() },
            optimizer: OptimizerKind::AdamW.defaults(),
            ..UpdateRule::sgd(0.1)
        };
        let mut run = ReferenceRun::new(network(), rule);
        let gradients = run.gradients(x().view(), &TARGETS[..], 0);
        run.step(x().view(), &TARGETS[..], 0);
        assert_eq!(
            (&run.network.weights[0], &run.network.biases[0]),
            (&network().weights[0], &network().biases[0])
        );
        // The first step of Adam is the rate, towards the gradient's sign: 2 * 0.1 for weights, half of it for biases.
        let rate = f64::from(0.1f32);
        for ((got, before), g) in
            run.network.weights[1].iter().zip(&network().weights[1]).zip(&gradients.weights[1])
        {
            let want = before * (1.0 - 2.0 * rate * f64::from(0.01f32)) - 2.0 * rate * g.signum();
            assert!((got - want).abs() < 1e-6, "{got}, not {want}");
        }
        for ((got, before), g) in
            run.network.biases[1].iter().zip(&network().biases[1]).zip(&gradients.biases[1])
        {
            assert!((got - (before - rate * g.signum())).abs() < 1e-6);
        }
    }
}
