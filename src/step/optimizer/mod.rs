//! Optimizers: how a gradient changes its parameter. Names, defaults and formulas are PyTorch's.

pub(crate) mod formula;

pub use formula::Tile;

use serde::Serialize;

use formula::{Whole, WithFormula};

use crate::error::Result;

use super::StepRecord;
use super::setting::demand;
use super::variants::variants;

/// What an optimizer computes.
struct Function {
    /// The name of the option.
    name: &'static str,

    /// `apply(index: u32, gradient: vec4<f32>, rate: f32, decay: f32)`, which does in place in `result` what
    /// [`Formula::update`](formula::Formula::update) does. States stand at `state_place(index, 0u)` and `state_place(index, 1u)`; the rest
    /// is in `record`.
    shader: &'static str,

    /// Numbers of state per parameter: 0 to 2. They begin at 0.
    states: usize,

    /// Whether beta1 is momentum: how much of the last update stays.
    uses_momentum: bool,

    /// How many means of gradients it keeps: none; of squares, with beta2; of gradients too, with beta1.
    betas: usize,

    /// Whether biases decay as weights do.
    decays_biases: bool,

    /// Its default settings and learning rate.
    defaults: (Optimizer, f32),

    /// FLOP per parameter, counted as the cost models count.
    flop: usize,
}

variants! {
    /// The optimizers.
    OptimizerKind: Function {
        /// p - rate g
        Sgd = sgd,
        /// p - rate b, where b sums up gradients that fade
        Momentum = momentum,
        /// The same, seen one step ahead
        Nesterov = nesterov,
        /// p - rate m / sqrt(v), with the means m of g and v of g^2
        Adam = adam,
        /// Adam whose weight decay stays out of the means
        AdamW = adamw,
        /// p - rate g / sqrt(v)
        RmsProp = rmsprop,
    }
}

/// An optimizer with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Optimizer {
    /// Which one.
    #[serde(rename = "optimizer")]
    pub kind: OptimizerKind,
    /// Decay of the mean of gradients: momentum, or the first beta.
    pub beta1: f32,
    /// Decay of the mean of squared gradients: the second beta, or alpha of RMSprop.
    pub beta2: f32,
    /// What is added to denominators.
    #[serde(rename = "eps")]
    pub epsilon: f32,
    /// Weight decay.
    pub weight_decay: f32,
}

impl OptimizerKind {
    /// Does some work with the formula of this one.
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

    /// The optimizer with its usual settings.
    pub fn defaults(self) -> Optimizer {
        self.piece().defaults.0
    }

    /// The default learning rate.
    pub fn default_rate(self) -> f32 {
        self.piece().defaults.1
    }

    /// Numbers of state per parameter: 0 to 2. They begin at 0.
    pub fn states(self) -> usize {
        self.piece().states
    }

    /// Whether it has momentum, which is [`Optimizer::beta1`] then.
    pub fn uses_momentum(self) -> bool {
        self.piece().uses_momentum
    }

    /// How many betas it has: none, [`Optimizer::beta2`] alone (alpha of RMSprop), or both.
    pub fn betas(self) -> usize {
        self.piece().betas
    }

    /// Whether it divides by the root of a mean of squares, to which [`Optimizer::epsilon`] is added.
    pub fn uses_epsilon(self) -> bool {
        self.betas() > 0
    }

    /// FLOP per parameter.
    pub fn flop(self) -> usize {
        self.piece().flop
    }
}

impl Optimizer {
    /// Puts the settings, and what follows from them at step `step` (from 0), into a record. Corrections are
    /// 1 / (1 - beta^t) with t = step + 1, computed in f64.
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
    /// [`Error::Setting`](crate::Error::Setting) for the first that is not.
    pub fn validate(&self) -> Result<()> {
        let first = if self.kind.uses_momentum() { "momentum" } else { "betas" };
        for (setting, beta) in [(first, self.beta1), ("betas", self.beta2)] {
            demand((0.0..1.0).contains(&beta), setting, "a number from 0 to below 1", beta)?;
        }
        // 0 would make NaN of parameters without a gradient; so would smaller numbers, which devices take as 0.
        let epsilon = !self.kind.uses_epsilon() || (self.epsilon.is_normal() && self.epsilon > 0.0);
        demand(epsilon, "eps", "a finite number of at least 1.2e-38", self.epsilon)?;
        let decay = self.weight_decay.is_finite() && self.weight_decay >= 0.0;
        demand(decay, "weight-decay", "a finite number of 0 or more", self.weight_decay)
    }

    /// Whether biases decay as weights do.
    pub fn decays_biases(&self) -> bool {
        self.kind.piece().decays_biases
    }

    /// Updates parameters and states in place.
    pub fn apply(&self, record: &StepRecord, tile: Tile<'_>) {
        self.kind.with_formula(Whole { record, tile });
    }
}
