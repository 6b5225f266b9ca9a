//! Settings of a training: one table for the command line, files, sweeps and programs.

mod resolve;
pub mod text;
pub mod values;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::resolve::{DatasetInfo, VALIDATION_FRACTION};
pub use self::values::{Embeddings, List, LrFactors, Parametrization, Patience, Preset, ScaleTarget, YesNo};
#[cfg(feature = "cli")]
use self::values::{count, duration, parse, threads};
use crate::data::Scale;
use crate::model::Init;
use crate::step::ScheduleKind;
use crate::step::{Activation, Augment, Loss, OptimizerKind, RateSchedule};
use crate::train::{ClassWeights, Clip, Keep, Metric};

/// Headings of the help; commands that do not train to an end omit the options of [`ENDS`] and [`HELD_OUT`].
pub const NETWORK: &str = "Network and loss";
/// Heading of the options of optimizers.
pub const LEARNING: &str = "Optimizer and learning rate";
/// Heading of the options of tables.
pub const TABLES: &str = "Tables";
/// Heading of the options of held-out rows.
pub const HELD_OUT: &str = "Validation and test";
/// Heading of the options that end a training.
pub const ENDS: &str = "Length of training";

/// The given settings; the data and the preset decide the others. Fields have the names of the options of `tinytrain
/// train`, and their docs are the help of these.
///
/// A new setting is added here and in [`TrainSettings::resolve`], where it takes effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args), group(skip))]
pub struct TrainSettings {
    /// Defaults of all other settings. [default: table for tables with validation rows, and in `tinytrain
    /// train` for all tables; else plain]
    ///
    /// `table` is RealMLP-TD-S with periodic embeddings (Holzmüller and others, 2024); `--verbose` lists its
    /// settings. `plain` is a ReLU network trained with gradient descent. `digits` is a larger one for images of digits,
    /// which are distorted in training.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    #[serde(with = "text")]
    pub preset: Option<Preset>,
    /// Rows per training step. [default: 64; 32 below 2,048 training rows, 16 below 512; with --preset table 256, or 64 below
    /// 4,096 training rows]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub batch_size: Option<usize>,
    /// Sizes of the hidden layers; `none` for no hidden layer. [default: 300,100; 256,256,256 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZES", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub hidden: Option<List<usize>>,
    /// Seed for initialisation and shuffling. [default: 1]
    ///
    /// The same seed on the same device gives the same model, on a GPU with the same tile shapes.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub seed: Option<u64>,
    /// Seed for initialisation and dropout alone. [default: --seed]
    ///
    /// --seed still decides the order of the rows and which of them are held out.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "N", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub init_seed: Option<u64>,
    /// Maximum number of CPU threads. Does not affect results. [default: one per core]
    #[cfg_attr(feature = "cli", arg(long, short = 'j', value_name = "N", value_parser = threads, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub threads: Option<usize>,
    /// How a GPU divides a step into dispatches: plain, fused or two-dispatch. [default: the fastest, as
    /// by the size of a step]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, value_name = "KIND"))]
    #[serde(with = "text")]
    pub schedule: Option<ScheduleKind>,
    /// Passes over the training data. [default: 10; below 4,096 training rows as many as make 40,960 rows, at most
    /// 1,000; with --preset table 256, or 64 where no rows validate]
    #[cfg_attr(feature = "cli", arg(long, help_heading = ENDS, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub epochs: Option<usize>,
    /// Stop after the epoch that reaches this accuracy on the validation rows, or else on the training rows. Example:
    /// 0.98.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = ENDS, value_name = "FRACTION", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub target_accuracy: Option<f64>,
    /// Stop after this time, even within an epoch. Examples: 60s, 5m.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = ENDS, value_name = "TIME", value_parser = duration, allow_hyphen_values = true))]
    #[serde(with = "text::time")]
    pub max_time: Option<Duration>,
    /// Activation of the hidden layers, one for all or a comma-separated list. [default: relu; with --preset table
    /// selu, for values mish]
    ///
    /// relu, leaky-relu, elu, selu, gelu, gelu-tanh, silu, mish, tanh, sigmoid or identity.
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "NAMES"))]
    #[serde(with = "text")]
    pub activation: Option<List<Activation>>,
    /// Dropout probability, one for all hidden layers or a comma-separated list. [default: 0]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "P", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub dropout: Option<List<f32>>,
    /// Initialisation of the weights. [default: he; ntk with --preset table]
    ///
    /// he, xavier, lecun, zeros-last (he, last layer zero) or ntk (lecun, normal biases, last layer zero). Weights
    /// are normal; append -uniform for uniform ones.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK, value_name = "NAME"))]
    #[serde(with = "text")]
    pub init: Option<Init>,
    /// Loss function: cross-entropy for classes; mse, mae, huber or quantile for values; binary-cross-entropy for several
    /// labels. [default: cross-entropy, mse or binary-cross-entropy, by --task]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK, value_name = "NAME"))]
    #[serde(with = "text")]
    pub loss: Option<Loss>,
    /// Levels of --loss quantile, which predicts these quantiles of one target. [default: 0.1,0.5,0.9]
    ///
    /// Up to 16 ascending numbers between 0 and 1, separated by commas.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK, value_name = "LEVELS", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub quantiles: Option<List<f32>>,
    /// Label smoothing factor. [default: 0; 0.1 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK, value_name = "FRACTION", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub label_smoothing: Option<f32>,
    /// Distort images at random in training, differently in every epoch. [default: none]
    ///
    /// digits (suits handwritten digits), or some of rotate=DEGREES, shear=DEGREES, zoom=SHARE, shift=PIXELS,
    /// elastic=ALPHA:SIGMA, flip (left to right) and cutout=PIXELS, separated by commas.
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "DISTORTIONS"))]
    #[serde(with = "text")]
    pub augment: Option<Augment>,
    /// Do not calibrate probabilities.
    ///
    /// By default the outputs are divided by the temperature that minimises the loss on the validation rows, if there are
    /// any.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK))]
    pub no_temperature: bool,
    /// Weights of the classes in the loss: none, balanced, or a number for each class. [default: none]
    ///
    /// `balanced` gives every class the same total weight. Numbers are separated by commas, in the order that
    /// --verbose prints.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = NETWORK, value_name = "WEIGHTS", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub class_weights: Option<ClassWeights>,
    /// Optimizer: sgd, momentum, nesterov, adam, adamw or rmsprop. [default: sgd; adam with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub optimizer: Option<OptimizerKind>,
    /// Learning rate, at its peak. [default: 0.1, for values 0.01; 0.001 for adam, adamw and rmsprop; with the adam of
    /// --preset table 0.02, or 0.005 below 4,096 training rows, or 0.04 from 16,384 on]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr: Option<f32>,
    /// Momentum of momentum, nesterov and rmsprop. [default: 0.9; 0 for rmsprop]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub momentum: Option<f32>,
    /// Decay rates of the moments: two numbers for adam and adamw, one for rmsprop. [default: 0.9,0.999; 0.99 for
    /// rmsprop; 0.9,0.95 for the adam of --preset table]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "A,B", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub betas: Option<List<f32>>,
    /// Term added to the denominator of adam, adamw and rmsprop. [default: 1e-8]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub eps: Option<f32>,
    /// Weight decay. [default: 0; 0.01 for adamw]
    ///
    /// adamw decouples it from the gradient and does not decay biases; the others add it to the gradient.
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub weight_decay: Option<f32>,
    /// Maximum global gradient norm.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub clip_norm: Option<f32>,
    /// Learning-rate schedule: constant, step, exponential, cosine, onecycle or coslog4. [default: constant; coslog4
    /// with --preset table]
    ///
    /// All but constant need the number of rows before training starts.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub lr_schedule: Option<RateSchedule>,
    /// Decay factor of the schedules step and exponential. [default: 0.1 for step, 0.9 for exponential]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_gamma: Option<f32>,
    /// Epochs between two decays of the schedule step. [default: a third of all epochs]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "EPOCHS", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_every: Option<u64>,
    /// Warm-up steps, over which the learning rate rises from 0. [default: 0]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "STEPS", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub warmup: Option<u64>,
    /// Learning-rate factors of parts of the network, such as biases=0.5,layers=1,0.1. [default: 1; with --preset table 0.1
    /// for biases and embeddings, 6 for scale]
    ///
    /// Parts are weights, biases, embeddings, scale (the input factors of --input-scaling) and layers (a factor for each
    /// layer, first to last).
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "PART=X,..."))]
    #[serde(with = "text")]
    pub lr_factors: Option<LrFactors>,
    /// Parametrization of the layers: standard or ntk. [default: standard; ntk with --preset table]
    ///
    /// ntk trains as if weights were multiplied by 1 / sqrt(inputs): the learning rate of a layer is divided by
    /// sqrt(inputs) for adam, adamw and rmsprop, by its inputs for the others.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub parametrization: Option<Parametrization>,
    /// Scaling of the values to predict during training: standard or none. [default: standard]
    ///
    /// `standard` subtracts the mean of the training rows and divides by their standard deviation. Predictions are
    /// scaled back.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "METHOD"))]
    #[serde(with = "text")]
    pub scale_target: Option<ScaleTarget>,
    /// Scaling of numeric inputs. [default: auto; robust with --preset table]
    ///
    /// standard: zero mean, unit variance. minmax: 0 to 1. robust: subtract the median, divide by the interquartile
    /// range. quantile: normal scores of the ranks. bytes: divide by 255. none: as they are. auto: for images
    /// bytes, after a light background, or the mean of light images, is subtracted; for tables standard. All are
    /// fitted on the training rows.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "METHOD"))]
    #[serde(with = "text")]
    pub scale: Option<Scale>,
    /// Clipping of scaled inputs: smooth, auto or none. [default: none; auto with --preset table]
    ///
    /// `smooth` is x / sqrt(1 + (x / 3)^2), which stays between -3 and 3. It is refused where it would change nothing
    /// (--scale quantile, columns that are not scaled); `auto` applies it elsewhere.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "METHOD"))]
    #[serde(with = "text")]
    pub clip: Option<Clip>,
    /// Embeddings of numeric columns: none or pbld. [default: none; pbld with --preset table]
    ///
    /// `pbld` adds three learnt mixtures of 16 periodic functions to each column (Holzmüller and others, 2024). The
    /// default is none for tables of more than 1,000 columns.
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "NAME"))]
    #[serde(with = "text")]
    pub embeddings: Option<Embeddings>,
    /// Maximum number of categories for one-hot encoding; columns with more get an embedding of size 8. [default: 8]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub one_hot: Option<usize>,
    /// Learn a scaling factor for each input. [default: no; yes with --preset table]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = TABLES, value_name = "YES-or-NO", num_args = 0..=1, default_missing_value = "yes"))]
    #[serde(with = "text")]
    pub input_scaling: Option<YesNo>,
    /// Fraction of training rows held out for testing, stratified by class.
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "FRACTION", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub test_fraction: Option<f64>,
    /// Fraction of training rows held out for validation, stratified by class. [default: 0; in `tinytrain
    /// train` 0.2 for tables of 200 rows or more with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "FRACTION", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub validation_fraction: Option<f64>,
    /// Stop after this many epochs without improvement on the validation rows; `none` never stops. [default: none; 40
    /// with --preset table, unless --keep last]
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "EPOCHS", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub patience: Option<Patience>,
    /// Metric on the validation rows that chooses the best epoch. [default: accuracy; log-loss with --preset table; the
    /// loss for values]
    ///
    /// accuracy, balanced-accuracy, f1, log-loss, auc or average-precision for classes, f1 to average-precision as means
    /// over the classes; rmse, mae or r2 for values. log-loss is the log loss after calibration.
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "NAME"))]
    #[serde(with = "text")]
    pub metric: Option<Metric>,
    /// Model to save: best (on the validation rows) or last. [default: best, if there are validation rows]
    #[cfg_attr(feature = "cli", arg(long, hide_short_help = true, help_heading = HELD_OUT, value_name = "MODEL"))]
    #[serde(with = "text")]
    pub keep: Option<Keep>,
}

#[cfg(feature = "cli")]
impl TrainSettings {
    /// The name of each setting, as on the command line and in files, with its explanation.
    pub fn explained() -> Vec<(String, String)> {
        let command = <Self as clap::Args>::augment_args(clap::Command::new("train"));
        let explained = |setting: &clap::Arg| {
            let text = setting.get_long_help().or(setting.get_help()).map(ToString::to_string);
            (setting.get_long().unwrap_or_default().to_owned(), text.unwrap_or_default())
        };
        command.get_arguments().map(explained).collect()
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_explained() {
        let settings = serde_json::to_value(TrainSettings::default()).unwrap();
        let mut names: Vec<&String> = settings.as_object().unwrap().keys().collect();
        let explained = TrainSettings::explained();
        let mut found: Vec<&String> = explained.iter().map(|(name, _)| name).collect();
        names.sort();
        found.sort();
        assert_eq!(names, found);
        assert!(explained.iter().all(|(_, text)| text.len() > 10), "{explained:?}");
    }

    /// The page has no command line: it reads the explanations from a file, which TINYTRAIN_WRITE_SETTINGS updates.
    #[test]
    fn the_page_explains_settings_as_the_program_does() {
        let explained = TrainSettings::explained().into_iter().map(|(name, help)| {
            let default = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
            let default =
                default.map(|(default, _)| default.split_whitespace().collect::<Vec<_>>().join(" "));
            (name, serde_json::json!({ "default": default, "help": help }))
        });
        let expected = serde_json::Value::Object(explained.collect());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/web/src/settings.json");
        if std::env::var_os("TINYTRAIN_WRITE_SETTINGS").is_some() {
            let text = serde_json::to_string_pretty(&expected).unwrap();
            std::fs::write(file, text + "\n").unwrap();
        }
        let found: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert!(
            found == expected,
            "TINYTRAIN_WRITE_SETTINGS=1 cargo test --lib the_page_explains writes {file}"
        );
    }
}
