//! The conversion of a table's columns to network inputs: learnt on the training rows, stored in the model.

pub(crate) mod affine;
pub(crate) mod by_column;
pub(crate) mod normal_score;
pub(crate) mod scale;
pub(crate) mod statistics;
pub(crate) mod targets;
pub(crate) mod transform;
pub(crate) mod unknown;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use self::affine::Affine;
use self::by_column::by_column;
use self::normal_score::normal_score;
use self::scale::Scale;
use self::statistics::{is_coarse, moments, quantile_of_sorted};
use self::unknown::{UnknownCells, UnknownKind};
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::classes::Classes;
use crate::data::dataset::{Features, reserve};
use crate::error::Result;
use crate::threads::each;

/// The conversion of each column of a table to inputs, in column order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// One encoding per column.
    pub columns: Vec<ColumnEncoding>,
    /// Whether columns of more than two categories become category numbers from 0, for an input layer of a network (the
    /// last number is the missing category, -1 an unknown category).
    pub is_numbered: bool,
}

/// The conversion of one column of a table to inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ColumnEncoding {
    /// A column of numbers is one input, computed in f64 and rounded once.
    Number {
        /// The scaling of a value.
        map: NumericScaling,
        /// The value that replaces a missing one: the median of the training rows.
        fill: f64,
        /// Whether a second input is 1 for a missing value and 0 otherwise: true if training rows miss values.
        has_indicator: bool,
    },
    /// A column of categories. Two categories are one input, -1 for the first and 1 for the second. More categories are
    /// one input each: 1 for the category of the row, 0 for all others. An unknown category is 0 in all of them.
    Category {
        /// The categories of the training rows.
        categories: Classes,
        /// Whether missing cells are an additional, last category: true if training rows miss cells.
        has_missing: bool,
    },
}

/// The scaling of a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum NumericScaling {
    /// (value - center) / width; 0 if the width is 0, as for a column of equal values.
    Affine {
        /// The value that becomes 0.
        center: f64,
        /// The distance from the center to the value that becomes 1; not negative.
        width: f64,
    },
    /// y / sqrt(1 + (y / 3)^2) with y = (value - center) / width: all inputs lie between -3 and 3, and near 0 they
    /// equal y; 0 if the width is 0. Known as smooth clipping (D. Holzmüller and others, "Better by default", 2024).
    Clipped {
        /// The value that becomes 0.
        center: f64,
        /// The distance from the center at which y is 1; not negative.
        width: f64,
    },
    /// The quantile of the standard normal distribution at the value's rank among these quantiles of the training rows,
    /// which ascend and are evenly spaced; ranks are interpolated between quantiles and kept 1e-7 away from 0 and 1.
    Normal(
        /// Stored as a tensor of a model file, not in its metadata.
        #[serde(skip)]
        Vec<f64>,
    ),
}

/// Maximum number of quantiles kept per column.
const QUANTILES: usize = 256;

/// Rows that a thread encodes at a time.
const APPLIED_ROWS: usize = 4096;

impl Encoding {
    /// Learns the encoding from training rows in table form (before encoding), with a dictionary for each column in
    /// `categories`, the ascending indices of columns of categories; on at most `threads` threads, by default one per
    /// core.
    pub(crate) fn learn(
        features: &Features,
        width: usize,
        categories: &[usize],
        dictionaries: &[Dictionary],
        scale: Scale,
        threads: Option<usize>,
    ) -> Self {
        let code = |column: usize, values| match categories.binary_search(&column) {
            Ok(index) => ColumnEncoding::category(values, &dictionaries[index]),
            Err(_) => ColumnEncoding::number(values, scale),
        };
        Self { columns: by_column(features, width, threads, code), is_numbered: false }
    }

    /// Replaces the scaling of all numbers by smooth clipping, except scaling by quantiles.
    #[must_use]
    pub fn clipped(mut self) -> Self {
        for code in &mut self.columns {
            if let ColumnEncoding::Number { map, .. } = code
                && let NumericScaling::Affine { center, width } = *map
            {
                *map = NumericScaling::Clipped { center, width };
            }
        }
        self
    }

    /// Replaces the value that becomes 0 in all columns of numbers.
    #[must_use]
    pub(crate) fn centred(mut self, value: u8) -> Self {
        for code in &mut self.columns {
            if let ColumnEncoding::Number { map: NumericScaling::Affine { center, .. }, .. } = code {
                *center = f64::from(value);
            }
        }
        self
    }

    /// Whether all columns are bytes, divided by 255 after the same value was subtracted.
    pub(crate) fn is_of_bytes(&self) -> bool {
        let center = |code: &ColumnEncoding| match code {
            ColumnEncoding::Number { map: NumericScaling::Affine { center, width: 255.0 }, .. } => {
                Some(*center)
            }
            _ => None,
        };
        let first = self.columns.first().and_then(center);
        first.is_some() && self.columns.iter().all(|code| center(code) == first)
    }

    /// The indices of the columns of categories.
    pub fn categories(&self) -> Vec<usize> {
        let is_category =
            |(_, code): &(usize, &ColumnEncoding)| matches!(code, ColumnEncoding::Category { .. });
        self.columns.iter().enumerate().filter(is_category).map(|(column, _)| column).collect()
    }

    /// Network inputs per row.
    pub fn inputs(&self) -> usize {
        self.columns.iter().map(|code| self.width(code)).sum()
    }

    /// Numbers per row that a column becomes.
    pub fn width(&self, code: &ColumnEncoding) -> usize {
        match code {
            ColumnEncoding::Category { .. } if self.is_numbered => 1,
            code => code.inputs(),
        }
    }

    /// Replaces rows in table form by their inputs, with a dictionary for each column of categories, on at most
    /// `threads` threads. Returns the cells whose category no training row holds, and the cells that miss a value in
    /// a column without missing values in training rows.
    ///
    /// # Errors
    /// [`crate::Error::Config`] if memory cannot hold the inputs.
    pub(crate) fn apply(
        &self,
        features: &mut Features,
        dictionaries: &[Dictionary],
        threads: usize,
    ) -> Result<UnknownCells> {
        let (from, to) = (self.columns.len(), self.inputs());
        let rows = features.len() / from;
        let floats = features.make_floats()?;
        reserve(floats, rows * (to - from), Path::new(&format!("rows of {to} inputs")))?;
        floats.resize(rows * to, 0.0);
        let steps = self.steps(dictionaries);
        // Rows that become wider are moved by a single thread.
        let part = if from == to { APPLIED_ROWS } else { rows.max(1) };
        let unknown = Mutex::new(UnknownCells::default());
        each(threads, floats.chunks_mut(part * to), |floats| {
            let of_part = self.encode_rows(&steps, floats);
            unknown.lock().unwrap_or_else(PoisonError::into_inner).extend(&of_part);
        });
        Ok(unknown.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Encodes in place rows that occupy the beginning of the space for their inputs.
    fn encode_rows(&self, steps: &[Step<'_>], floats: &mut [f32]) -> UnknownCells {
        let (from, to) = (self.columns.len(), self.inputs());
        let mut cells = vec![0.0; from];
        let mut unknown = UnknownCells::default();
        // Backwards: inputs take at least the space of columns, so no row is overwritten before it is read.
        for row in (0..floats.len() / to).rev() {
            cells.copy_from_slice(&floats[row * from..][..from]);
            let (mut cells, mut inputs) = (&cells[..], &mut floats[row * to..][..to]);
            let mut column = 0;
            for step in steps {
                let (columns, width) = match step {
                    Step::Numbers(affine) => (affine.len(), affine.len()),
                    Step::Column(code, _) => (1, self.width(code)),
                };
                let (own_cells, other_cells) = cells.split_at(columns);
                let (own, others) = inputs.split_at_mut(width);
                (cells, inputs) = (other_cells, others);
                match step {
                    Step::Numbers(affine) if affine.encode(own_cells, own) > 0 => {
                        let missing = (0..columns).filter(|index| own_cells[*index].is_nan());
                        missing.for_each(|index| unknown.add(UnknownKind::MissingNumber, column + index));
                    }
                    Step::Column(code, known) if !code.encode(own_cells[0], known, self.is_numbered, own) => {
                        unknown.add(code.unknown_kind(own_cells[0]), column);
                    }
                    Step::Numbers(_) | Step::Column(..) => {}
                }
                column += columns;
            }
        }
        unknown
    }

    /// Whether every cell of a row in table form is an unknown category.
    pub(crate) fn knows_no_text_of(&self, row: &[f32], dictionaries: &[Dictionary]) -> bool {
        let mut dictionaries = dictionaries.iter();
        let mut is_unknown = |(code, number): (&ColumnEncoding, &f32)| match code {
            ColumnEncoding::Category { categories, .. } => {
                let text = dictionaries.next().and_then(|dictionary| dictionary.text(*number as u32));
                text.is_some_and(|text| categories.finder()(text).is_none())
            }
            ColumnEncoding::Number { .. } => false,
        };
        self.columns.iter().zip(row).all(&mut is_unknown)
    }

    /// The encoding steps of a row, from the first column to the last.
    fn steps(&self, dictionaries: &[Dictionary]) -> Vec<Step<'_>> {
        let mut dictionaries = dictionaries.iter();
        let mut steps = Vec::new();
        for code in &self.columns {
            match code {
                // With a width of 0 the input is 0, not a quotient.
                ColumnEncoding::Number {
                    map: NumericScaling::Affine { center, width },
                    fill,
                    has_indicator: false,
                } if *width != 0.0 => {
                    if !matches!(steps.last(), Some(Step::Numbers(_))) {
                        steps.push(Step::Numbers(Affine::default()));
                    }
                    if let Some(Step::Numbers(affine)) = steps.last_mut() {
                        affine.push(*center, *width, *fill);
                    }
                }
                ColumnEncoding::Number { .. } => steps.push(Step::Column(code, Vec::new())),
                ColumnEncoding::Category { categories, .. } => {
                    let known = dictionaries.next().map(|dictionary| dictionary.classes_in(categories));
                    steps.push(Step::Column(code, known.unwrap_or_default()));
                }
            }
        }
        steps
    }

    /// The columns of numbers whose values are so far from 0 that the 32-bit floats of the rows hardly distinguish
    /// them, with their centers and widths.
    pub(crate) fn coarse(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        self.columns.iter().enumerate().filter_map(|(column, code)| match code {
            ColumnEncoding::Number {
                map: NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width },
                ..
            } => is_coarse(*center, *width).then_some((column, *center, *width)),
            _ => None,
        })
    }
}

/// The encoding of neighbouring columns of a row.
enum Step<'a> {
    /// Neighbouring columns of numbers.
    Numbers(Affine),
    /// A column; if it holds categories, with the category of each number of its dictionary.
    Column(&'a ColumnEncoding, Vec<Option<u32>>),
}

impl ColumnEncoding {
    /// Network inputs of the column in one-hot form.
    pub fn inputs(&self) -> usize {
        match self {
            ColumnEncoding::Number { has_indicator, .. } => 1 + usize::from(*has_indicator),
            ColumnEncoding::Category { categories, has_missing } => {
                let count = categories.len() + usize::from(*has_missing);
                // A column without any value still is one input, which is always 0.
                if self.is_binary() { 1 } else { count.max(1) }
            }
        }
    }

    /// Whether the column holds two categories and no missing cells.
    pub fn is_binary(&self) -> bool {
        matches!(self, ColumnEncoding::Category { categories, has_missing: false } if categories.len() == 2)
    }

    fn category(values: Vec<f32>, dictionary: &Dictionary) -> Self {
        let mut occurs = vec![false; dictionary.numbers()];
        values.into_iter().for_each(|number| occurs[number as usize] = true);
        let numbers = (0..).zip(&occurs).filter(|(_, occurs)| **occurs).map(|(number, _)| number);
        ColumnEncoding::Category {
            categories: dictionary.categories(numbers),
            has_missing: occurs[MISSING as usize],
        }
    }

    fn number(mut present: Vec<f32>, scale: Scale) -> Self {
        let rows = present.len();
        present.retain(|value| !value.is_nan());
        let has_indicator = present.len() < rows;
        let affine = |center: f64, width: f64| NumericScaling::Affine { center, width };
        let quantile = |present: &mut [f32], rank| statistics::quantile(present, rank).unwrap_or(0.0);
        let map = match scale {
            Scale::Auto | Scale::Standard => {
                let (mean, deviation) = moments(&present);
                affine(mean, deviation)
            }
            Scale::MinMax => {
                let (least, greatest) = (quantile(&mut present, 0.0), quantile(&mut present, 1.0));
                affine(least, greatest - least)
            }
            Scale::Robust => {
                let middle = quantile(&mut present, 0.5);
                let half = quantile(&mut present, 0.75) - quantile(&mut present, 0.25);
                let all = quantile(&mut present, 1.0) - quantile(&mut present, 0.0);
                affine(middle, if half > 0.0 { half } else { all / 2.0 })
            }
            Scale::Quantile => {
                present.sort_unstable_by(f32::total_cmp);
                // The same number of quantiles for every column, however many values are missing.
                let count = QUANTILES.min(rows);
                let rank = |index: usize| index as f64 / (count.max(2) - 1) as f64;
                let quantile = |index: usize| quantile_of_sorted(&present, rank(index)).unwrap_or(0.0);
                NumericScaling::Normal((0..count).map(quantile).collect())
            }
            Scale::Bytes => affine(0.0, 255.0),
            Scale::None => affine(0.0, 1.0),
        };
        let fill = quantile(&mut present, 0.5);
        ColumnEncoding::Number { map, fill, has_indicator }
    }

    /// The kind of unknown cell: a missing number, a missing category or an unknown category.
    fn unknown_kind(&self, cell: f32) -> UnknownKind {
        match self {
            ColumnEncoding::Number { .. } => UnknownKind::MissingNumber,
            ColumnEncoding::Category { .. } if cell as u32 == MISSING => UnknownKind::MissingCategory,
            ColumnEncoding::Category { .. } => UnknownKind::Category,
        }
    }

    /// Writes the inputs of a cell; returns false if no training row held such a value.
    fn encode(&self, cell: f32, known: &[Option<u32>], is_numbered: bool, inputs: &mut [f32]) -> bool {
        inputs.fill(0.0);
        match self {
            ColumnEncoding::Number { map, fill, has_indicator } => {
                let is_missing = cell.is_nan();
                inputs[0] = map.apply(if is_missing { *fill } else { f64::from(cell) }) as f32;
                if *has_indicator && is_missing {
                    inputs[1] = 1.0;
                }
                *has_indicator || !is_missing
            }
            ColumnEncoding::Category { categories, has_missing } => {
                let number = cell as u32;
                match known.get(number as usize).copied().flatten() {
                    Some(category) if self.is_binary() => inputs[0] = if category == 0 { -1.0 } else { 1.0 },
                    Some(category) if is_numbered => inputs[0] = category as f32,
                    Some(category) => inputs[category as usize] = 1.0,
                    None if number == MISSING && *has_missing && is_numbered => {
                        inputs[0] = categories.len() as f32;
                    }
                    None if number == MISSING && *has_missing => inputs[categories.len()] = 1.0,
                    None => {
                        inputs[0] = if is_numbered && !self.is_binary() { -1.0 } else { 0.0 };
                        return false;
                    }
                }
                true
            }
        }
    }
}

impl NumericScaling {
    /// The input for a value.
    fn apply(&self, value: f64) -> f64 {
        match self {
            NumericScaling::Affine { width, .. } | NumericScaling::Clipped { width, .. } if *width == 0.0 => {
                0.0
            }
            NumericScaling::Affine { center, width } => (value - center) / width,
            NumericScaling::Clipped { center, width } => {
                let y = (value - center) / width;
                y / (1.0 + (y / 3.0).powi(2)).sqrt()
            }
            NumericScaling::Normal(quantiles) => normal_score(quantiles, value),
        }
    }
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;
