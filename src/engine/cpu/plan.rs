//! A step as a list of phases.

use super::divide::{Divide, columns, range};
use crate::model::Network;

/// Weights above the first layer from which on it pays that no two threads pack the same ones, though they meet more
/// often: so many are packed in the time of the meetings.
const WIDE: usize = 1 << 18;

/// Inputs of a batch from which on it pays that a thread of its own gathers the next one while another does a whole step:
/// gathering so many takes longer than meeting.
const APART: usize = 1 << 12;

/// What is done of a step, each thread its part. Layers above the first count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// By columns: the first layer forward.
    FirstLayer,
    /// By rows of the batch: the other layers forward, the loss, and back to the first layer's delta.
    Rows,
    /// By columns of its outputs: a layer above the first forward.
    Forward(usize),
    /// By rows: the loss, and its gradient by the logits.
    Loss,
    /// By columns of its inputs: the gradient by the inputs of a layer above the first.
    Backward(usize),
    /// By columns of the first layer and rows of the others' weights: the gradient, where its norm is clipped.
    Gradient,
    /// Divided likewise: the update.
    Update,
}

/// How the threads go through a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// One thread does all phases, while another gathers the next batch.
    Apart,
    /// So many threads share every phase, and gather beside the update; above the first layer each takes its rows.
    Rows(usize),
    /// The same, but there they divide the columns of each layer.
    Columns(usize),
}

impl Plan {
    /// For so many parts into which a step is worth dividing, and so many threads at most.
    pub fn new(network: &Network, batch: usize, parts: usize, cores: usize) -> Self {
        let above: usize = network.layers().skip(1).map(|(inputs, outputs)| inputs * outputs).sum();
        match parts {
            1 if cores > 1 && batch * network.inputs() >= APART => Plan::Apart,
            parts if parts > 1 && above >= WIDE => Plan::Columns(parts),
            parts => Plan::Rows(parts),
        }
    }

    /// Parts of a phase.
    pub fn parts(self) -> usize {
        match self {
            Plan::Apart => 1,
            Plan::Rows(parts) | Plan::Columns(parts) => parts,
        }
    }

    /// Threads that take part.
    pub fn threads(self) -> usize {
        if self == Plan::Apart { 2 } else { self.parts() }
    }

    /// Whether layers above the first are divided by columns; else by rows of the batch.
    pub fn is_by_columns(self) -> bool {
        matches!(self, Plan::Columns(_))
    }

    /// How the inputs of layers above the first are divided.
    pub fn divide(self) -> Divide {
        if self.is_by_columns() { columns } else { range }
    }

    /// The phases of a step with so many layers above the first, whose gradients are clipped or not.
    pub fn phases(self, above: usize, clips: bool) -> Vec<Phase> {
        let mut phases = vec![Phase::FirstLayer];
        if self.is_by_columns() {
            phases.extend((0..above).map(Phase::Forward));
            phases.push(Phase::Loss);
            phases.extend((0..above).rev().map(Phase::Backward));
        } else {
            phases.push(Phase::Rows);
        }
        phases.extend(clips.then_some(Phase::Gradient));
        phases.push(Phase::Update);
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steps_are_not_divided_and_large_layers_are() {
        let plan = |sizes: &[usize], batch, parts, cores| {
            Plan::new(&Network::classifier(sizes).unwrap(), batch, parts, cores)
        };
        assert_eq!(plan(&[784, 32, 10], 16, 1, 2), Plan::Apart);
        assert_eq!(plan(&[784, 32, 10], 16, 1, 1), Plan::Rows(1));
        assert_eq!(plan(&[20, 32, 10], 16, 1, 2), Plan::Rows(1));
        assert_eq!(plan(&[784, 300, 100, 10], 64, 2, 2), Plan::Rows(2));
        assert_eq!(plan(&[784, 2500, 2000, 10], 256, 2, 2), Plan::Columns(2));
        assert_eq!(plan(&[784, 2500, 2000, 10], 256, 1, 1), Plan::Rows(1));
    }

    #[test]
    fn layers_are_walked_forward_and_back() {
        use Phase::{Backward, FirstLayer, Forward, Gradient, Loss, Rows, Update};
        assert_eq!(Plan::Rows(2).phases(2, false), [FirstLayer, Rows, Update]);
        assert_eq!(Plan::Apart.phases(2, false), [FirstLayer, Rows, Update]);
        assert_eq!(Plan::Rows(2).phases(2, true), [FirstLayer, Rows, Gradient, Update]);
        let columns = [FirstLayer, Forward(0), Forward(1), Loss, Backward(1), Backward(0), Update];
        assert_eq!(Plan::Columns(2).phases(2, false), columns);
    }
}
