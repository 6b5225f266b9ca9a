//! A step as a list of phases.

use std::ops::Range;

use super::partition::{LANES, pieces};
use crate::model::Network;

/// Weights above the first layer from which on they do not fit the nearest caches, so that their products
/// have to be packed.
const WIDE: usize = 1 << 18;

/// Inputs of a batch from which on a separate thread gathers the next batch while another does a whole step:
/// gathering them takes longer than the barrier.
const APART: usize = 1 << 12;

/// Steps done while another thread gathers the same number of batches: a meeting takes about as long as a
/// part of such a step.
const APART_STEPS: usize = 8;

/// Vectors per piece above the first layer: fewer are hardly worth packing, more do not fit the caches.
const SMALL_PIECE: usize = 2;
const LARGE_PIECE: usize = 20;

/// Least number of pieces of a wide layer, for an equal number of threads.
const FEW_PIECES: usize = 8;

/// Most pieces of an input layer, if sums depend on them.
const INPUT_PIECES: usize = 16;

/// A phase of a step, of which each thread does a part. Layers above the first count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// First layer forward, by columns.
    FirstLayer,
    /// A layer above the first forward, by columns of its outputs. If layers are paired, by columns of its
    /// inputs, so that each part computes a share of the sums.
    Forward(usize),
    /// Layers above the paired ones forward, the loss, and back, by rows of the batch.
    Rows,
    /// Loss, and its gradient with respect to the logits, by rows.
    Loss,
    /// Gathering of the next step's inputs, by rows, or by inputs if zeros are skipped.
    Gather,
    /// Gradient with respect to the inputs of a layer above the first, by columns of its inputs.
    Backward(usize),
    /// Gradient, if its norm is clipped, by columns of the first layer and rows of the others' weights.
    Gradient,
    /// Update, divided as the gradient.
    Update,
}

/// Division of a step between the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// One thread does all phases, while another gathers the next batch.
    Apart,
    /// Threads that share every phase. The first two layers are paired: a thread has columns of the first and
    /// the corresponding weights of the second. Above these, each thread takes its rows.
    Rows(usize),
    /// Like `Rows`, but each layer is divided by columns.
    Columns(usize),
}

impl Plan {
    /// Chooses the plan of a step that is worth dividing into `parts` parts, on at most `cores` threads.
    pub fn new(network: &Network, batch: usize, parts: usize, cores: usize) -> Self {
        let above: usize = network.layers().skip(1).map(|(inputs, outputs)| inputs * outputs).sum();
        match parts {
            // Only this plan passes gradients to layers below a dense layer.
            parts if above >= WIDE || network.input_layer().is_some() => Plan::Columns(parts),
            1 if cores > 1 && batch * network.inputs() >= APART => Plan::Apart,
            parts => Plan::Rows(parts),
        }
    }

    /// Returns the largest number of parts of a step, with or without gradient clipping. When divided by
    /// columns, parts without a piece of a narrower layer wait.
    pub fn most_parts(network: &Network, clips: bool) -> usize {
        let pieces = Self::first_pieces(network);
        if clips || !Self::new(network, 1, 1, 1).is_by_columns() {
            return pieces;
        }
        let above = usize::from(network.input_layer().is_none());
        let widest = network.dense()[above..].iter().map(|layer| layer.units).max().unwrap_or(0);
        pieces.max(widest.div_ceil(SMALL_PIECE * LANES))
    }

    /// Returns the number of pieces of the first dense layer, which does not depend on the number of threads.
    pub fn first_pieces(network: &Network) -> usize {
        Self::new(network, 1, 1, 1).fixed_pieces(network.dense()[0].units).len()
    }

    /// Returns the number of steps between meetings of the threads.
    pub fn steps_of_region(self) -> usize {
        if self == Plan::Apart { APART_STEPS } else { 1 }
    }

    /// Returns the number of parts of a phase.
    pub fn parts(self) -> usize {
        match self {
            Plan::Apart => 1,
            Plan::Rows(parts) | Plan::Columns(parts) => parts,
        }
    }

    /// Returns the number of threads.
    pub fn threads(self) -> usize {
        if self == Plan::Apart { 2 } else { self.parts() }
    }

    /// Returns whether layers above the first are divided by columns; otherwise the first two are paired.
    pub fn is_by_columns(self) -> bool {
        matches!(self, Plan::Columns(_))
    }

    /// Divides a layer's columns into pieces that do not depend on the number of threads, for sums over
    /// pieces: sums of paired layers, lists of nonzero inputs, and squares of gradients. Five vectors of
    /// weights fill the registers.
    pub fn fixed_pieces(self, columns: usize) -> Vec<Range<usize>> {
        let wide = columns.div_ceil(LANES) / FEW_PIECES;
        pieces(columns, if self.is_by_columns() { wide.clamp(5, 10) } else { 5 }, 2)
    }

    /// Divides the columns of a layer above the first into one piece per part, or a multiple, if sums do not
    /// depend on pieces.
    pub fn pieces(self, columns: usize, clips: bool) -> Vec<Range<usize>> {
        if clips {
            return self.fixed_pieces(columns);
        }
        let share = columns.div_ceil(LANES).div_ceil(self.parts());
        pieces(columns, share.clamp(SMALL_PIECE, LARGE_PIECE), self.parts())
    }

    /// Returns the largest number of pieces of an input layer.
    pub fn input_pieces(self, clips: bool) -> usize {
        if clips { INPUT_PIECES } else { self.parts() }
    }

    /// Returns the phases of a step with `above` layers above the first, with or without gradient clipping,
    /// in regions between which the threads meet. The first region of a step is merged with the last of the
    /// step before.
    pub fn regions(self, above: usize, clips: bool) -> Vec<Vec<Phase>> {
        let mut regions = vec![vec![Phase::FirstLayer]];
        let mut last = Vec::new();
        if self.is_by_columns() {
            regions.extend((0..above).map(|layer| vec![Phase::Forward(layer)]));
            regions.push(vec![Phase::Loss, Phase::Gather]);
            regions.extend((1..above).rev().map(|layer| vec![Phase::Backward(layer)]));
        } else {
            regions[0].extend((above > 0).then_some(Phase::Forward(0)));
            regions.push(vec![Phase::Rows, Phase::Gather]);
        }
        last.extend((above > 0).then_some(Phase::Backward(0)));
        if clips {
            last.push(Phase::Gradient);
            regions.push(std::mem::take(&mut last));
        }
        last.push(Phase::Update);
        regions.push(last);
        regions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InputColumn, InputLayer};

    #[test]
    fn small_steps_are_not_divided_and_large_layers_are() {
        let network = |sizes: &[usize]| Network::classifier(sizes).unwrap();
        let plan = |sizes: &[usize], batch, parts, cores| Plan::new(&network(sizes), batch, parts, cores);
        assert_eq!(plan(&[784, 32, 10], 16, 1, 2), Plan::Apart);
        assert_eq!(plan(&[784, 32, 10], 16, 1, 1), Plan::Rows(1));
        assert_eq!(plan(&[20, 32, 10], 16, 1, 2), Plan::Rows(1));
        assert_eq!(plan(&[784, 300, 100, 10], 64, 2, 2), Plan::Rows(2));
        assert_eq!(plan(&[784, 2500, 2000, 10], 256, 2, 2), Plan::Columns(2));
        assert_eq!(plan(&[784, 2500, 2000, 10], 256, 1, 1), Plan::Columns(1));
        let most_parts = |sizes: &[usize]| Plan::most_parts(&network(sizes), false);
        assert_eq!(most_parts(&[784, 300, 100, 10]), 4);
        assert_eq!(most_parts(&[784, 512, 512, 10]), 16);
        assert_eq!(most_parts(&[784, 2500, 2000, 10]), 63);
        assert_eq!(most_parts(&[4, 3]), 1);
        let table = InputLayer::new(vec![InputColumn::Periodic; 57], true).unwrap();
        let table = network(&[table.inputs(), 256, 256, 2]).with_input_layer(table).unwrap();
        assert_eq!([Plan::most_parts(&table, false), Plan::most_parts(&table, true)], [8, 4]);
    }

    #[test]
    fn layers_are_walked_forward_and_back() {
        use Phase::{Backward, FirstLayer, Forward, Gather, Gradient, Loss, Rows, Update};
        let [first, rows] = [&[FirstLayer, Forward(0)][..], &[Rows, Gather]];
        assert_eq!(Plan::Rows(2).regions(2, false), [first, rows, &[Backward(0), Update]]);
        assert_eq!(Plan::Apart.regions(1, false), [first, rows, &[Backward(0), Update]]);
        assert_eq!(Plan::Rows(2).regions(0, false), [&[FirstLayer], rows, &[Update]]);
        assert_eq!(Plan::Rows(2).regions(3, true), [first, rows, &[Backward(0), Gradient], &[Update]]);
        let columns: [&[Phase]; 6] = [
            &[FirstLayer],
            &[Forward(0)],
            &[Forward(1)],
            &[Loss, Gather],
            &[Backward(1)],
            &[Backward(0), Update],
        ];
        assert_eq!(Plan::Columns(2).regions(2, false), columns);
    }
}
