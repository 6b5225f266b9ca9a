//! Options of what a network computes and how it learns.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinytrain::Error;
use tinytrain::model::Init;
use tinytrain::step::{Activation, Loss, Optimizer, OptimizerKind, RateFactors, RateSchedule};
use tinytrain::train::{ClassWeights, Config};

use super::args;

/// Headings of the help.
const NETWORK: &str = "Network and loss";
const LEARNING: &str = "Optimizer and learning rate";

/// How learning rates depend on the widths of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Parametrization {
    /// Not at all.
    Standard,
    /// As if weights were multiplied by 1 / sqrt(inputs).
    Ntk,
}

/// What a network computes and how it learns.
#[derive(Debug, Clone, Args)]
pub struct Learning {
    /// Activation of the hidden layers: relu, leaky-relu, elu, selu, gelu, gelu-tanh, silu, mish, tanh, sigmoid or
    /// identity; one for all, or one for each with commas between them. [default: relu; selu or, of values, mish with
    /// --preset table]
    #[arg(long, help_heading = NETWORK, value_name = "NAMES", value_delimiter = ',', value_parser = activation())]
    activation: Option<Vec<Activation>>,
    /// Share of the outputs of the hidden layers that is left out of a training step at random: one for all layers, or one
    /// for each with commas between them.
    #[arg(long, help_heading = NETWORK, value_name = "SHARES", default_value = "0", value_delimiter = ',',
          value_parser = args::below_one, allow_hyphen_values = true)]
    dropout: Vec<f32>,
    /// How the first weights are drawn: he, xavier, lecun, zeros-last (he, with a last layer of zeros) or ntk (lecun, with
    /// normal biases, and a last layer of zeros); normal numbers, or uniform ones with -uniform behind the name.
    /// [default: he; ntk with --preset table]
    #[arg(long, help_heading = NETWORK, value_name = "NAME", value_parser = init)]
    init: Option<Init>,
    /// What the network is trained for: cross-entropy for classes; mse, mae or huber for values, which one or more columns
    /// of a table hold (--target). [default: cross-entropy or mse, as --task says]
    #[arg(long, help_heading = NETWORK, value_name = "NAME", value_parser = loss())]
    pub loss: Option<Loss>,
    /// Share of its probability that the class of a row gives to all classes alike. [default: 0; 0.1 with --preset table]
    #[arg(long, help_heading = NETWORK, value_name = "SHARE", value_parser = args::below_one, allow_hyphen_values = true)]
    label_smoothing: Option<f32>,
    /// Leaves probabilities as label smoothing has made them. Otherwise the outputs of a model that was trained with it are divided by
    /// the temperature that lessens the loss on the validation data most, where there are any.
    #[arg(long, help_heading = NETWORK)]
    no_temperature: bool,
    /// How much the rows of each class count in the loss: `none`, `balanced` (every class as much as every other), or one
    /// number for each class, in the order in which `--verbose` prints them, with commas between them.
    #[arg(long, help_heading = NETWORK, value_name = "WEIGHTS", default_value = "none", value_parser = class_weights,
          allow_hyphen_values = true)]
    class_weights: std::sync::Arc<ClassWeights>,
    /// How gradients change the weights: sgd, momentum, nesterov, adam, adamw or rmsprop. [default: sgd; adam with --preset
    /// table]
    #[arg(long, help_heading = LEARNING, value_name = "NAME", value_parser = optimizer())]
    optimizer: Option<OptimizerKind>,
    /// Learning rate, the largest of the run. [default: 0.1, of values 0.01; 0.001 for adam, adamw and rmsprop; with --preset
    /// table and its adam 0.04, of values 0.07]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::learning_rate, allow_hyphen_values = true)]
    lr: Option<f32>,
    /// Momentum of momentum, nesterov and rmsprop. [default: 0.9; 0 for rmsprop]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::below_one, allow_hyphen_values = true)]
    momentum: Option<f32>,
    /// Decay of the means of gradients and of their squares, for adam and adamw: two numbers with a comma between them; for
    /// rmsprop one number, of the squares. [default: 0.9,0.999; 0.99 for rmsprop; 0.9,0.95 for the adam of --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "A,B", value_delimiter = ',', value_parser = args::below_one,
          allow_hyphen_values = true)]
    betas: Option<Vec<f32>>,
    /// What is added to the denominators of adam, adamw and rmsprop. [default: 1e-8]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::above_zero, allow_hyphen_values = true)]
    eps: Option<f32>,
    /// Weight decay: of adamw decoupled from the gradient and not of biases, of the others added to it. [default: 0; 0.01
    /// for adamw]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::not_negative, allow_hyphen_values = true)]
    weight_decay: Option<f32>,
    /// Largest norm of all gradients together: larger ones are scaled down to it.
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::above_zero, allow_hyphen_values = true)]
    clip_norm: Option<f32>,
    /// How the learning rate changes: constant, step, exponential, cosine, onecycle or coslog4. All but constant need to
    /// know the number of rows before training starts. [default: constant; coslog4 with --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "NAME", value_parser = rate_schedule())]
    lr_schedule: Option<RateSchedule>,
    /// Factor of the learning rate of the schedules step and exponential. [default: 0.1 for step, 0.9 for exponential]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::above_zero, allow_hyphen_values = true)]
    lr_gamma: Option<f32>,
    /// Epochs from one step of the schedule step to the next. [default: a third of all]
    #[arg(long, help_heading = LEARNING, value_name = "EPOCHS", value_parser = args::count, allow_hyphen_values = true)]
    lr_every: Option<usize>,
    /// Steps over which the learning rate rises from 0 first.
    #[arg(long, help_heading = LEARNING, value_name = "STEPS", default_value_t = 0, value_parser = args::seed,
          allow_hyphen_values = true)]
    warmup: u64,
    /// Factor of the learning rate of all weights. [default: 1]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::not_negative, allow_hyphen_values = true)]
    lr_weights: Option<f32>,
    /// Factor of the learning rate of all biases. [default: 1; 0.1 with --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::not_negative, allow_hyphen_values = true)]
    lr_biases: Option<f32>,
    /// Factor of the learning rate of embeddings. [default: 1; 0.1 with --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::not_negative, allow_hyphen_values = true)]
    lr_embeddings: Option<f32>,
    /// Factor of the learning rate of the factors of inputs (--learn-scale). [default: 1; 6 with --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "X", value_parser = args::not_negative, allow_hyphen_values = true)]
    lr_scale: Option<f32>,
    /// Whether the learning rate of the weights depends on the width of their layer: standard, or ntk, as if weights were
    /// multiplied by 1 / sqrt(inputs) in the network (which divides it by sqrt(inputs) for adam, adamw and rmsprop, by the
    /// inputs for the others). [default: standard; ntk with --preset table]
    #[arg(long, help_heading = LEARNING, value_name = "NAME", value_enum)]
    parametrization: Option<Parametrization>,
    /// Factors of the learning rate of single layers, first to last, with commas between them; layers that are not named
    /// have 1.
    #[arg(long, help_heading = LEARNING, value_name = "X,Y,...", value_delimiter = ',', value_parser = args::not_negative,
          allow_hyphen_values = true)]
    lr_layers: Vec<f32>,
}

impl Learning {
    /// These settings in the place of those of `config`, whose optimizer with its rate is another where one was asked for.
    pub fn config(&self, config: Config) -> Config {
        let loss = self.loss.unwrap_or(config.loss);
        let usual = match self.optimizer {
            Some(kind) if kind != config.optimizer.kind => kind.defaults(),
            _ => config.optimizer,
        };
        let rate = match self.optimizer {
            Some(kind) if kind != config.optimizer.kind => Config::default_rate(kind, loss),
            _ => config.learning_rate,
        };
        let factors = config.factors;
        Config {
            activation: self.activation.clone().unwrap_or(config.activation),
            dropout: self.dropout.clone(),
            init: self.init.unwrap_or(config.init),
            loss,
            label_smoothing: self.label_smoothing.unwrap_or(config.label_smoothing),
            temperature: !self.no_temperature,
            class_weights: (*self.class_weights).clone(),
            optimizer: self.optimizer_settings(usual),
            learning_rate: self.lr.unwrap_or(rate),
            rate_schedule: self.lr_schedule.unwrap_or(config.rate_schedule),
            rate_gamma: self.lr_gamma,
            rate_every: self.lr_every.map(|epochs| epochs as u64),
            warmup: self.warmup,
            factors: RateFactors {
                weights: self.lr_weights.unwrap_or(factors.weights),
                biases: self.lr_biases.unwrap_or(factors.biases),
                layers: self.lr_layers.clone(),
                embeddings: self.lr_embeddings.unwrap_or(factors.embeddings),
                scale: self.lr_scale.unwrap_or(factors.scale),
                ..RateFactors::default()
            },
            ntk: self.parametrization.map_or(config.ntk, |how| how == Parametrization::Ntk),
            clip_norm: self.clip_norm,
            ..config
        }
    }

    fn optimizer_settings(&self, usual: Optimizer) -> Optimizer {
        let (beta1, beta2) = match self.betas.as_deref() {
            Some(&[first, second]) => (first, second),
            Some(&[of_squares]) => (usual.beta1, of_squares),
            _ => (usual.beta1, usual.beta2),
        };
        Optimizer {
            beta1: self.momentum.unwrap_or(beta1),
            beta2,
            epsilon: self.eps.unwrap_or(usual.epsilon),
            weight_decay: self.weight_decay.unwrap_or(usual.weight_decay),
            ..usual
        }
    }

    /// Checks whether every option that was given goes with the others, which have made `config`.
    ///
    /// # Errors
    /// [`Error::Config`], in one line, for the first that does not.
    pub fn check(&self, config: &Config) -> tinytrain::Result<()> {
        let (kind, rate_schedule) = (config.optimizer.kind, config.rate_schedule);
        let having = |has: fn(OptimizerKind) -> bool| {
            let names: Vec<&str> =
                OptimizerKind::ALL.iter().filter(|kind| has(**kind)).map(|kind| kind.name()).collect();
            format!("--optimizer {}", names.join(", "))
        };
        let unused = |option: &str, needs: String, found: String| {
            Err(Error::Config(format!("{option}: goes with {needs}, found {found}")))
        };
        let optimizer = || format!("--optimizer {kind}");
        if self.momentum.is_some() && !kind.uses_momentum() {
            return unused("--momentum", having(OptimizerKind::uses_momentum), optimizer());
        }
        if let Some(betas) = &self.betas {
            match kind.betas() {
                0 => return unused("--betas", having(|kind| kind.betas() > 0), optimizer()),
                count if count != betas.len() => {
                    let (kind, found) = (kind.name(), betas.len());
                    return Err(Error::Config(format!("--betas: {kind} has {count}, found {found}")));
                }
                _ => {}
            }
        }
        if self.eps.is_some() && !kind.uses_epsilon() {
            return unused("--eps", having(OptimizerKind::uses_epsilon), optimizer());
        }
        let schedule = format!("--lr-schedule {rate_schedule}");
        if self.lr_gamma.is_some() && !rate_schedule.uses_gamma() {
            return unused("--lr-gamma", "--lr-schedule step or exponential".to_owned(), schedule);
        }
        if self.lr_every.is_some() && rate_schedule != RateSchedule::Step {
            return unused("--lr-every", "--lr-schedule step".to_owned(), schedule);
        }
        let Some(loss) = self.loss.filter(|loss| !loss.of_classes()) else { return Ok(()) };
        let loss = || format!("--loss {loss}");
        if self.label_smoothing.is_some_and(|share| share > 0.0) {
            return unused("--label-smoothing", "--loss cross-entropy".to_owned(), loss());
        }
        if *self.class_weights != ClassWeights::None {
            return unused("--class-weights", "--loss cross-entropy".to_owned(), loss());
        }
        Ok(())
    }
}

fn activation() -> impl TypedValueParser<Value = Activation> {
    let names = Activation::ALL.iter().map(|activation| activation.name());
    PossibleValuesParser::new(names).try_map(|text| text.parse::<Activation>())
}

fn loss() -> impl TypedValueParser<Value = Loss> {
    PossibleValuesParser::new(Loss::ALL.iter().map(|loss| loss.name())).try_map(|text| text.parse::<Loss>())
}

fn optimizer() -> impl TypedValueParser<Value = OptimizerKind> {
    let names = OptimizerKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|text| text.parse::<OptimizerKind>())
}

fn rate_schedule() -> impl TypedValueParser<Value = RateSchedule> {
    let names = RateSchedule::ALL.iter().map(|schedule| schedule.name());
    PossibleValuesParser::new(names).try_map(|text| text.parse::<RateSchedule>())
}

fn init(text: &str) -> Result<Init, String> {
    text.parse().map_err(|error| match error {
        Error::Setting { expected, .. } => format!("expected {expected}"),
        other => other.to_string(),
    })
}

fn class_weights(text: &str) -> Result<std::sync::Arc<ClassWeights>, String> {
    let weights = match text {
        "none" => ClassWeights::None,
        "balanced" => ClassWeights::Balanced,
        _ => {
            let weights = text.split(',').map(|weight| args::not_negative(weight.trim()));
            let weights = weights.collect::<Result<_, _>>();
            let expected = "expected none, balanced, or numbers of 0 or more with commas between them";
            ClassWeights::Given(weights.map_err(|_| expected.to_owned())?)
        }
    };
    Ok(weights.into())
}
