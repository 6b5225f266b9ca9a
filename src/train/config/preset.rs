//! Presets: plain settings, and published settings for tables.

use super::{LARGE_ROWS, MANY_ROWS};
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
    /// Unlike the published code, the learning rate is 0.02 below 16,384 training rows, or 0.005 for batches
    /// of 64 below 4,096 (docs/TABLES.md); one-hot inputs are 0 and 1 and not scaled; the last, shorter batch
    /// of an epoch is trained; and a run ends after 40 epochs without improvement on the validation rows.
    pub fn table(loss: Loss, rows: Option<usize>) -> Self {
        let classifies = loss.classifies();
        let optimizer = Optimizer { beta1: 0.9, beta2: 0.95, ..OptimizerKind::Adam.defaults() };
        let (biases, scale, embeddings) = (0.1, 6.0, 0.1);
        let (batch_size, learning_rate) = match rows {
            Some(..MANY_ROWS) => (64, 0.005),
            Some(LARGE_ROWS..) => (256, 0.04),
            _ => (256, 0.02),
        };
        Self {
            hidden: vec![256; 3],
            epochs: 256,
            batch_size,
            activation: vec![if classifies { Activation::Selu } else { Activation::Mish }],
            init: Init { variance: Variance::Ntk, uniform: false },
            loss,
            label_smoothing: if loss.of_classes() { 0.1 } else { 0.0 },
            optimizer,
            learning_rate,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_and_rate_for_tables_depend_on_the_rows() {
        for (rows, batch_size, learning_rate) in [
            (None, 256, 0.02),
            (Some(4095), 64, 0.005),
            (Some(4096), 256, 0.02),
            (Some(16_383), 256, 0.02),
            (Some(16_384), 256, 0.04),
        ] {
            let config = Config::table(Loss::Mse, rows);
            assert_eq!((config.batch_size, config.learning_rate), (batch_size, learning_rate), "{rows:?}");
        }
    }
}
