//! Optimizers with their settings, by name. Formulas are those of [`OptimizerKind`], defaults its own.

use crate::step::{Optimizer, OptimizerKind};

/// Gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// What is added to the gradient of a parameter, as a share of it.
    pub weight_decay: f32,
}

/// Gradient descent with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Momentum {
    /// How much of the last update stays, from 0 to below 1.
    pub momentum: f32,
    /// What is added to the gradient of a parameter, as a share of it.
    pub weight_decay: f32,
}

/// Nesterov's momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nesterov {
    /// How much of the last update stays, from 0 to below 1.
    pub momentum: f32,
    /// What is added to the gradient of a parameter, as a share of it.
    pub weight_decay: f32,
}

/// Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// Decay of the means of gradients and of their squares, from 0 to below 1.
    pub betas: (f32, f32),
    /// What is added to denominators.
    pub eps: f32,
    /// What is added to the gradient of a parameter, as a share of it.
    pub weight_decay: f32,
}

/// Adam with decoupled weight decay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamW {
    /// Decay of the means of gradients and of their squares, from 0 to below 1.
    pub betas: (f32, f32),
    /// What is added to denominators.
    pub eps: f32,
    /// The share of a weight that a step takes from it, times the learning rate; biases do not decay.
    pub weight_decay: f32,
}

/// RMSprop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RmsProp {
    /// Decay of the mean of squared gradients, from 0 to below 1: alpha.
    pub beta: f32,
    /// How much of the last update stays, from 0 to below 1.
    pub momentum: f32,
    /// What is added to denominators.
    pub eps: f32,
    /// What is added to the gradient of a parameter, as a share of it.
    pub weight_decay: f32,
}

/// An optimizer that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptimizerChoice {
    /// This one with the settings of the preset, or else its usual ones.
    Kind(OptimizerKind),
    /// This one with these settings.
    Given(Optimizer),
}

impl OptimizerChoice {
    /// Which one.
    pub fn kind(self) -> OptimizerKind {
        match self {
            OptimizerChoice::Kind(kind) => kind,
            OptimizerChoice::Given(optimizer) => optimizer.kind,
        }
    }
}

impl From<OptimizerKind> for OptimizerChoice {
    fn from(kind: OptimizerKind) -> Self {
        OptimizerChoice::Kind(kind)
    }
}

impl Default for Sgd {
    fn default() -> Self {
        let Optimizer { weight_decay, .. } = OptimizerKind::Sgd.defaults();
        Self { weight_decay }
    }
}

impl From<Sgd> for OptimizerChoice {
    fn from(asked: Sgd) -> Self {
        let usual = OptimizerKind::Sgd.defaults();
        OptimizerChoice::Given(Optimizer { weight_decay: asked.weight_decay, ..usual })
    }
}

impl Default for Momentum {
    fn default() -> Self {
        let Optimizer { beta1: momentum, weight_decay, .. } = OptimizerKind::Momentum.defaults();
        Self { momentum, weight_decay }
    }
}

impl From<Momentum> for OptimizerChoice {
    fn from(asked: Momentum) -> Self {
        let usual = OptimizerKind::Momentum.defaults();
        OptimizerChoice::Given(Optimizer { beta1: asked.momentum, weight_decay: asked.weight_decay, ..usual })
    }
}

impl Default for Nesterov {
    fn default() -> Self {
        let Optimizer { beta1: momentum, weight_decay, .. } = OptimizerKind::Nesterov.defaults();
        Self { momentum, weight_decay }
    }
}

impl From<Nesterov> for OptimizerChoice {
    fn from(asked: Nesterov) -> Self {
        let usual = OptimizerKind::Nesterov.defaults();
        OptimizerChoice::Given(Optimizer { beta1: asked.momentum, weight_decay: asked.weight_decay, ..usual })
    }
}

impl Default for Adam {
    fn default() -> Self {
        let Optimizer { beta1, beta2, epsilon: eps, weight_decay, .. } = OptimizerKind::Adam.defaults();
        Self { betas: (beta1, beta2), eps, weight_decay }
    }
}

impl From<Adam> for OptimizerChoice {
    fn from(asked: Adam) -> Self {
        let usual = OptimizerKind::Adam.defaults();
        OptimizerChoice::Given(Optimizer {
            beta1: asked.betas.0,
            beta2: asked.betas.1,
            epsilon: asked.eps,
            weight_decay: asked.weight_decay,
            ..usual
        })
    }
}

impl Default for AdamW {
    fn default() -> Self {
        let Optimizer { beta1, beta2, epsilon: eps, weight_decay, .. } = OptimizerKind::AdamW.defaults();
        Self { betas: (beta1, beta2), eps, weight_decay }
    }
}

impl From<AdamW> for OptimizerChoice {
    fn from(asked: AdamW) -> Self {
        let usual = OptimizerKind::AdamW.defaults();
        OptimizerChoice::Given(Optimizer {
            beta1: asked.betas.0,
            beta2: asked.betas.1,
            epsilon: asked.eps,
            weight_decay: asked.weight_decay,
            ..usual
        })
    }
}

impl Default for RmsProp {
    fn default() -> Self {
        let Optimizer { beta1: momentum, beta2: beta, epsilon: eps, weight_decay, .. } =
            OptimizerKind::RmsProp.defaults();
        Self { beta, momentum, eps, weight_decay }
    }
}

impl From<RmsProp> for OptimizerChoice {
    fn from(asked: RmsProp) -> Self {
        let usual = OptimizerKind::RmsProp.defaults();
        OptimizerChoice::Given(Optimizer {
            beta1: asked.momentum,
            beta2: asked.beta,
            epsilon: asked.eps,
            weight_decay: asked.weight_decay,
            ..usual
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_command_line() {
        let choices: [OptimizerChoice; 6] = [
            Sgd::default().into(),
            Momentum::default().into(),
            Nesterov::default().into(),
            Adam::default().into(),
            AdamW::default().into(),
            RmsProp::default().into(),
        ];
        assert_eq!(choices.len(), OptimizerKind::ALL.len());
        for (choice, kind) in choices.into_iter().zip(OptimizerKind::ALL) {
            assert_eq!((choice.kind(), choice), (*kind, OptimizerChoice::Given(kind.defaults())));
        }
        let adam = Adam { betas: (0.8, 0.9), eps: 1e-6, weight_decay: 0.1 };
        let OptimizerChoice::Given(adam) = adam.into() else { panic!("no settings") };
        assert_eq!((adam.beta1, adam.beta2, adam.epsilon, adam.weight_decay), (0.8, 0.9, 1e-6, 0.1));
    }
}
