//! The input layer between a row of a table and the first dense layer: one-hot inputs, embeddings, and learnt factors.
//!
//! A row has one number per column. Each column becomes some inputs, E, and X = E s with a learnt factor s per input,
//! or X = E. The parameters are the weights of the columns, one column after the other, and s.
//!
//! | column | inputs | weights, in vec4s |
//! |---|---|---|
//! | number x | x | |
//! | one of k categories | 1 at its place, else 0 | |
//! | one of k categories, embedded | a row of d learnt numbers | k rows of ceil(d / 4) |
//! | number x, periodic | x, and three of cos(2 pi (x w + b)) V + c with 16 frequencies w | w, b, V (a row of 16 for each of the three), c: 4 each, c 1 |
//!
//! Categories count from 0; any other number is an unknown category, whose inputs are all 0. Padding of the weights is
//! 0.
//!
//! Periodic embeddings: "PBLD" of D. Holzmüller, L. Grinsztajn, I. Steinwart, "Better by default: strong pre-tuned
//! MLPs and boosted trees on tabular data", 2024, after Y. Gorishniy, I. Rubachev, A. Babenko, "On embeddings for
//! numerical features in tabular deep learning", 2022. The phases b count turns here.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::padding::blocks;
use crate::error::{Error, Result};
use crate::random::{Purpose, normal, uniform};

/// Frequencies of a periodic column.
pub const FREQUENCIES: usize = 16;

/// Inputs that a periodic column derives from its frequencies.
pub const MIXED: usize = 3;

/// vec4s of the weights of a periodic column.
pub const PERIODIC_BLOCKS: usize = (2 + MIXED) * FREQUENCIES / 4 + 1;

/// Standard deviation of the initial frequencies.
const FREQUENCY_DEVIATION: f64 = 0.1;

/// The conversion of a column to inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum InputColumn {
    /// A number, unchanged.
    Number,
    /// A number, unchanged, and three mixtures of its waves.
    Periodic,
    /// A category, as one input each: 1 for the category of the row, 0 for others.
    OneHot {
        /// The number of categories.
        categories: usize,
    },
    /// A category, as a row of learnt numbers.
    Embedding {
        /// The number of categories.
        categories: usize,
        /// Numbers per category.
        size: usize,
    },
}

impl InputColumn {
    /// The number of inputs of the column.
    pub fn inputs(self) -> usize {
        match self {
            Self::Number => 1,
            Self::Periodic => 1 + MIXED,
            Self::OneHot { categories } => categories,
            Self::Embedding { size, .. } => size,
        }
    }

    /// The number of vec4s of the column's weights.
    pub fn weights(self) -> usize {
        match self {
            Self::Number | Self::OneHot { .. } => 0,
            Self::Periodic => PERIODIC_BLOCKS,
            Self::Embedding { categories, size } => categories.saturating_mul(blocks(size)),
        }
    }

    /// FLOP per row of the forward pass, and of the gradients by weights and factors; `is_scaled` is true if inputs
    /// have learnt factors.
    pub fn flop(self, is_scaled: bool) -> [usize; 2] {
        let scaled = usize::from(is_scaled) * self.inputs();
        match self {
            Self::Number | Self::OneHot { .. } => [scaled, 0],
            // Forward: 14 per wave, and a product and a sum per input. Backward: two waves and their factors.
            Self::Periodic => [scaled + FREQUENCIES * (16 + 2 * MIXED), FREQUENCIES * (34 + 4 * MIXED)],
            Self::Embedding { size, .. } => [scaled, size * (1 + usize::from(is_scaled))],
        }
    }

    /// The number of learnt weights: all weights except padding.
    fn learnt(self) -> usize {
        match self {
            Self::Number | Self::OneHot { .. } => 0,
            Self::Periodic => (2 + MIXED) * FREQUENCIES + MIXED,
            Self::Embedding { categories, size } => categories.saturating_mul(size),
        }
    }
}

impl fmt::Display for InputColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("number"),
            Self::Periodic => f.write_str("periodic"),
            Self::OneHot { categories } => write!(f, "one-hot {categories}"),
            Self::Embedding { categories, size } => write!(f, "embedding {categories}x{size}"),
        }
    }
}

/// A column of a row, with the positions of its inputs and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedColumn {
    /// The index of the column.
    pub number: usize,
    /// The conversion of the column.
    pub column: InputColumn,
    /// The index of its first input.
    pub input: usize,
    /// The offset of its weights, in vec4s.
    pub weights: usize,
}

impl PlacedColumn {
    /// The indices of its inputs.
    pub fn inputs(&self) -> Range<usize> {
        self.input..self.input + self.column.inputs()
    }
}

/// The conversion of each column of a row, and whether inputs have learnt factors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct InputLayer {
    columns: Vec<InputColumn>,
    scaled: bool,
}

/// An input layer as stored in a model file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    columns: Vec<InputColumn>,
    scaled: bool,
}

impl TryFrom<Unchecked> for InputLayer {
    type Error = Error;

    fn try_from(Unchecked { columns, scaled }: Unchecked) -> Result<Self> {
        Self::new(columns, scaled)
    }
}

impl InputLayer {
    /// An input layer with at least one input.
    ///
    /// # Errors
    /// [`Error::Config`] for a layer without inputs, a column without inputs or categories, or an overflow of the
    /// number of weights.
    pub fn new(columns: Vec<InputColumn>, scaled: bool) -> Result<Self> {
        let is_empty = |column: &InputColumn| match column {
            InputColumn::Number | InputColumn::Periodic => false,
            InputColumn::OneHot { categories } => *categories == 0,
            InputColumn::Embedding { categories, size } => *categories == 0 || *size == 0,
        };
        if let Some(column) = columns.iter().find(|column| is_empty(column)) {
            return Err(Error::Config(format!(
                "an input layer needs columns that make inputs, not {column}"
            )));
        }
        let sum = |of: fn(InputColumn) -> usize| {
            columns.iter().try_fold(0usize, |sum, column| sum.checked_add(of(*column)))
        };
        match (sum(InputColumn::inputs), sum(InputColumn::weights)) {
            (Some(inputs), Some(weights)) if inputs > 0 && weights < usize::MAX / 32 => {
                Ok(Self { columns, scaled })
            }
            (Some(0), _) => Err(Error::Config("an input layer needs at least one input".to_owned())),
            _ => Err(Error::Config("an input layer of more weights than can be counted".to_owned())),
        }
    }

    /// The conversion of each column.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// Whether inputs have learnt factors.
    pub fn is_scaled(&self) -> bool {
        self.scaled
    }

    /// Inputs of the first dense layer.
    pub fn inputs(&self) -> usize {
        self.columns.iter().map(|column| column.inputs()).sum()
    }

    /// vec4s of the weights of all columns.
    pub fn weights(&self) -> usize {
        self.columns.iter().map(|column| column.weights()).sum()
    }

    /// The number of learnt input factors.
    pub fn scales(&self) -> usize {
        if self.scaled { self.inputs() } else { 0 }
    }

    /// The number of learnt parameters.
    pub fn parameter_count(&self) -> usize {
        let of_columns = self.columns.iter().map(|column| column.learnt());
        of_columns.fold(self.scales(), usize::saturating_add)
    }

    /// The columns with the positions of their inputs and weights, in order.
    pub fn placed(&self) -> impl Iterator<Item = PlacedColumn> + Clone + '_ {
        self.columns.iter().enumerate().scan((0, 0), |(input, weights), (number, column)| {
            let placed = PlacedColumn { number, column: *column, input: *input, weights: *weights };
            *input += column.inputs();
            *weights += column.weights();
            Some(placed)
        })
    }
}

/// The parameters of an input layer; gradients have the same form.
#[derive(Debug, Clone, PartialEq)]
pub struct InputParameters {
    /// The weights of all columns, in vec4s with padding of 0.
    pub weights: Vec<f32>,
    /// The factor of each input; empty if inputs have no factors.
    pub scale: Vec<f32>,
}

impl InputParameters {
    /// Parameters that are all 0.
    pub fn zeros(layer: &InputLayer) -> Self {
        Self { weights: vec![0.0; 4 * layer.weights()], scale: vec![0.0; layer.scales()] }
    }

    /// Random parameters: frequencies are normal with deviation 0.1, phases uniform over a turn, mixing weights and
    /// their biases uniform between -1/4 and 1/4; embeddings are normal with deviation 1 / sqrt(size); factors are 1.
    pub(super) fn initial(layer: &InputLayer, seed: u64) -> Self {
        let mut parameters = Self::zeros(layer);
        parameters.scale.fill(1.0);
        // Layers of the network use the streams from 0 on.
        let at = |index: usize| [index as u32, u32::MAX];
        let centered = |index: usize| 2.0 * uniform(seed, Purpose::Weights, at(index)) - 1.0;
        for PlacedColumn { column, weights, .. } in layer.placed() {
            let start = 4 * weights;
            let mut set = |offset: usize, value: f64| parameters.weights[start + offset] = value as f32;
            match column {
                InputColumn::Number | InputColumn::OneHot { .. } => {}
                InputColumn::Periodic => {
                    let bound = 1.0 / (FREQUENCIES as f64).sqrt();
                    for k in 0..FREQUENCIES {
                        let frequency = normal(seed, Purpose::Weights, at(start + k));
                        set(k, FREQUENCY_DEVIATION * frequency);
                        set(FREQUENCIES + k, 0.5 * centered(start + FREQUENCIES + k));
                    }
                    for k in 2 * FREQUENCIES..(2 + MIXED) * FREQUENCIES + MIXED {
                        set(k, bound * centered(start + k));
                    }
                }
                InputColumn::Embedding { categories, size } => {
                    let deviation = 1.0 / (size as f64).sqrt();
                    let row = 4 * blocks(size);
                    for index in
                        (0..categories).flat_map(|category| (0..size).map(move |k| category * row + k))
                    {
                        set(index, deviation * normal(seed, Purpose::Weights, at(start + index)));
                    }
                }
            }
        }
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer() -> InputLayer {
        let columns = vec![
            InputColumn::Number,
            InputColumn::OneHot { categories: 3 },
            InputColumn::Periodic,
            InputColumn::Embedding { categories: 9, size: 5 },
        ];
        InputLayer::new(columns, true).unwrap()
    }

    #[test]
    fn inputs_and_weights_stand_one_behind_the_other() {
        let layer = layer();
        assert_eq!((layer.inputs(), layer.weights(), layer.scales()), (13, 21 + 18, 13));
        assert_eq!(layer.parameter_count(), 83 + 45 + 13);
        let places: Vec<_> = layer.placed().map(|it| (it.inputs(), it.weights)).collect();
        assert_eq!(places, [(0..1, 0), (1..4, 0), (4..8, 0), (8..13, 21)]);
        assert!(InputLayer::new(vec![], true).is_err());
        assert!(InputLayer::new(vec![InputColumn::OneHot { categories: 0 }], true).is_err());
        let most = usize::MAX;
        for columns in [
            vec![InputColumn::Embedding { categories: most, size: 9 }],
            vec![InputColumn::OneHot { categories: most }, InputColumn::Number],
        ] {
            assert_eq!(InputLayer::new(columns, false).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn first_parameters_have_their_spread_and_no_padding() {
        let columns = vec![InputColumn::Periodic; 50];
        let columns = [columns, vec![InputColumn::Embedding { categories: 300, size: 6 }]].concat();
        let layer = InputLayer::new(columns, true).unwrap();
        let parameters = InputParameters::initial(&layer, 3);
        assert_eq!(parameters.scale, vec![1.0; layer.inputs()]);
        let periodic = || parameters.weights[..50 * 4 * PERIODIC_BLOCKS].chunks_exact(4 * PERIODIC_BLOCKS);
        let mean_square = |values: &mut dyn Iterator<Item = &f32>| {
            let values: Vec<f64> = values.map(|value| f64::from(*value).powi(2)).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let frequencies = mean_square(&mut periodic().flat_map(|it| &it[..16]));
        let phases = mean_square(&mut periodic().flat_map(|it| &it[16..32]));
        let mixing = mean_square(&mut periodic().flat_map(|it| &it[32..83]));
        let rows = parameters.weights[50 * 4 * PERIODIC_BLOCKS..].chunks_exact(8);
        let embedding = mean_square(&mut rows.clone().flat_map(|row| &row[..6]));
        // For 800 numbers or more: four standard errors are a fifth of the variance of a normal, an eighth of a uniform
        // variable.
        for (got, want) in
            [(frequencies, 0.01), (phases, 1.0 / 12.0), (mixing, 1.0 / 48.0), (embedding, 1.0 / 6.0)]
        {
            assert!((got / want - 1.0).abs() < 0.2, "{got}, not {want}");
        }
        assert!(periodic().all(|it| it[83] == 0.0) && rows.clone().all(|row| row[6..] == [0.0, 0.0]));
    }
}
