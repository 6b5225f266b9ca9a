//! Where the inputs of a layer come from, and what the kernels that read them receive.

use crate::kernels::{Nonlinearity, Piece, StepRecord, blocks, matrix, order_bytes, word, words};

/// How feature values stand on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureFormat {
    /// One byte each, scaled by 1/255 as they are read; rows padded to whole words.
    Bytes,
    /// f32 each, taken as they are; rows padded to whole vec4s.
    Floats,
}

impl FeatureFormat {
    /// The shader piece that reads them.
    pub(crate) fn piece(self) -> Piece {
        Piece::Named(match self {
            FeatureFormat::Bytes => "features_bytes",
            FeatureFormat::Floats => "features_floats",
        })
    }

    /// Elements to load for four values.
    pub(crate) fn words(self) -> usize {
        match self {
            FeatureFormat::Bytes => 1,
            FeatureFormat::Floats => 4,
        }
    }
}

/// A data set on the device: how its values stand, and how many rows it has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// How its values stand.
    pub stored: FeatureFormat,
    /// Rows that it has room for, at least one; an order that names others means the last.
    pub count: usize,
}

impl Samples {
    /// Rows that it has room for.
    pub(crate) fn rows(&self) -> usize {
        // Shaders look for rows up to the last, so there must be one.
        self.count.max(1)
    }
}

/// Where the inputs of a layer come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerInputs {
    /// A matrix of activations, [rows, inputs].
    Matrix,
    /// The rows of the data set that the order names.
    DataSet(Samples),
}

impl LayerInputs {
    /// Whether they are rows of the data set.
    pub fn is_data_set(&self) -> bool {
        matches!(self, LayerInputs::DataSet(_))
    }

    /// Rows of the data set; 1 where there is none.
    pub(crate) fn samples(&self) -> usize {
        match self {
            LayerInputs::Matrix => 1,
            LayerInputs::DataSet(samples) => samples.rows(),
        }
    }

    /// Bytes that a product reaches of its inputs, so many live rows and columns, of another operand, of the order where there is one, and of its result.
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

    /// The shader pieces that read them.
    pub(crate) fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let samples = if self.is_data_set() { "samples_order" } else { "samples_batch" };
        vec![("features", self.stored().piece()), ("samples", Piece::Named(samples))]
    }

    /// Elements that are loaded for four values.
    pub(crate) fn words(&self) -> usize {
        self.stored().words()
    }

    /// Elements of the order that a product reads which asks `places` times where a row begins.
    pub(crate) fn order_reads(&self, places: usize) -> usize {
        if self.is_data_set() { places } else { 0 }
    }
}

/// The uniform of the kernels whose operand B are a layer's weights (`shaders/common/layer.wgsl`): inputs, outputs, offset,
/// rows of the data set, and how far behind the activations their pre-activations stand.
pub(crate) fn layer_params(sizes: [usize; 5], nonlinearity: &Nonlinearity) -> Vec<u32> {
    [&sizes.map(word)[..], &nonlinearity.params()].concat()
}

impl Samples {
    /// Bytes of the values of all rows.
    pub(crate) fn bytes(&self, inputs: usize) -> u64 {
        words(&[&[self.rows(), blocks(inputs), self.stored.words()]])
    }
}
