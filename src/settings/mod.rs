//! Settings of a training: one table for the command line, for files, for sweeps and for programs.

mod resolve;
pub mod text;
pub mod values;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::resolve::DatasetInfo;
pub use self::values::{Embeddings, List, Parametrization, Patience, Preset, ScaleTarget, YesNo};
#[cfg(feature = "cli")]
use self::values::{count, duration, parse};
use crate::data::Scale;
use crate::model::Init;
use crate::step::ScheduleKind;
use crate::step::{Activation, Loss, OptimizerKind, RateSchedule};
use crate::train::{ClassWeights, Clip, Keep};

/// Headings of the help; commands that do not train to an end have no use for those of [`ENDS`] and [`HELD_OUT`].
pub const NETWORK: &str = "Network and loss";
/// Of optimizers.
pub const LEARNING: &str = "Optimizer and learning rate";
/// Of tables.
pub const TABLES: &str = "Tables";
/// Of rows that do not train.
pub const HELD_OUT: &str = "Validation and test";
/// Of when a training ends.
pub const ENDS: &str = "Length of training";

/// What was asked for; what was not, data and preset decide. Fields have the names of the options of `tinytrain train`, whose
/// explanations these are.
///
/// A setting is added here, and in [`TrainSettings::resolve`], where it acts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args), group(skip))]
pub struct TrainSettings {
    /// Settings that the defaults of all others come from: `table` is RealMLP-TD-S with periodic embeddings (Holzmüller and
    /// others, 2024), made for tables with validation data, and what it stands for `--verbose` lists; `plain` is a network
    /// with ReLU and gradient descent. [default: table for tables with validation data, else plain]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    #[serde(with = "text")]
    pub preset: Option<Preset>,
    /// Rows that one training step looks at. [default: 64; 32 below 2,048 training rows, 16 below 512; 256 with --preset
    /// table]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub batch_size: Option<usize>,
    /// Units of the hidden layers, first to last; `none` for no hidden layer. [default: 300,100; 256,256,256 with --preset
    /// table]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZES", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub hidden: Option<List<usize>>,
    /// Decides the first weights and the order of the rows: the same seed on the same device (a GPU under the same tile
    /// shapes) gives the same model. [default: 1]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub seed: Option<u64>,
    /// Decides the first weights, and which units dropout leaves out, in place of --seed, which still decides the order of
    /// the rows and which of them are held out. [default: as --seed]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub init_seed: Option<u64>,
    /// Most threads of the CPU engine, and most that read a table; they change no bit of the model. [default: one for each
    /// core]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub threads: Option<usize>,
    /// How a GPU's work is divided: one kernel an operation, operations fused, or two kernels per step. [default: the
    /// fastest, as `tinytrain tune` has measured or as far as the network's shape tells]
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND"))]
    #[serde(with = "text")]
    pub schedule: Option<ScheduleKind>,
    /// Passes over the training data. [default: 10; below 4,096 training rows as many as take 40,960 rows in all, 1,000 at
    /// most; 256 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = ENDS, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub epochs: Option<usize>,
    /// Ends training after the epoch that reaches this accuracy on the validation data, or else on the training data: a
    /// share of the rows, such as 0.98.
    #[cfg_attr(feature = "cli", arg(long, help_heading = ENDS, value_name = "SHARE", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub target_accuracy: Option<f64>,
    /// Ends training after so much time, such as 60s or 5m; an epoch is broken off then, evaluated and saved.
    #[cfg_attr(feature = "cli", arg(long, help_heading = ENDS, value_name = "TIME", value_parser = duration, allow_hyphen_values = true))]
    #[serde(with = "text::time")]
    pub max_time: Option<Duration>,
    /// Measures the AUC after every epoch, too, not only of the model that is kept: it takes a sort of the rows for each
    /// class.
    #[cfg_attr(feature = "cli", arg(long, help_heading = ENDS))]
    pub auc_by_epoch: bool,
    /// Activation of the hidden layers: relu, leaky-relu, elu, selu, gelu, gelu-tanh, silu, mish, tanh, sigmoid or
    /// identity; one for all, or one for each with commas between them. [default: relu; selu or, of values, mish with
    /// --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "NAMES"))]
    #[serde(with = "text")]
    pub activation: Option<List<Activation>>,
    /// Share of the outputs of the hidden layers that is left out of a training step at random: one for all layers, or one
    /// for each with commas between them. [default: 0]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "SHARES", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub dropout: Option<List<f32>>,
    /// How the first weights are drawn: he, xavier, lecun, zeros-last (he, with a last layer of zeros) or ntk (lecun, with
    /// normal biases, and a last layer of zeros); normal numbers, or uniform ones with -uniform behind the name. [default:
    /// he; ntk with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "NAME"))]
    #[serde(with = "text")]
    pub init: Option<Init>,
    /// What the network is trained for: cross-entropy for classes; mse, mae or huber for values, which one or more columns
    /// of a table hold (--target). [default: cross-entropy or mse, as --task says]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "NAME"))]
    #[serde(with = "text")]
    pub loss: Option<Loss>,
    /// Share of its probability that the class of a row gives to all classes alike. [default: 0; 0.1 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "SHARE", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub label_smoothing: Option<f32>,
    /// Leaves probabilities as label smoothing has made them. Otherwise the outputs of a model that was trained with it are
    /// divided by the temperature that lessens the loss on the validation data most, where there are any.
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK))]
    pub no_temperature: bool,
    /// How much the rows of each class count in the loss: `none`, `balanced` (every class as much as every other), or one
    /// number for each class, in the order in which `--verbose` prints them, with commas between them. [default: none]
    #[cfg_attr(feature = "cli", arg(long, help_heading = NETWORK, value_name = "WEIGHTS", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub class_weights: Option<ClassWeights>,
    /// How gradients change the weights: sgd, momentum, nesterov, adam, adamw or rmsprop. [default: sgd; adam with --preset
    /// table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub optimizer: Option<OptimizerKind>,
    /// Learning rate, the largest of the run. [default: 0.1, of values 0.01; 0.001 for adam, adamw and rmsprop; with
    /// --preset table and its adam 0.04, of values 0.07]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr: Option<f32>,
    /// Momentum of momentum, nesterov and rmsprop. [default: 0.9; 0 for rmsprop]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub momentum: Option<f32>,
    /// Decay of the means of gradients and of their squares, for adam and adamw: two numbers with a comma between them; for
    /// rmsprop one number, of the squares. [default: 0.9,0.999; 0.99 for rmsprop; 0.9,0.95 for the adam of --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "A,B", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub betas: Option<List<f32>>,
    /// What is added to the denominators of adam, adamw and rmsprop. [default: 1e-8]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub eps: Option<f32>,
    /// Weight decay: of adamw decoupled from the gradient and not of biases, of the others added to it. [default: 0; 0.01
    /// for adamw]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub weight_decay: Option<f32>,
    /// Largest norm of all gradients together: larger ones are scaled down to it.
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub clip_norm: Option<f32>,
    /// How the learning rate changes: constant, step, exponential, cosine, onecycle or coslog4. All but constant need to
    /// know the number of rows before training starts. [default: constant; coslog4 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub lr_schedule: Option<RateSchedule>,
    /// Factor of the learning rate of the schedules step and exponential. [default: 0.1 for step, 0.9 for exponential]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_gamma: Option<f32>,
    /// Epochs from one step of the schedule step to the next. [default: a third of all]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "EPOCHS", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_every: Option<u64>,
    /// Steps over which the learning rate rises from 0 first. [default: 0]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "STEPS", value_parser = parse::<u64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub warmup: Option<u64>,
    /// Factor of the learning rate of all weights. [default: 1]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_weights: Option<f32>,
    /// Factor of the learning rate of all biases. [default: 1; 0.1 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_biases: Option<f32>,
    /// Factor of the learning rate of embeddings. [default: 1; 0.1 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_embeddings: Option<f32>,
    /// Factor of the learning rate of the factors of inputs (--learn-scale). [default: 1; 6 with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X", value_parser = parse::<f32>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_scale: Option<f32>,
    /// Whether the learning rate of the weights depends on the width of their layer: standard, or ntk, as if weights were
    /// multiplied by 1 / sqrt(inputs) in the network (which divides it by sqrt(inputs) for adam, adamw and rmsprop, by the
    /// inputs for the others). [default: standard; ntk with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "NAME"))]
    #[serde(with = "text")]
    pub parametrization: Option<Parametrization>,
    /// Factors of the learning rate of single layers, first to last, with commas between them; layers that are not named
    /// have 1.
    #[cfg_attr(feature = "cli", arg(long, help_heading = LEARNING, value_name = "X,Y,...", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub lr_layers: Option<List<f32>>,
    /// How the values to predict are scaled for training: `standard` takes the mean of the training rows from them and
    /// divides by their standard deviation, and predictions are scaled back; `none` takes them as they are. Refused with
    /// classes. [default: standard]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "HOW"))]
    #[serde(with = "text")]
    pub scale_target: Option<ScaleTarget>,
    /// How numbers become inputs, by the training rows: `standard` takes the mean of a column from them and divides by its
    /// standard deviation; `minmax` makes the least 0 and the greatest 1; `robust` takes the median from them and divides
    /// by the distance of the quartiles; `quantile` gives them a normal distribution by their rank; `bytes` divides by 255;
    /// `none` takes them as they are; `auto` is bytes for images and standard for every other table. [default: auto; robust
    /// with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "HOW"))]
    #[serde(with = "text")]
    pub scale: Option<Scale>,
    /// What is done to scaled numbers that are far from the others: `smooth` makes y / sqrt(1 + (y / 3)^2) of them, which
    /// is never beyond -3 and 3, and is refused where it would change nothing: with --scale quantile, and where columns are
    /// not scaled; `auto` does it where it changes something; `none` leaves them. [default: none; auto with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "HOW"))]
    #[serde(with = "text")]
    pub clip: Option<Clip>,
    /// What columns of numbers become: an input each, or with `pbld` four, of which three are learnt mixtures of 16 waves
    /// of learnt frequencies and phases (Holzmüller and others, 2024). [default: none; pbld with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "NAME"))]
    #[serde(with = "text")]
    pub embeddings: Option<Embeddings>,
    /// Categories up to which a column becomes one input for each; a column of more becomes an embedding of 8 learnt
    /// numbers a category. [default: 8]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "N", value_parser = count, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub one_hot: Option<usize>,
    /// Whether every input is multiplied by a factor of its own, which is learnt. [default: no; yes with --preset table]
    #[cfg_attr(feature = "cli", arg(long, help_heading = TABLES, value_name = "WHETHER", num_args = 0..=1, default_missing_value = "yes"))]
    #[serde(with = "text")]
    pub learn_scale: Option<YesNo>,
    /// Share of the training rows that test instead, of each class the same, chosen by the seed.
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "SHARE", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub test_fraction: Option<f64>,
    /// Share of the training rows that validate instead, of each class the same, chosen by the seed.
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "SHARE", value_parser = parse::<f64>, allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub validation_fraction: Option<f64>,
    /// Ends training when so many epochs in a row have brought nothing better on the validation data; `none` for never.
    /// [default: none; 64 with --preset table, unless --keep last]
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "EPOCHS", allow_hyphen_values = true))]
    #[serde(with = "text")]
    pub patience: Option<Patience>,
    /// Which model is saved: the best on the validation data, or the last. [default: best, if there are such data]
    #[cfg_attr(feature = "cli", arg(long, help_heading = HELD_OUT, value_name = "WHICH"))]
    #[serde(with = "text")]
    pub keep: Option<Keep>,
}
