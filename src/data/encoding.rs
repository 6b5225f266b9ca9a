//! How the columns of a table become the inputs of a network: learnt on the training rows, kept in the model.

use std::path::Path;

use super::by_column::by_column;
use super::categories::{Dictionary, MISSING};
use super::classes::Classes;
use super::dataset::Features;
use super::normal_score::normal_score;
use super::statistics::{is_coarse, moments};
use super::transform::Scale;
use crate::Result;

/// How each column of a table becomes inputs, in the order of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    /// One for each column.
    pub columns: Vec<Code>,
    /// Whether categories of more than two become their numbers from 0, which an input layer of a network takes (the missing
    /// one is the last, an unknown one -1).
    pub is_numbered: bool,
}

/// How a column becomes inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Code {
    /// A column of numbers is one input, computed in f64 and rounded once.
    Number {
        /// What is done to a value.
        map: Map,
        /// The value that a missing one is taken for: the median of the training rows.
        fill: f64,
        /// Whether a second input is 1 where the value is missing, and else 0: where training rows miss values.
        has_indicator: bool,
    },
    /// A column of categories. Two are one input, -1 for the first and 1 for the second. Others are one input each: 1 for
    /// that of the row, 0 for all others. An unknown category is 0 in all of them.
    Category {
        /// The categories of the training rows.
        categories: Classes,
        /// Whether one more stands for missing cells, the last: where training rows miss them.
        has_missing: bool,
    },
}

/// What is done to a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Map {
    /// (value - center) / width; 0 where the width is 0, as of a column of equal values.
    Affine {
        /// What becomes 0.
        center: f64,
        /// What becomes 1, seen from there; not negative.
        width: f64,
    },
    /// y / sqrt(1 + (y / 3)^2) with y = (value - center) / width: no input is beyond -3 and 3, and near 0 it is y; 0 where the
    /// width is 0. Known as smooth clipping (D. Holzmüller and others, "Better by default", 2024).
    Clipped {
        /// What becomes 0.
        center: f64,
        /// Of a value as far from the center y is 1; not negative.
        width: f64,
    },
    /// The quantile of the standard normal distribution at the value's rank among these quantiles of the training rows,
    /// which ascend and stand evenly; between two of them the rank is interpolated, and it is kept 1e-7 away from 0 and 1.
    Normal(Vec<f64>),
}

/// Quantiles of a column that are kept, at most.
const QUANTILES: usize = 256;

impl Encoding {
    /// Learns it from training rows as they stand in a table, with a dictionary for each column of categories, which are
    /// the columns at `categories`, in ascending order; on so many threads at most, nothing is one for each core.
    pub(super) fn learn(
        features: &Features,
        width: usize,
        categories: &[usize],
        dictionaries: &[Dictionary],
        scale: Scale,
        threads: Option<usize>,
    ) -> Self {
        let code = |column: usize, values| match categories.binary_search(&column) {
            Ok(index) => Code::category(values, &dictionaries[index]),
            Err(_) => Code::number(values, scale),
        };
        Self { columns: by_column(features, width, threads, code), is_numbered: false }
    }

    /// The same with smooth clipping of all numbers that are not mapped by quantiles.
    #[must_use]
    pub fn clipped(mut self) -> Self {
        for code in &mut self.columns {
            if let Code::Number { map, .. } = code
                && let Map::Affine { center, width } = *map
            {
                *map = Map::Clipped { center, width };
            }
        }
        self
    }

    /// Which columns are categories.
    pub fn categories(&self) -> Vec<usize> {
        let is_category = |(_, code): &(usize, &Code)| matches!(code, Code::Category { .. });
        self.columns.iter().enumerate().filter(is_category).map(|(column, _)| column).collect()
    }

    /// Inputs of a network for rows like this.
    pub fn inputs(&self) -> usize {
        self.columns.iter().map(|code| self.width(code)).sum()
    }

    /// Numbers of a row that a column becomes.
    pub fn width(&self, code: &Code) -> usize {
        match code {
            Code::Category { .. } if self.is_numbered => 1,
            code => code.inputs(),
        }
    }

    /// Puts the inputs in the place of rows as they stand in a table, with a dictionary for each column of categories.
    /// Returns how many cells held a category that training rows did not hold, or missed a value where none of them did.
    ///
    /// # Errors
    /// [`crate::Error::Config`] when memory does not hold them.
    pub(super) fn apply(&self, features: &mut Features, dictionaries: &[Dictionary]) -> Result<u64> {
        let (from, to) = (self.columns.len(), self.inputs());
        let rows = features.len() / from;
        let floats = features.make_floats()?;
        super::table::reserve(floats, rows * (to - from), Path::new(&format!("rows of {to} inputs")))?;
        floats.resize(rows * to, 0.0);
        let mut dictionaries = dictionaries.iter();
        let known: Vec<Vec<Option<u32>>> = self
            .columns
            .iter()
            .map(|code| match code {
                Code::Number { .. } => Vec::new(),
                Code::Category { categories, .. } => dictionaries.next().map_or(Vec::new(), |dictionary| {
                    let find = categories.finder();
                    (0..dictionary.numbers() as u32).map(|number| find(dictionary.text(number)?)).collect()
                }),
            })
            .collect();
        let mut cells = vec![0.0; from];
        let mut unknown = 0;
        // From the last row on: a row has at least as many inputs as columns, so none is overwritten before it is read.
        for row in (0..rows).rev() {
            cells.copy_from_slice(&floats[row * from..][..from]);
            let mut inputs = &mut floats[row * to..][..to];
            for ((code, known), cell) in self.columns.iter().zip(&known).zip(&cells) {
                let (own, others) = inputs.split_at_mut(self.width(code));
                inputs = others;
                unknown += u64::from(!code.encode(*cell, known, self.is_numbered, own));
            }
        }
        Ok(unknown)
    }

    /// The first column of numbers whose values are so far from 0 that 32-bit floats, which the rows are read as, hardly
    /// tell them apart.
    pub(super) fn coarse(&self) -> Option<(usize, f64, f64)> {
        self.columns.iter().enumerate().find_map(|(column, code)| match code {
            Code::Number { map: Map::Affine { center, width } | Map::Clipped { center, width }, .. } => {
                is_coarse(*center, *width).then_some((column, *center, *width))
            }
            _ => None,
        })
    }
}

impl Code {
    /// Inputs of a network for the column, if they are one-hot.
    pub fn inputs(&self) -> usize {
        match self {
            Code::Number { has_indicator, .. } => 1 + usize::from(*has_indicator),
            Code::Category { categories, has_missing } => {
                let count = categories.len() + usize::from(*has_missing);
                // A column that is never filled in is an input nevertheless, which is always 0.
                if self.is_binary() { 1 } else { count.max(1) }
            }
        }
    }

    /// Whether the column holds two categories and no missing cells.
    pub fn is_binary(&self) -> bool {
        matches!(self, Code::Category { categories, has_missing: false } if categories.len() == 2)
    }

    fn category(values: Vec<f32>, dictionary: &Dictionary) -> Self {
        let mut occurs = vec![false; dictionary.numbers()];
        values.into_iter().for_each(|number| occurs[number as usize] = true);
        let numbers = (0..).zip(&occurs).filter(|(_, occurs)| **occurs).map(|(number, _)| number);
        Code::Category { categories: dictionary.categories(numbers), has_missing: occurs[MISSING as usize] }
    }

    fn number(values: Vec<f32>, scale: Scale) -> Self {
        let rows = values.len();
        let mut present = values;
        present.retain(|value| !value.is_nan());
        let has_indicator = present.len() < rows;
        let affine = |center: f64, width: f64| Map::Affine { center, width };
        let quantile = |present: &mut [f32], rank| super::statistics::quantile(present, rank).unwrap_or(0.0);
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
                // As many for every column, whatever it misses.
                let count = QUANTILES.min(rows);
                let rank = |index: usize| index as f64 / (count.max(2) - 1) as f64;
                Map::Normal((0..count).map(|index| quantile(&mut present, rank(index))).collect())
            }
            Scale::Bytes => affine(0.0, 255.0),
            Scale::None => affine(0.0, 1.0),
        };
        let fill = quantile(&mut present, 0.5);
        Code::Number { map, fill, has_indicator }
    }

    /// Writes the inputs of a cell, which are 0 so far; false where it is something that training rows did not hold.
    fn encode(&self, cell: f32, known: &[Option<u32>], is_numbered: bool, inputs: &mut [f32]) -> bool {
        inputs.fill(0.0);
        match self {
            Code::Number { map, fill, has_indicator } => {
                let is_missing = cell.is_nan();
                inputs[0] = map.of(if is_missing { *fill } else { f64::from(cell) }) as f32;
                if *has_indicator && is_missing {
                    inputs[1] = 1.0;
                }
                *has_indicator || !is_missing
            }
            Code::Category { categories, has_missing } => {
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

impl Map {
    /// The input for a value.
    fn of(&self, value: f64) -> f64 {
        match self {
            Map::Affine { width, .. } if *width == 0.0 => 0.0,
            Map::Affine { center, width } => (value - center) / width,
            Map::Clipped { width, .. } if *width == 0.0 => 0.0,
            Map::Clipped { center, width } => {
                let y = (value - center) / width;
                y / (1.0 + (y / 3.0).powi(2)).sqrt()
            }
            Map::Normal(quantiles) => normal_score(quantiles, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::classes::Label;
    use super::*;

    const NAN: f32 = f32::NAN;

    fn dictionary(texts: &[&str]) -> Dictionary {
        let labels = texts.iter().map(|text| Label { text: (*text).to_owned(), row: 1 }).collect();
        Dictionary { labels }
    }

    fn learn(rows: &[f32], width: usize, dictionaries: &[(usize, Dictionary)], scale: Scale) -> Encoding {
        let (categories, dictionaries): (Vec<usize>, Vec<Dictionary>) = dictionaries.iter().cloned().unzip();
        Encoding::learn(&Features::Floats(rows.to_vec()), width, &categories, &dictionaries, scale, None)
    }

    fn encoded(encoding: &Encoding, rows: &[f32], dictionaries: &[Dictionary]) -> (Vec<f32>, u64) {
        let mut features = Features::Floats(rows.to_vec());
        let unknown = encoding.apply(&mut features, dictionaries).unwrap();
        match features {
            Features::Floats(values) => (values, unknown),
            Features::Bytes(_) => panic!("inputs are floats"),
        }
    }

    #[test]
    fn numbers_and_categories_become_inputs() {
        // Columns: a number that misses values, colours, a number, yes or no, a category with missing cells.
        let colours = dictionary(&["red", "blue", "green"]);
        let answers = dictionary(&["yes", "no"]);
        let sizes = dictionary(&["L", "S"]);
        #[rustfmt::skip]
        let rows = [
            1.0, 1.0, 10.0, 1.0, 0.0,
            NAN, 2.0, 10.0, 2.0, 1.0,
            3.0, 2.0, 10.0, 1.0, 2.0,
            8.0, 3.0, 10.0, 2.0, 2.0,
        ];
        let dictionaries = [(1, colours.clone()), (3, answers.clone()), (4, sizes.clone())];
        let encoding = learn(&rows, 5, &dictionaries, Scale::None);
        assert_eq!((encoding.inputs(), encoding.categories()), (10, vec![1, 3, 4]));
        let (inputs, unknown) = encoded(&encoding, &rows, &[colours, answers, sizes]);
        assert_eq!(unknown, 0);
        // In natural order: blue, green, red; no, yes; L, S, missing. The median of 1, 3, 8 is 3.
        #[rustfmt::skip]
        let expected = [
            1.0, 0.0, 0.0, 0.0, 1.0, 10.0,  1.0, 0.0, 0.0, 1.0,
            3.0, 1.0, 1.0, 0.0, 0.0, 10.0, -1.0, 1.0, 0.0, 0.0,
            3.0, 0.0, 1.0, 0.0, 0.0, 10.0,  1.0, 0.0, 1.0, 0.0,
            8.0, 0.0, 0.0, 1.0, 0.0, 10.0, -1.0, 0.0, 1.0, 0.0,
        ];
        assert_eq!(inputs, expected);
        // Another table numbers its categories in its own way, holds one that is unknown, and misses values elsewhere.
        let other =
            [dictionary(&["pink", "green"]), dictionary(&["no", "perhaps", "yes"]), dictionary(&["S"])];
        let rows = [2.0, 1.0, NAN, 1.0, 1.0, 5.0, 2.0, 7.0, 2.0, 0.0, 5.0, 0.0, 7.0, 3.0, 0.0];
        let (inputs, unknown) = encoded(&encoding, &rows, &other);
        #[rustfmt::skip]
        let expected = [
            2.0, 0.0, 0.0, 0.0, 0.0, 10.0, -1.0, 0.0, 1.0, 0.0,
            5.0, 0.0, 0.0, 1.0, 0.0,  7.0,  0.0, 0.0, 0.0, 1.0,
            5.0, 0.0, 0.0, 0.0, 0.0,  7.0,  1.0, 0.0, 0.0, 1.0,
        ];
        assert_eq!((inputs, unknown), (expected.to_vec(), 4));
    }

    #[test]
    fn only_categories_of_the_training_rows_are_inputs() {
        let colours = dictionary(&["red", "blue", "green", "pink"]);
        let encoding = learn(&[4.0, 2.0, 4.0], 1, &[(0, colours.clone())], Scale::Auto);
        assert_eq!(encoding.inputs(), 1);
        assert_eq!(encoded(&encoding, &[2.0, 4.0, 1.0, 0.0], &[colours]), (vec![-1.0, 1.0, 0.0, 0.0], 2));
        let nothing = learn(&[0.0, 0.0], 1, &[(0, dictionary(&["a"]))], Scale::Auto);
        assert_eq!(encoded(&nothing, &[1.0, 0.0], &[dictionary(&["a"])]), (vec![0.0, 1.0], 1));
    }

    #[test]
    fn categories_may_stay_numbers() {
        let (colours, answers) = (dictionary(&["red", "blue", "green"]), dictionary(&["yes", "no"]));
        let rows = [1.0, 1.0, 2.0, 2.0, 3.0, 1.0, 0.0, 2.0];
        let dictionaries = [(0, colours.clone()), (1, answers.clone())];
        let mut encoding = learn(&rows, 2, &dictionaries, Scale::Auto);
        encoding.is_numbered = true;
        assert_eq!(encoding.inputs(), 2);
        let (inputs, unknown) = encoded(&encoding, &rows, &[colours, answers.clone()]);
        // blue, green, red, missing; no is -1, yes 1.
        assert_eq!((inputs, unknown), (vec![2.0, 1.0, 0.0, -1.0, 1.0, 1.0, 3.0, -1.0], 0));
        let other = [dictionary(&["pink", "green"]), answers];
        let (inputs, unknown) = encoded(&encoding, &[1.0, 0.0, 2.0, 1.0], &other);
        assert_eq!((inputs, unknown), (vec![-1.0, 0.0, 1.0, 1.0], 2));
    }

    #[test]
    fn clipping_leaves_what_is_near_and_bounds_what_is_far() {
        let rows = [2.0, 1.0, 3.0, 9.0, 5.0];
        let encoding = learn(&rows, 1, &[], Scale::Robust).clipped();
        let (inputs, _) = encoded(&encoding, &[3.0, 3.03, 6.0, -1e30, 1e30], &[]);
        // scikit-learn's RobustScaler, then the formula: 1 / sqrt(1 + 1 / 9).
        for (input, expected) in inputs.iter().zip([0.0, 0.01, 0.948_683_298, -3.0, 3.0]) {
            assert!((f64::from(*input) - expected).abs() <= 1e-7 * expected.abs().max(1.0), "{input}");
        }
        let quantiles = learn(&rows, 1, &[], Scale::Quantile);
        assert_eq!(quantiles.clone().clipped(), quantiles);
        let constant = learn(&[4.0, 4.0], 1, &[], Scale::Robust).clipped();
        assert_eq!(encoded(&constant, &[9.0], &[]).0, [0.0]);
    }

    #[test]
    fn each_scale_is_what_its_formula_says() {
        // Median 3, quartiles 2 and 5, mean 4, variance 40 / 5.
        let rows = [2.0, 1.0, 3.0, 9.0, 5.0];
        let of = |scale| encoded(&learn(&rows, 1, &[], scale), &[3.0, 11.0, NAN], &[]);
        let deviation = 8.0f64.sqrt();
        for (scale, expected) in [
            (Scale::Standard, [-1.0 / deviation, 7.0 / deviation, -1.0 / deviation]),
            (Scale::MinMax, [0.25, 1.25, 0.25]),
            (Scale::Robust, [0.0, 8.0 / 3.0, 0.0]),
            (Scale::None, [3.0, 11.0, 3.0]),
            (Scale::Bytes, [3.0 / 255.0, 11.0 / 255.0, 3.0 / 255.0]),
            // scipy.stats.norm.ppf(1 - 1e-7)
            (Scale::Quantile, [0.0, 5.199337582192817, 0.0]),
        ] {
            let (inputs, unknown) = of(scale);
            for (input, expected) in inputs.iter().zip(expected) {
                assert!(
                    (f64::from(*input) - expected).abs() <= 1e-6 * expected.abs(),
                    "{scale:?}: {inputs:?}"
                );
            }
            assert_eq!(unknown, 1);
        }
    }

    #[test]
    fn columns_of_equal_values_are_0_and_so_is_what_replaces_them() {
        for scale in [Scale::Standard, Scale::MinMax, Scale::Robust] {
            let encoding = learn(&[5.5, 5.5, 5.5], 1, &[], scale);
            assert_eq!(encoded(&encoding, &[5.5, 7.0, NAN], &[]).0, [0.0; 3], "{scale:?}");
        }
        // Quartiles that are the same: half the distance of the others.
        let robust = learn(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0], 1, &[], Scale::Robust);
        assert_eq!(encoded(&robust, &[1.0, 9.0], &[]).0, [0.0, 2.0]);
        // Of a column that is always missing only that is known.
        let missing = encoded(&learn(&[NAN, NAN], 1, &[], Scale::Auto), &[NAN, 3.0], &[]);
        assert_eq!(missing, (vec![0.0, 1.0, 0.0, 0.0], 0));
    }

    #[test]
    fn values_far_from_0_are_found() {
        let coarse = |center: f64, width: f64| {
            let number = |map| Code::Number { map, fill: 0.0, has_indicator: false };
            let columns = [Map::Affine { center: 0.0, width: 1.0 }, Map::Affine { center, width }];
            Encoding { columns: columns.map(number).to_vec(), is_numbered: false }
                .coarse()
                .map(|(column, ..)| column)
        };
        // Seconds since 1970 within minutes; years; a great constant.
        assert_eq!(coarse(1.7e9, 58.0), Some(1));
        assert_eq!(coarse(1.7e9, 1e6), None);
        assert_eq!(coarse(2000.0, 5.0), None);
        assert_eq!(coarse(-3e8, 1.0), Some(1));
        // All values the same, as far as 32-bit floats tell.
        assert_eq!((coarse(3e8, 0.0), coarse(5.5, 0.0)), (Some(1), None));
    }
}
