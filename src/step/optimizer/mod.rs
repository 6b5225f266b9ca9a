//! Optimizers: update formulas of parameters. Names, defaults and formulas are PyTorch's.

pub(crate) mod formula;

pub use formula::Tile;

use serde::Serialize;

use formula::{Whole, WithFormula};

use crate::error::Result;

use super::StepRecord;
use super::setting::demand;
use super::variants::variants;

/// Implementation of an optimizer.
struct Function {
    /// Name of the option.
    name: &'static str,

    /// `apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32)`, which updates `result` in place as
    /// [`Formula::update`](formula::Formula::update) does. States are at `state_place(index, 0u)` and
    /// `state_place(index, 1u)`; the other numbers are in `record`.
    shader: &'static str,

    /// Number of state values per parameter: 0 to 2. They begin at 0.
    states: usize,

    /// Whether beta1 is momentum: the share of the last update that is kept.
    uses_momentum: bool,

    /// Number of means: none; of squares, with beta2; also of gradients, with beta1.
    betas: usize,

    /// Whether biases decay as weights do.
    decays_biases: bool,

    /// Default settings and learning rate.
    defaults: (Optimizer, f32),

    /// FLOP per parameter, counted as in the cost models.
    flop: usize,
}

variants! {
    /// The optimizers.
    OptimizerKind: Function {
        /// p - rate g
        Sgd = sgd,
        /// p - rate b, where b is a decaying sum of gradients
        Momentum = momentum,
        /// momentum, evaluated one step ahead
        Nesterov = nesterov,
        /// p - rate m / sqrt(v), with the means m of g and v of g^2
        Adam = adam,
        /// Adam with weight decay outside of the means
        AdamW = adamw,
        /// p - rate g / sqrt(v)
        RmsProp = rmsprop,
    }
}

/// An optimizer with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Optimizer {
    /// Kind of optimizer.
    #[serde(rename = "optimizer")]
    pub kind: OptimizerKind,
    /// Decay of the mean of gradients: momentum, or the first beta.
    pub beta1: f32,
    /// Decay of the mean of squared gradients: the second beta, or alpha of RMSprop.
    pub beta2: f32,
    /// Addend of denominators.
    #[serde(rename = "eps")]
    pub epsilon: f32,
    /// Weight decay.
    pub weight_decay: f32,
}

impl OptimizerKind {
    /// Runs some work with the formula of this optimizer.
    pub(crate) fn with_formula(self, work: impl WithFormula) {
        match self {
            Self::Sgd => work.with_formula::<sgd::Sgd>(),
            Self::Momentum => work.with_formula::<momentum::Momentum>(),
            Self::Nesterov => work.with_formula::<nesterov::Nesterov>(),
            Self::Adam => work.with_formula::<adam::Adam<false>>(),
            Self::AdamW => work.with_formula::<adam::Adam<true>>(),
            Self::RmsProp => work.with_formula::<rmsprop::RmsProp>(),
        }
    }

    /// Returns the optimizer with its usual settings.
    pub fn defaults(self) -> Optimizer {
        self.piece().defaults.0
    }

    /// Returns the default learning rate.
    pub fn default_rate(self) -> f32 {
        self.piece().defaults.1
    }

    /// Returns the number of state values per parameter: 0 to 2. They begin at 0.
    pub fn states(self) -> usize {
        self.piece().states
    }

    /// Returns whether it has momentum, [`Optimizer::beta1`].
    pub fn uses_momentum(self) -> bool {
        self.piece().uses_momentum
    }

    /// Returns the number of betas: none, only [`Optimizer::beta2`] (alpha of RMSprop), or both.
    pub fn betas(self) -> usize {
        self.piece().betas
    }

    /// Returns whether it divides by the root of a mean of squares, to which [`Optimizer::epsilon`] is added.
    pub fn uses_epsilon(self) -> bool {
        self.betas() > 0
    }

    /// Returns the FLOP per parameter.
    pub fn flop(self) -> usize {
        self.piece().flop
    }
}

impl Optimizer {
    /// Writes the settings, and the numbers derived from them at step `step` (from 0), into a record.
    /// Corrections are 1 / (1 - beta^t) with t = step + 1, computed in f64.
    pub fn fill(&self, record: &mut StepRecord, step: u64) {
        let t = (step + 1) as f64;
        // Most optimizers have no beta, and powers take as long as the rest of a record.
        let rest = |beta: f32| if beta == 0.0 { 1.0 } else { 1.0 - f64::from(beta).powf(t) };
        record.decay = self.weight_decay;
        record.beta1 = self.beta1;
        record.beta2 = self.beta2;
        record.epsilon = self.epsilon;
        record.correction1 = (1.0 / rest(self.beta1)) as f32;
        record.correction2 = (1.0 / rest(self.beta2).sqrt()) as f32;
    }

    /// Checks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) for the first setting that is not.
    pub fn validate(&self) -> Result<()> {
        let first = if self.kind.uses_momentum() { "momentum" } else { "betas" };
        for (setting, beta) in [(first, self.beta1), ("betas", self.beta2)] {
            demand((0.0..1.0).contains(&beta), setting, "a number from 0 to below 1", beta)?;
        }
        // 0 would make parameters without a gradient NaN, as would smaller numbers, which devices treat as 0.
        let epsilon = !self.kind.uses_epsilon() || (self.epsilon.is_normal() && self.epsilon > 0.0);
        demand(epsilon, "eps", "a finite number of at least 1.2e-38", self.epsilon)?;
        let decay = self.weight_decay.is_finite() && self.weight_decay >= 0.0;
        demand(decay, "weight-decay", "a finite number of 0 or more", self.weight_decay)
    }

    /// Returns whether biases decay as weights do.
    pub fn decays_biases(&self) -> bool {
        self.kind.piece().decays_biases
    }

    /// Updates parameters and states in place.
    pub fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        self.kind.with_formula(Whole { record, tile });
    }
}
