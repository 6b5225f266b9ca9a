//! Computations of a training step, independent of the device: activations, losses, optimizers, learning
//! rates, dropout. Plain values, without GPU or files.

mod activation;
mod augment;
mod dropout;
mod exp;
mod loss;
mod optimizer;
mod rate;
mod record;
mod rule;
mod schedule_kind;
mod setting;
#[cfg(test)]
mod tests;
mod variants;
mod wave;

pub use activation::Activation;
pub use augment::{Augment, Distortion, Elastic, ImageSize};
pub(crate) use augment::{Pixel, Work};
pub use dropout::Dropout;
pub(crate) use exp::exp_wide;
pub use loss::{Levels, Loss, LossRows, Targets};
pub use optimizer::{Optimizer, OptimizerKind, Tile};
pub use rate::{RateSchedule, Rates};
pub use record::StepRecord;
pub use rule::{RateFactors, UpdateRule};
pub use schedule_kind::ScheduleKind;
pub(crate) use setting::demand;
pub use wave::sine_and_cosine;
