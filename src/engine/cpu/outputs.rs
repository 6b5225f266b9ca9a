//! Results of a step for a layer: its outputs, and gradients with respect to its pre-activations.

use std::ops::Range;

use super::matrix::Matrix;
use crate::step::{Activation, Dropout, StepRecord};

/// Some rows and columns of a layer's outputs, and their gradients.
#[derive(Default)]
pub struct Outputs {
    /// Inputs of the layer above: outputs after activation and dropout. Padding is 0.
    pub y: Matrix,
    /// Input of the activation's derivative if it is not `y`: the pre-activations or, with dropout, the
    /// outputs before dropout.
    kept: Matrix,
    /// Gradients of the summed loss with respect to the pre-activations, times the scale of the step. Padding
    /// is 0.
    pub delta: Matrix,
}

/// Operations after the products of a layer: activation and dropout.
#[derive(Clone, Copy)]
pub struct Epilogue<'a> {
    /// The activation.
    pub activation: Activation,
    /// Dropout, and the record of the step, which determines its mask.
    pub dropout: Option<(Dropout, &'a StepRecord)>,
}

/// Some rows of the batch and columns of a layer.
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
    /// Turns pre-activations, which are in `y`, into the outputs of a tile.
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

    /// Turns gradients with respect to the outputs of a tile, which are in `delta`, into gradients with
    /// respect to the pre-activations.
    pub fn activate_backward(&mut self, behind: Epilogue<'_>, tile: &Tile) {
        behind.drop_out(tile, &mut self.delta);
        let kept = if behind.keeps_y() { &self.y } else { &self.kept };
        behind.activation.gradient(self.delta.values_mut(), kept.values());
    }
}
