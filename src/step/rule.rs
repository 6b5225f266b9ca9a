//! Update of a run's parameters, step by step.

use std::fmt;

use crate::error::Result;

use super::setting::demand;
use super::{Optimizer, OptimizerKind, Rates, StepRecord};

/// Factors of the learning rate.
#[derive(Debug, Clone, PartialEq)]
pub struct RateFactors {
    /// Factor of all weights.
    pub weights: f32,
    /// Factor of all biases.
    pub biases: f32,
    /// Factors of single layers, first to last; missing ones are 1.
    pub layers: Vec<f32>,
    /// Further factors of the weights of single layers, first to last; missing ones are 1.
    pub layer_weights: Vec<f32>,
    /// Factor of the weights of an input layer: its embeddings.
    pub embeddings: f32,
    /// Factor of the input factors that an input layer learns.
    pub scale: f32,
}

impl Default for RateFactors {
    fn default() -> Self {
        let (layers, layer_weights) = (Vec::new(), Vec::new());
        Self { weights: 1.0, biases: 1.0, layers, layer_weights, embeddings: 1.0, scale: 1.0 }
    }
}

impl fmt::Display for RateFactors {
    /// Writes the factors that are settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weights, biases, layers, embeddings, scale, .. } = self;
        write!(f, "weights={weights},biases={biases},embeddings={embeddings},scale={scale}")?;
        let layers: Vec<String> = layers.iter().map(f32::to_string).collect();
        if layers.is_empty() { Ok(()) } else { write!(f, ",layers={}", layers.join(",")) }
    }
}

impl RateFactors {
    /// Returns the factors of the weights and of the bias of a layer, from 0.
    pub fn for_layer(&self, layer: usize) -> [f32; 2] {
        let of = |list: &[f32]| list.get(layer).copied().unwrap_or(1.0);
        let factor = of(&self.layers);
        [factor * of(&self.layer_weights) * self.weights, factor * self.biases]
    }

    /// Returns the factors of the weights of an input layer and of its input factors.
    pub fn for_input_layer(&self) -> [f32; 2] {
        [self.embeddings, self.scale]
    }
}

/// Update rule of the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateRule {
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The learning rates.
    pub rates: Rates,
    /// Factors of the learning rate.
    pub factors: RateFactors,
    /// Largest norm of all gradients together: larger ones are scaled down to it.
    pub clip_norm: Option<f32>,
    /// Label smoothing.
    pub label_smoothing: f32,
    /// Seed of dropout.
    pub seed: u64,
}

impl UpdateRule {
    /// Creates the rule of plain stochastic gradient descent at a constant rate.
    pub fn sgd(rate: f32) -> Self {
        Self {
            optimizer: OptimizerKind::Sgd.defaults(),
            rates: Rates::constant(rate),
            factors: RateFactors::default(),
            clip_norm: None,
            label_smoothing: 0.0,
            seed: 0,
        }
    }

    /// Checks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) for the first setting that is not.
    pub fn validate(&self) -> Result<()> {
        self.optimizer.validate()?;
        self.rates.validate()?;
        let RateFactors { weights, biases, layers, layer_weights, embeddings, scale } = &self.factors;
        let single = [("weights", weights), ("biases", biases), ("embeddings", embeddings), ("scale", scale)];
        let of_layers = layers.iter().chain(layer_weights).map(|factor| ("layers", factor));
        for (part, factor) in single.into_iter().chain(of_layers) {
            let (fits, found) = (factor.is_finite() && *factor >= 0.0, format!("{factor} for {part}"));
            demand(fits, "lr-factors", "finite numbers of 0 or more", found)?;
        }
        if let Some(norm) = self.clip_norm {
            demand(norm.is_finite() && norm > 0.0, "clip-norm", "a finite number above 0", norm)?;
        }
        let smoothing = (0.0..1.0).contains(&self.label_smoothing);
        demand(smoothing, "label-smoothing", "a number from 0 to below 1", self.label_smoothing)
    }

    /// Returns the record of step `step`, from 0, without its rows.
    pub fn record(&self, step: u64) -> StepRecord {
        let mut record = StepRecord {
            step: step as u32,
            rate: self.rates.at(step),
            clip: self.clip_norm.unwrap_or(0.0),
            seed: [self.seed as u32, (self.seed >> 32) as u32],
            ..StepRecord::default()
        };
        self.optimizer.fill(&mut record, step);
        record
    }

    /// Returns the weight decay of the biases, as a factor of the weights' decay.
    pub fn bias_decay(&self) -> f32 {
        f32::from(u8::from(self.optimizer.decays_biases()))
    }

    /// Returns whether an update is exactly p - rate g: then engines may scale the terms of g by the rate
    /// instead.
    pub fn is_plain_sgd(&self) -> bool {
        self.optimizer.kind == OptimizerKind::Sgd
            && self.optimizer.weight_decay == 0.0
            && self.clip_norm.is_none()
            && self.factors == RateFactors::default()
    }
}
