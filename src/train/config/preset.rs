//! Presets: plain settings, and published settings for tables.

use super::MANY_ROWS;
use crate::data::Scale;
use crate::model::{Init, Variance};
use crate::step::{Activation, Augment, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule};
use crate::train::{Clip, Config, DataOptions, InputOptions, Metric};

impl Config {
    /// Returns gradient descent at the default learning rate for a loss, with other settings at their
    /// defaults.
    pub fn plain(loss: Loss) -> Self {
        let config = Self { loss, ..Self::default() };
        Self { learning_rate: Self::default_rate(config.optimizer.kind, loss), ..config }
    }

    /// Returns settings for images of handwritten digits: two hidden layers of 1,000 and 500 units, Adam with a rate of one
    /// cycle, label smoothing, and images distorted differently in every epoch (D. C. Ciresan and others, "Deep, big, simple neural nets
    /// for handwritten digit recognition", 2010).
    pub fn digits(loss: Loss) -> Self {
        Self {
            hidden: vec![1000, 500],
            epochs: 40,
            batch_size: 128,
            loss,
            label_smoothing: if loss.of_classes() { 0.05 } else { 0.0 },
            augment: Augment::DIGITS,
            optimizer: OptimizerKind::Adam.defaults(),
            learning_rate: 0.001,
            rate_schedule: RateSchedule::OneCycle,
            ..Self::default()
        }
    }

    /// Returns RealMLP-TD-S (D. Holzmüller, L. Grinsztajn, I. Steinwart, "Better by default: strong pre-tuned
    /// MLPs and boosted trees on tabular data", 2024; code dholzmueller/realmlp-td-s_standalone): three
    /// hidden layers of 256, robust scaling with smooth clipping, a learnt factor for every input, neural
    /// tangent parametrisation, Adam with a rate of four cycles; and the periodic embeddings of numbers of
    /// RealMLP-TD. It is meant for tables with validation rows, which select the model with the smallest log
    /// loss of calibrated probabilities, or the smallest error of values.
    ///
    /// Unlike the published code, the learning rate is 0.02 for batches of 256, and batches have 64 rows below
    /// 4,096 training rows, at a quarter of that rate (docs/TABLES.md); one-hot inputs are 0 and 1 and not
    /// scaled; the last, shorter batch of an epoch is trained; and a run ends after 40 epochs without
    /// improvement on the validation rows.
    pub fn table(loss: Loss, rows: Option<usize>) -> Self {
        let classifies = loss.classifies();
        let optimizer = Optimizer { beta1: 0.9, beta2: 0.95, ..OptimizerKind::Adam.defaults() };
        let (biases, scale, embeddings) = (0.1, 6.0, 0.1);
        let batch_size = if rows.is_some_and(|rows| rows < MANY_ROWS) { 64 } else { 256 };
        Self {
            hidden: vec![256; 3],
            epochs: 256,
            batch_size,
            activation: vec![if classifies { Activation::Selu } else { Activation::Mish }],
            init: Init { variance: Variance::Ntk, uniform: false },
            loss,
            label_smoothing: if loss.of_classes() { 0.1 } else { 0.0 },
            optimizer,
            learning_rate: 0.02 * batch_size as f32 / 256.0,
            rate_schedule: RateSchedule::CosLog4,
            factors: RateFactors { biases, scale, embeddings, ..RateFactors::default() },
            ntk: true,
            patience: Some(40),
            metric: classifies.then_some(Metric::LogLoss),
            data: DataOptions {
                scale: Scale::Robust,
                clip: Clip::Auto,
                standardise_targets: !classifies,
                inputs: InputOptions { scaled: true, periodic: true, ..InputOptions::default() },
                ..DataOptions::default()
            },
            ..Self::default()
        }
    }
}
