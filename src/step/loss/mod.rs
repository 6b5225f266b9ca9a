//! Losses of a row's outputs with respect to its target.

mod binary_cross_entropy;
mod cross_entropy;
mod huber;
mod levels;
mod mae;
mod mse;
mod quantile;
mod rows;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use levels::Levels;
pub use rows::{LossRows, Targets};

use crate::error::{Error, Result};
use crate::named::one_of;

/// Implementation of a loss. The loss of a batch is the mean over its rows of weight times loss.
struct Function {
    /// Name of the option.
    name: &'static str,

    /// With t the target's value or probability for an output z, and for losses of classes the row's maximum
    /// and the sum of exp(z - maximum):
    /// `const NEEDS_SOFTMAX: bool`, whether maximum and sum are used;
    /// `const PER_OUTPUT: bool`, whether the loss of a row is the mean over its outputs, else the sum;
    /// `loss_term(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32`, the term of the output of this index in
    /// the row's loss;
    /// `loss_slope(z: f32, t: f32, maximum: f32, sum: f32, output: u32) -> f32`, the derivative of the row's loss with
    /// respect to z, both without the division by the number of outputs.
    shader: &'static str,

    /// Whether targets are classes; otherwise values.
    of_classes: bool,

    /// Computes the losses of some rows from their outputs, and the gradients with respect to these.
    rows: fn(LossRows<'_>),

    /// FLOP per output of loss and gradient, counted as in the cost models.
    flop: usize,
}

/// The losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// -log of the softmax of the true class; label smoothing applies to the gradient, not to the loss
    CrossEntropy,
    /// The mean over the outputs of (z - t)^2
    Mse,
    /// The mean over the outputs of |z - t|
    Mae,
    /// The mean over the outputs of (z - t)^2 / 2 if |z - t| <= 1, else |z - t| - 1/2
    Huber,
    /// The mean over the outputs of -t log p - (1 - t) log(1 - p) with p = 1 / (1 + exp(-z)), for targets of 0 or 1
    BinaryCrossEntropy,
    /// The mean over the outputs of max(q (t - z), (q - 1) (t - z)), with a level q for each output
    Quantile(Levels),
}

impl fmt::Display for Loss {
    /// The name; for quantiles with their levels, unless they are the default ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile(levels) if *levels != Levels::DEFAULT => {
                f.pad(&format!("{}:{levels}", self.name()))
            }
            _ => f.pad(self.name()),
        }
    }
}

impl FromStr for Loss {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(levels) = text.strip_prefix("quantile:") {
            let levels = levels.split(',').map(str::parse).collect::<Result<Vec<f32>, _>>();
            let wrong = |_| Error::setting("quantiles", "numbers", format!("{text:?}"));
            return Levels::new(&levels.map_err(wrong)?).map(Self::Quantile);
        }
        Self::ALL.iter().find(|loss| loss.name() == text).copied().ok_or_else(|| {
            let names = one_of(Self::ALL.iter().map(|loss| loss.name()));
            Error::Config(format!("expected {names}, found {text:?}"))
        })
    }
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            // Files do not depend on the default levels.
            Self::Quantile(levels) => to.collect_str(&format_args!("{}:{levels}", self.name())),
            _ => to.serialize_str(self.name()),
        }
    }
}

impl<'a> Deserialize<'a> for Loss {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Computes the mean over the outputs of `term(z, t, output)`, with the index of the output, and its gradient from the
/// derivative `slope(z, t, output)` of the term with respect to z.
fn mean_of(
    rows: LossRows<'_>,
    term: impl Fn(f64, f64, usize) -> f64,
    slope: impl Fn(f32, f32, usize) -> f32,
) {
    let LossRows { z, width, outputs, targets, scales, gradient, losses, predictions, .. } = rows;
    let Targets::Values(values) = targets else { return losses.fill(f64::NAN) };
    let each = z.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).zip(values.chunks_exact(outputs));
    for (row, ((z, gradient), values)) in each.enumerate() {
        let z = &z[..outputs];
        let share = scales[row] / outputs as f32;
        let mut sum = 0.0;
        for (((g, z), t), output) in gradient.iter_mut().zip(z).zip(values).zip(0..) {
            sum += term(f64::from(*z), f64::from(*t), output);
            *g = slope(*z, *t, output) * share;
        }
        losses[row] = sum / outputs as f64;
        predictions[row] = rows::largest(z);
    }
}

impl Loss {
    /// All losses, of quantiles with the default levels.
    pub const ALL: &'static [Self] = &[
        Self::CrossEntropy,
        Self::Mse,
        Self::Mae,
        Self::Huber,
        Self::BinaryCrossEntropy,
        Self::Quantile(Levels::DEFAULT),
    ];

    fn piece(self) -> &'static Function {
        match self {
            Self::CrossEntropy => &cross_entropy::PIECE,
            Self::Mse => &mse::PIECE,
            Self::Mae => &mae::PIECE,
            Self::Huber => &huber::PIECE,
            Self::BinaryCrossEntropy => &binary_cross_entropy::PIECE,
            Self::Quantile(_) => &quantile::PIECE,
        }
    }

    /// Returns the name in options and files.
    pub fn name(self) -> &'static str {
        self.piece().name
    }

    /// Returns the piece of WGSL.
    pub fn shader(self) -> String {
        let levels = self.levels().map(quantile::level_function).unwrap_or_default();
        levels + self.piece().shader
    }

    /// Returns the levels of the quantiles that the outputs are.
    pub fn levels(self) -> Option<Levels> {
        if let Self::Quantile(levels) = self { Some(levels) } else { None }
    }

    /// Returns whether targets are classes; otherwise they are values.
    pub fn of_classes(self) -> bool {
        self.piece().of_classes
    }

    /// Returns whether targets are labels of 0 or 1, one for each output, and outputs the logits of their
    /// probabilities.
    pub fn of_labels(self) -> bool {
        self == Self::BinaryCrossEntropy
    }

    /// Returns whether predictions are classes or labels, which have an accuracy; otherwise they are values.
    pub fn classifies(self) -> bool {
        self.of_classes() || self.of_labels()
    }

    /// Returns the term of the output z of this index in the loss of a row with the value t, before the division by the
    /// number of outputs; NaN for losses of classes, whose terms depend on all outputs.
    pub(crate) fn term(self, z: f64, t: f64, output: usize) -> f64 {
        match self {
            Self::CrossEntropy => f64::NAN,
            Self::Mse => mse::term(z, t),
            Self::Mae => mae::term(z, t),
            Self::Huber => huber::term(z, t),
            Self::BinaryCrossEntropy => binary_cross_entropy::term(z, t),
            Self::Quantile(levels) => quantile::term(z, t, levels.level(output)),
        }
    }

    /// Computes the losses of some rows from their outputs, and the gradients with respect to these. Rows are
    /// independent of each other.
    pub fn rows(self, rows: LossRows<'_>) {
        match self {
            Self::Quantile(levels) => quantile::rows(rows, levels),
            _ => (self.piece().rows)(rows),
        }
    }

    /// Computes the loss of a row from its outputs z, and its gradient with respect to these, times `scale`.
    pub fn row(self, z: &[f32], targets: Targets<'_>, scale: f32, gradient: &mut [f32]) -> f64 {
        let mut loss = f64::NAN;
        self.rows(LossRows {
            z,
            width: z.len(),
            outputs: z.len(),
            targets,
            scales: &[scale],
            gradient,
            losses: std::slice::from_mut(&mut loss),
            predictions: &mut [0],
            scratch: &mut Vec::new(),
        });
        loss
    }

    /// Returns the FLOP per output of loss and gradient.
    pub fn flop(self) -> usize {
        self.piece().flop
    }
}
