//! What a step computes of a layer: its outputs, and gradients by its pre-activations.

use std::ops::Range;

use super::matrix::Matrix;
use crate::step::{Activation, Dropout, StepRecord};

/// Some rows and columns of a layer's outputs, and their gradients.
#[derive(Default)]
pub struct Outputs {
    /// What the layer above reads: behind activation and dropout. Padding is 0.
    pub y: Matrix,
    /// What the activation's slope is computed from, where that is not `y`: the pre-activations; or, behind dropout, the
    /// outputs before it.
    kept: Matrix,
    /// Gradients of the summed loss by the pre-activations, times the scale of the step. Padding is 0.
    pub delta: Matrix,
}

/// What follows the products of a layer: activation and dropout.
#[derive(Clone, Copy)]
pub struct Epilogue<'a> {
    /// The activation.
    pub activation: Activation,
    /// Dropout, and the record of the step that it depends on.
    pub dropout: Option<(Dropout, &'a StepRecord)>,
}

/// Which rows of the batch and columns of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// Columns of the layer.
    pub columns: Range<usize>,
}

impl Epilogue<'_> {
    fn keeps_y(&self) -> bool {
        self.dropout.is_none() && !self.activation.keeps_z()
    }

    fn drop_out(&self, tile: &Tile, matrix: &mut Matrix) {
        if let Some((dropout, record)) = &self.dropout {
            for (row, values) in tile.rows.clone().zip(matrix.each_row_mut()) {
                dropout.apply(record, row, tile.columns.start, values);
            }
        }
    }
}

impl Outputs {
    /// From pre-activations, which are in `y`, to the outputs of a tile.
    pub fn activate(&mut self, behind: Epilogue<'_>, tile: &Tile) {
        let keeps_z = behind.activation.keeps_z();
        if keeps_z {
            self.keep();
        }
        behind.activation.value(self.y.values_mut());
        if self.y.column_count() < self.y.width() && behind.activation.at_zero() != 0.0 {
            self.y.clear_padding();
        }
        if !keeps_z && !behind.keeps_y() {
            self.keep();
        }
        behind.drop_out(tile, &mut self.y);
    }

    fn keep(&mut self) {
        self.kept.resize(self.y.row_count(), self.y.column_count());
        self.kept.values_mut().copy_from_slice(self.y.values());
    }

    /// From gradients by the outputs of a tile, which are in `delta`, to those by the pre-activations.
    pub fn activate_backward(&mut self, behind: Epilogue<'_>, tile: &Tile) {
        behind.drop_out(tile, &mut self.delta);
        let kept = if behind.keeps_y() { &self.y } else { &self.kept };
        behind.activation.gradient(self.delta.values_mut(), kept.values());
    }
}
