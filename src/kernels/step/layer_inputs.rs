//! Source of a layer's inputs, and the parameters of kernels that read them.

use crate::kernels::{Nonlinearity, Piece, StepRecord, blocks, matrix, order_bytes, word, words};

/// Format of feature values on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureFormat {
    /// One byte each, scaled by 1/255 when read; rows padded to whole words.
    Bytes,
    /// f32 each, unscaled; rows padded to whole vec4s.
    Floats,
}

impl FeatureFormat {
    /// Returns the shader piece that reads them.
    pub(crate) fn piece(self) -> Piece {
        Piece::Named(match self {
            FeatureFormat::Bytes => "features_bytes",
            FeatureFormat::Floats => "features_floats",
        })
    }

    /// Returns the elements loaded for four values.
    pub(crate) fn words(self) -> usize {
        match self {
            FeatureFormat::Bytes => 1,
            FeatureFormat::Floats => 4,
        }
    }
}

/// A data set on the device: the format of its values, and its capacity in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// Format of the values.
    pub stored: FeatureFormat,
    /// Capacity in rows, at least one; larger row numbers in an order mean the last row.
    pub count: usize,
}

impl Samples {
    /// Returns the capacity in rows.
    pub(crate) fn rows(&self) -> usize {
        // Shaders clamp row numbers to the last row, so there must be one.
        self.count.max(1)
    }
}

/// Source of a layer's inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerInputs {
    /// A matrix of activations, [rows, inputs].
    Matrix,
    /// Rows of the data set in the order's sequence.
    DataSet(Samples),
}

impl LayerInputs {
    /// Returns whether inputs are rows of the data set.
    pub fn is_data_set(&self) -> bool {
        matches!(self, LayerInputs::DataSet(_))
    }

    /// Returns the rows of the data set; 1 if there is none.
    pub(crate) fn samples(&self) -> usize {
        match self {
            LayerInputs::Matrix => 1,
            LayerInputs::DataSet(samples) => samples.rows(),
        }
    }

    /// Returns the bytes that a product accesses of its inputs, with these live rows and columns, of another
    /// operand, of the order if there is one, and of its result.
    pub(crate) fn extents(&self, other: u64, result: u64, live: [usize; 2], record: &StepRecord) -> Vec<u64> {
        match self {
            LayerInputs::Matrix => vec![matrix(live[0], live[1]), other, result],
            LayerInputs::DataSet(samples) => {
                vec![samples.bytes(live[1]), other, order_bytes(record, false), result]
            }
        }
    }

    fn stored(&self) -> FeatureFormat {
        match self {
            LayerInputs::Matrix => FeatureFormat::Floats,
            LayerInputs::DataSet(samples) => samples.stored,
        }
    }

    /// Returns the shader pieces that read them.
    pub(crate) fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let samples = if self.is_data_set() { "samples_order" } else { "samples_batch" };
        vec![("features", self.stored().piece()), ("samples", Piece::Named(samples))]
    }

    /// Returns the elements loaded for four values.
    pub(crate) fn words(&self) -> usize {
        self.stored().words()
    }

    /// Returns the elements of the order read by a product that needs the start of a row `places` times.
    pub(crate) fn order_reads(&self, places: usize) -> usize {
        if self.is_data_set() { places } else { 0 }
    }
}

/// Returns the uniform of kernels whose operand B are a layer's weights (`shaders/common/layer.wgsl`):
/// inputs, outputs, offset, rows of the data set, and distance from activations to their pre-activations.
pub(crate) fn layer_params(sizes: [usize; 5], nonlinearity: &Nonlinearity) -> Vec<u32> {
    [&sizes.map(word)[..], &nonlinearity.params()].concat()
}

impl Samples {
    /// Returns the bytes of the values of all rows.
    pub(crate) fn bytes(&self, inputs: usize) -> u64 {
        words(&[&[self.rows(), blocks(inputs), self.stored.words()]])
    }
}
