//! The settings that a run keeps from its first step to its last.

use std::fmt::Display;

use super::Config;
use crate::error::{Error, Result};
use crate::step::{Optimizer, RateFactors};
use crate::train::DataOptions;

/// Settings by the names of their options, each with its value as text that tells any two values apart.
pub(in crate::train) type FixedSettings = Vec<(String, String)>;

impl Config {
    /// All settings that decide the result of a step or which model is kept. The others decide when a run ends and which device computes it.
    pub(in crate::train) fn fixed_settings(&self) -> FixedSettings {
        // By name, so that a new setting does not compile before it is listed here.
        let Self {
            hidden,
            epochs: _,
            batch_size,
            activation,
            dropout,
            init,
            loss,
            label_smoothing,
            temperature: _,
            class_weights,
            optimizer: Optimizer { kind, beta1, beta2, epsilon, weight_decay },
            learning_rate,
            rate_schedule,
            rate_gamma,
            rate_every,
            warmup,
            factors: RateFactors { weights, biases, layers, layer_weights, embeddings, scale: input_scale },
            ntk,
            clip_norm,
            seed,
            init_seed,
            schedule: _,
            threads: _,
            data: DataOptions { scale, split, standardise_targets, clip, inputs },
            keep,
            patience: _,
            target_accuracy: _,
            auc_by_epoch: _,
            max_time: _,
        } = self;
        let betas = if kind.uses_momentum() { "momentum" } else { "betas" };
        let settings = [
            ("hidden", list(hidden)),
            ("activation", list(activation)),
            ("optimizer", kind.to_string()),
            ("lr", learning_rate.to_string()),
            ("lr-schedule", rate_schedule.to_string()),
            ("lr-gamma", maybe(*rate_gamma)),
            ("lr-every", maybe(*rate_every)),
            ("warmup", warmup.to_string()),
            (betas, list(&[beta1, beta2])),
            ("eps", epsilon.to_string()),
            ("weight-decay", weight_decay.to_string()),
            ("clip-norm", maybe(*clip_norm)),
            ("lr-weights", weights.to_string()),
            ("lr-biases", biases.to_string()),
            ("lr-layers", list(layers)),
            ("lr-layer-weights", list(layer_weights)),
            ("lr-embeddings", embeddings.to_string()),
            ("lr-scale", input_scale.to_string()),
            ("parametrization", if *ntk { "ntk" } else { "standard" }.to_owned()),
            ("batch-size", batch_size.to_string()),
            ("dropout", list(dropout)),
            ("init", init.to_string()),
            ("loss", loss.to_string()),
            ("label-smoothing", label_smoothing.to_string()),
            ("class-weights", class_weights.to_string()),
            ("seed", seed.to_string()),
            ("init-seed", maybe(*init_seed)),
            ("scale", format!("{scale}, clip {clip}, {inputs:?}")),
            ("scale-target", standardise_targets.to_string()),
            ("validation-fraction", format!("{split:?}")),
            ("keep", maybe(*keep)),
        ];
        settings.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

fn list(values: &[impl Display]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<String>>().join(",")
}

fn maybe(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// Compares the settings of a checkpoint with those of the run that is to continue from it.
///
/// # Errors
/// [`Error::Config`] with the name of the first that differs.
pub(in crate::train) fn check_fixed(then: &FixedSettings, now: &FixedSettings) -> Result<()> {
    let differs = then.iter().zip(now).find(|(then, now)| then != now);
    let (name, then, now) = match differs {
        Some(((_, then), (name, now))) => (name.as_str(), then.as_str(), now.as_str()),
        None if then.len() == now.len() => return Ok(()),
        None => ("settings", "another number of them", "others"),
    };
    Err(Error::Config(format!(
        "cannot resume: --{name} was {then} when the checkpoint was made and is {now} now; a run keeps the settings that it began with"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{OptimizerKind, RateSchedule};
    use crate::train::{ClassWeights, Keep};

    #[test]
    fn a_difference_is_refused_with_its_name() {
        let begun = Config::default();
        let adam = OptimizerKind::Adam.defaults();
        type Change = Box<dyn Fn(&mut Config)>;
        let with = |change: &dyn Fn(&mut Config)| {
            let mut config = begun.clone();
            change(&mut config);
            check_fixed(&begun.fixed_settings(), &config.fixed_settings()).map_err(|error| error.to_string())
        };
        for (name, change) in [
            ("optimizer", Box::new(move |it: &mut Config| it.optimizer = adam) as Change),
            ("lr", Box::new(|it| it.learning_rate = 0.100_000_01)),
            ("lr-schedule", Box::new(|it| it.rate_schedule = RateSchedule::Cosine)),
            ("warmup", Box::new(|it| it.warmup = 1)),
            ("weight-decay", Box::new(|it| it.optimizer.weight_decay = 1e-9)),
            ("eps", Box::new(|it| it.optimizer.epsilon = 1.0)),
            ("clip-norm", Box::new(|it| it.clip_norm = Some(1.0))),
            ("label-smoothing", Box::new(|it| it.label_smoothing = 0.1)),
            ("class-weights", Box::new(|it| it.class_weights = ClassWeights::Given(vec![1.0, 2.0]))),
            ("lr-biases", Box::new(|it| it.factors.biases = 0.0)),
            ("batch-size", Box::new(|it| it.batch_size = 65)),
            ("dropout", Box::new(|it| it.dropout = vec![0.5])),
            ("seed", Box::new(|it| it.seed = 2)),
            ("init-seed", Box::new(|it| it.init_seed = Some(2))),
            ("validation-fraction", Box::new(|it| it.data.split.validation = 0.25)),
            ("keep", Box::new(|it| it.keep = Some(Keep::Last))),
        ] {
            let refused = with(&*change).unwrap_err();
            assert!(refused.starts_with(&format!("cannot resume: --{name} was ")), "{name}: {refused}");
        }
        with(&|it| (it.epochs, it.threads, it.patience) = (99, Some(7), Some(3))).unwrap();
    }
}
