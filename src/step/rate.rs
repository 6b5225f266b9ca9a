//! Learning rates as functions of the step.

/// How the learning rate changes during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateSchedule {
    /// Always the same.
    Constant,
}

/// The learning rate of every step of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// How it changes.
    pub schedule: RateSchedule,
    /// The learning rate that is asked for: the largest of the run.
    pub peak: f32,
    /// Steps over which it rises from 0 first.
    pub warmup: u64,
    /// Steps of an epoch; 0 if that is not known, which only a constant rate allows.
    pub epoch_steps: u64,
    /// Steps of the run; 0 likewise.
    pub steps: u64,
}

impl Rates {
    /// The same for all steps.
    pub fn constant(rate: f32) -> Self {
        Self { schedule: RateSchedule::Constant, peak: rate, warmup: 0, epoch_steps: 0, steps: 0 }
    }

    /// The learning rate of step `step`, from 0.
    pub fn at(&self, _step: u64) -> f32 {
        self.peak
    }
}
