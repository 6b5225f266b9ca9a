//! Settings from which others start: plain ones, and those for tables, as published.

use crate::data::Scale;
use crate::model::{Init, Variance};
use crate::step::{Activation, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule};
use crate::train::{Clip, Config, DataOptions, InputOptions, Metric};

impl Config {
    /// Gradient descent at the usual rate of a loss; all else at its default.
    pub fn plain(loss: Loss) -> Self {
        let config = Self { loss, ..Self::default() };
        Self { learning_rate: Self::default_rate(config.optimizer.kind, loss), ..config }
    }

    /// RealMLP-TD-S (D. Holzmüller, L. Grinsztajn, I. Steinwart, "Better by default: strong pre-tuned MLPs and boosted trees on
    /// tabular data", 2024; code dholzmueller/realmlp-td-s_standalone): three hidden layers of 256, robust scaling with smooth
    /// clipping, a learnt factor for every input, neural tangent parametrisation, Adam with a rate of four cycles; and the periodic
    /// embeddings of numbers of RealMLP-TD. It is meant for tables with validation rows, on which the model with the smallest log loss of
    /// calibrated probabilities is kept, or for values with the smallest error.
    ///
    /// One-hot inputs are 0 and 1 here, where the published code scales them like numbers; the last batch of an epoch is
    /// shorter, where that leaves its rows out; and a run ends when 64 epochs have brought nothing better on the validation rows.
    pub fn table(loss: Loss) -> Self {
        let of_classes = loss.of_classes();
        let optimizer = Optimizer { beta1: 0.9, beta2: 0.95, ..OptimizerKind::Adam.defaults() };
        let (biases, scale, embeddings) = (0.1, 6.0, 0.1);
        Self {
            hidden: vec![256; 3],
            epochs: 256,
            batch_size: 256,
            activation: vec![if of_classes { Activation::Selu } else { Activation::Mish }],
            init: Init { variance: Variance::Ntk, uniform: false },
            loss,
            label_smoothing: if of_classes { 0.1 } else { 0.0 },
            optimizer,
            learning_rate: if of_classes { 0.02 } else { 0.07 },
            rate_schedule: RateSchedule::CosLog4,
            factors: RateFactors { biases, scale, embeddings, ..RateFactors::default() },
            ntk: true,
            patience: Some(64),
            metric: of_classes.then_some(Metric::LogLoss),
            data: DataOptions {
                scale: Scale::Robust,
                clip: Clip::Auto,
                standardise_targets: !of_classes,
                inputs: InputOptions { scaled: true, periodic: true, ..InputOptions::default() },
                ..DataOptions::default()
            },
            ..Self::default()
        }
    }
}
