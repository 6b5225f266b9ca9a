//! Settings by name, as stored in files.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Config;
use crate::error::{Error, Result};

/// Settings of a run by name.
pub(in crate::train) type Settings = Map<String, Value>;

/// Settings that a resumed run may change: the end of the run, and the device.
const FREE: [&str; 3] = ["epochs", "schedule", "threads"];

pub(super) fn object(config: &Config) -> Settings {
    // Converted via text, since a `Value` of an f32 has the digits of an f64.
    let text = serde_json::to_string(config).expect("a configuration has names and finite numbers");
    serde_json::from_str(&text).expect("the text is an object")
}

/// Formats a value; lists are joined by commas.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<String>>().join(","),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or(f64::NAN).to_string(),
        other => other.to_string(),
    }
}

impl Config {
    /// Returns all settings that decide the result of a step or the kept model.
    pub(in crate::train) fn fixed_settings(&self) -> Settings {
        let mut settings = object(self);
        settings.retain(|name, _| !FREE.contains(&name.as_str()));
        settings
    }
}

/// Compares the settings of a checkpoint with the settings of the resumed run.
///
/// # Errors
/// [`Error::Config`] with the names of all different settings.
pub(in crate::train) fn check_fixed(then: &Settings, now: &Settings) -> Result<()> {
    let value = |settings: &Settings, name: &String| match settings.get(name) {
        None | Some(Value::Null) => "none".to_owned(),
        Some(value) => text(value),
    };
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let given = |settings: &Settings, name: &String| settings.get(name).filter(|it| !it.is_null()).cloned();
    let differ = names.into_iter().filter(|name| given(then, name) != given(now, name));
    let differ = differ.map(|name| {
        format!("{} was {} and is {}", name.replace('_', "-"), value(then, name), value(now, name))
    });
    let differ: Vec<String> = differ.collect();
    if differ.is_empty() {
        return Ok(());
    }
    Err(Error::Config(format!(
        "cannot resume with settings other than in the checkpoint: {}; start the run again",
        differ.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Augment, OptimizerKind, RateSchedule};
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
            ("augment", Box::new(|it| it.augment = Augment::DIGITS)),
            ("class-weights", Box::new(|it| it.class_weights = ClassWeights::Given(vec![1.0, 2.0]))),
            ("lr-factors", Box::new(|it| it.factors.biases = 0.0)),
            ("batch-size", Box::new(|it| it.batch_size = 65)),
            ("dropout", Box::new(|it| it.dropout = vec![0.5])),
            ("seed", Box::new(|it| it.seed = 2)),
            ("init-seed", Box::new(|it| it.init_seed = Some(2))),
            ("validation-fraction", Box::new(|it| it.data.split.validation = 0.25)),
            ("keep", Box::new(|it| it.keep = Some(Keep::Last))),
        ] {
            let refused = with(&*change).unwrap_err();
            assert!(refused.contains(&format!(" {name} was ")), "{name}: {refused}");
        }
        with(&|it| (it.epochs, it.threads, it.patience) = (99, Some(7), Some(3))).unwrap();
    }
}
