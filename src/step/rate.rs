//! Learning rates as functions of the step. Names and formulas are PyTorch's, if it has them.

use std::f64::consts::{PI, TAU};

use crate::error::Result;
use crate::named::named;

use super::setting::demand;

/// Schedule of the learning rate during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RateSchedule {
    /// Constant rate.
    Constant,
    /// peak gamma^floor(epoch / every): `StepLR`.
    Step,
    /// peak gamma^epoch: `ExponentialLR`.
    Exponential,
    /// peak (1 + cos(pi t)) / 2 with t = step / steps: `CosineAnnealingLR` over the whole run (I. Loshchilov, F. Hutter,
    /// "SGDR: stochastic gradient descent with warm restarts", 2017).
    Cosine,
    /// From peak / 25 up to the peak over 30 % of the run, then down to peak / 250,000, both as half a cosine: `OneCycleLR`
    /// (L. N. Smith, N. Topin, "Super-convergence", 2018).
    OneCycle,
    /// peak (1 - cos(2 pi log2(1 + 15 t))) / 2 with t = step / steps: four cycles, each twice as long as the one before
    /// (D. Holzmüller and others, "Better by default", 2024).
    CosLog4,
}

named!(RateSchedule {
    Constant = "constant",
    Step = "step",
    Exponential = "exponential",
    Cosine = "cosine",
    OneCycle = "onecycle",
    CosLog4 = "coslog4",
});

impl RateSchedule {
    /// Returns whether it depends on the number of steps of an epoch or of the run, which must then be known.
    pub fn needs_steps(self) -> bool {
        self != Self::Constant
    }

    /// Returns whether it multiplies by [`Rates::gamma`].
    pub fn uses_gamma(self) -> bool {
        matches!(self, Self::Step | Self::Exponential)
    }

    /// Returns the default gamma: 0.1 for steps, 0.9 for epochs.
    pub fn default_gamma(self) -> f32 {
        if self == Self::Exponential { 0.9 } else { 0.1 }
    }
}

/// Learning rate of every step of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Schedule of the rate.
    pub schedule: RateSchedule,
    /// Given learning rate: the largest of the run.
    pub peak: f32,
    /// Factor of [`RateSchedule::Step`] and [`RateSchedule::Exponential`].
    pub gamma: f32,
    /// Epochs between steps of [`RateSchedule::Step`].
    pub every: u64,
    /// Steps over which the rate first rises from 0.
    pub warmup: u64,
    /// Steps of an epoch; 0 if unknown, which only a constant rate allows.
    pub epoch_steps: u64,
    /// Steps of the run; 0 if unknown.
    pub steps: u64,
}

impl Rates {
    /// Creates a constant rate.
    pub fn constant(rate: f32) -> Self {
        Self::new(RateSchedule::Constant, rate, 0, 0)
    }

    /// Creates a schedule with its default settings and without warm-up, for a run of `epochs` epochs of
    /// `epoch_steps` steps.
    pub fn new(schedule: RateSchedule, peak: f32, epoch_steps: u64, epochs: u64) -> Self {
        let (gamma, every) = (schedule.default_gamma(), (epochs / 3).max(1));
        let steps = epoch_steps.saturating_mul(epochs);
        Self { schedule, peak, gamma, every, warmup: 0, epoch_steps, steps }
    }

    /// Returns whether [`Rates::epoch_steps`] and [`Rates::steps`] must be known.
    pub fn needs_steps(&self) -> bool {
        self.schedule.needs_steps()
    }

    /// Returns the learning rate of step `step`, from 0. The first `warmup` steps have the share (step + 1) /
    /// warmup of the schedule's rate. Computed in f64. After the end of the run the rate stays constant.
    pub fn at(&self, step: u64) -> f32 {
        let warm = if step < self.warmup { (step + 1) as f64 / self.warmup as f64 } else { 1.0 };
        (f64::from(self.peak) * self.factor(step) * warm) as f32
    }

    /// Returns the schedule's factor of the peak.
    fn factor(&self, step: u64) -> f64 {
        let gamma = f64::from(self.gamma);
        let epoch = step / self.epoch_steps.max(1);
        let t = (step as f64 / self.steps.max(1) as f64).min(1.0);
        match self.schedule {
            RateSchedule::Constant => 1.0,
            RateSchedule::Step => gamma.powf((epoch / self.every.max(1)) as f64),
            RateSchedule::Exponential => gamma.powf(epoch as f64),
            RateSchedule::Cosine => 0.5 * (1.0 + (PI * t).cos()),
            RateSchedule::OneCycle => one_cycle(step as f64, self.steps.max(1) as f64),
            RateSchedule::CosLog4 => 0.5 * (1.0 - (TAU * (1.0 + 15.0 * t).log2()).cos()),
        }
    }

    /// Checks whether all settings are in range.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::error::Error::Setting) for the first setting that is not.
    pub fn validate(&self) -> Result<()> {
        let peak = self.peak.is_finite() && self.peak > 0.0;
        demand(peak, "lr", "a finite number above 0", self.peak)?;
        let gamma = self.gamma > 0.0 && self.gamma <= 1.0;
        demand(gamma, "lr-gamma", "a number above 0, at most 1", self.gamma)?;
        demand(self.every > 0, "lr-every", "1 or more", 0)?;
        let is_known = !self.needs_steps() || (self.epoch_steps > 0 && self.steps > 0);
        let expected = "constant where the number of rows is not known";
        demand(is_known, "lr-schedule", expected, self.schedule)?;
        let expected = format!("at most the {} steps of the run", self.steps);
        demand(self.steps == 0 || self.warmup <= self.steps, "warmup", &expected, self.warmup)
    }
}

/// Computes PyTorch's `OneCycleLR` with pct_start 0.3, div_factor 25, final_div_factor 1e4 and two phases, as
/// a factor of the peak.
fn one_cycle(step: f64, steps: f64) -> f64 {
    let (first, last) = (1.0 / 25.0, 1.0 / 25.0 / 1e4);
    let (summit, end) = (0.3 * steps - 1.0, steps - 1.0);
    let anneal = |from: f64, to: f64, share: f64| to + 0.5 * (from - to) * (1.0 + (PI * share).cos());
    if step <= summit {
        anneal(first, 1.0, step / summit)
    } else {
        anneal(1.0, last, ((step - summit) / (end - summit)).min(1.0))
    }
}
