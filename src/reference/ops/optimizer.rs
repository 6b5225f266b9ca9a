//! The update of a single parameter by each optimizer, written as in its publication.

use crate::step::{Optimizer, OptimizerKind};

/// A parameter p and its state after update number `t`, from 1, with gradient g. The state is [momentum, 0],
/// [mean of g, mean of g^2], or [momentum, mean of g^2].
pub fn optimize(
    optimizer: &Optimizer,
    (p, g): (f64, f64),
    state: [f64; 2],
    [rate, decay]: [f64; 2],
    t: u64,
) -> (f64, [f64; 2]) {
    let beta1 = f64::from(optimizer.beta1);
    let beta2 = f64::from(optimizer.beta2);
    let epsilon = f64::from(optimizer.epsilon);
    let mean = |beta: f64, before: f64, new: f64| beta * before + (1.0 - beta) * new;
    let decayed = g + decay * p;
    match optimizer.kind {
        OptimizerKind::Sgd => (p - rate * decayed, state),
        OptimizerKind::Momentum => {
            let velocity = beta1 * state[0] + decayed;
            (p - rate * velocity, [velocity, 0.0])
        }
        OptimizerKind::Nesterov => {
            let velocity = beta1 * state[0] + decayed;
            (p - rate * (decayed + beta1 * velocity), [velocity, 0.0])
        }
        OptimizerKind::Adam | OptimizerKind::AdamW => {
            let coupled = optimizer.kind == OptimizerKind::Adam;
            let g = if coupled { decayed } else { g };
            let p = if coupled { p } else { p * (1.0 - rate * decay) };
            let first = mean(beta1, state[0], g);
            let second = mean(beta2, state[1], g.powi(2));
            let unbiased = |beta: f64, mean: f64| mean / (1.0 - beta.powf(t as f64));
            let direction = unbiased(beta1, first) / (unbiased(beta2, second).sqrt() + epsilon);
            (p - rate * direction, [first, second])
        }
        OptimizerKind::RmsProp => {
            let second = mean(beta2, state[1], decayed.powi(2));
            let velocity = beta1 * state[0] + decayed / (second.sqrt() + epsilon);
            (p - rate * velocity, [velocity, second])
        }
    }
}

/// Whether the optimizer's weight decay applies to biases.
pub fn decays_biases(kind: OptimizerKind) -> bool {
    kind != OptimizerKind::AdamW
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps with gradient 1 from p = 1, each with its default rate, computed by hand.
    #[test]
    fn two_steps_are_as_computed_by_hand() {
        for (kind, want) in [
            (OptimizerKind::Sgd, [0.9, 0.8]),
            // b: 1, 1.9.
            (OptimizerKind::Momentum, [0.9, 0.71]),
            // 1.9, then 1 + 0.9 * 1.9 = 2.71.
            (OptimizerKind::Nesterov, [0.81, 0.539]),
            // Both means are corrected to 1.
            (OptimizerKind::Adam, [0.999, 0.998]),
            // 1 - 1e-5 - 1e-3 = 0.99899; 0.99899 (1 - 1e-5) - 1e-3.
            (OptimizerKind::AdamW, [0.99899, 0.997_980_010_1]),
            // v: 0.01, 0.0199; 1 / 0.1 and 1 / 0.141067 times 0.001.
            (OptimizerKind::RmsProp, [0.99, 0.982_911_188_5]),
        ] {
            let optimizer = kind.defaults();
            let settings = [f64::from(kind.default_rate()), f64::from(optimizer.weight_decay)];
            let (p, state) = optimize(&optimizer, (1.0, 1.0), [0.0; 2], settings, 1);
            assert!((p - want[0]).abs() < 3e-8, "{kind}: {p}, not {}", want[0]);
            let (p, _) = optimize(&optimizer, (p, 1.0), state, settings, 2);
            assert!((p - want[1]).abs() < 3e-8, "{kind}: {p}, not {}", want[1]);
        }
    }
}
