//! Softmax cross-entropy: the sum over the classes of t (log sum exp z - z), where t is the target's probability.

use super::{Function, Target};
use crate::step::exp::exp;

pub(super) struct CrossEntropy;
pub(super) const PIECE: CrossEntropy = CrossEntropy;

impl Function for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn shader(&self) -> &'static str {
        include_str!("../../../shaders/loss/cross_entropy.wgsl")
    }

    fn of_classes(&self) -> bool {
        true
    }

    fn row(&self, z: &[f32], target: Target<'_>, scale: f32, gradient: &mut [f32]) -> f64 {
        let Target::Class { class, smoothing } = target else { return f64::NAN };
        let maximum = z.iter().fold(f32::NEG_INFINITY, |most, z| if *z > most { *z } else { most });
        for (g, z) in gradient.iter_mut().zip(z) {
            *g = exp(z - maximum);
        }
        let sum: f32 = gradient.iter().sum();
        for g in gradient.iter_mut() {
            *g = *g / sum * scale;
        }
        let level = f64::from(maximum) + f64::from(sum).ln();
        let loss = level - f64::from(z[class]);
        if smoothing == 0.0 {
            gradient[class] -= scale;
            return loss;
        }
        let other = smoothing / z.len() as f32;
        gradient.iter_mut().for_each(|g| *g -= other * scale);
        gradient[class] -= (1.0 - smoothing) * scale;
        let mean = level - z.iter().copied().map(f64::from).sum::<f64>() / z.len() as f64;
        f64::from(1.0 - smoothing) * loss + f64::from(smoothing) * mean
    }

    fn flop(&self) -> usize {
        10
    }
}
