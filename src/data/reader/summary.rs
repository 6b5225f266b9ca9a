//! Summaries of a table's columns, for display.

use super::Reader;
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::schema::Column;
use crate::data::encoding::by_column::by_column;
use crate::data::encoding::statistics::quantile_of_sorted;
use crate::data::reading::table::Table;

/// A summary of an input column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSummary {
    /// The column.
    pub column: Column,
    /// The number of rows with a missing value.
    pub missing: usize,
    /// The number of different values or categories in the other rows.
    pub distinct: usize,
    /// The values of the column.
    pub contents: Contents,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Numbers.
    Numbers {
        /// The least.
        least: f64,
        /// The median.
        median: f64,
        /// The greatest.
        greatest: f64,
    },
    /// Categories with the number of their rows, the most frequent first.
    Categories(Vec<(String, usize)>),
}

impl ColumnSummary {
    /// Whether the column holds numbers beyond 2^24, whose whole part 32-bit floats round.
    pub fn is_rounded(&self) -> bool {
        const MOST_EXACT: f64 = (1u32 << f32::MANTISSA_DIGITS) as f64;
        matches!(self.contents, Contents::Numbers { least, greatest, .. } if least.abs().max(greatest.abs()) > MOST_EXACT)
    }
}

impl Reader {
    /// A summary of each input column in the rows so far, before transformation; empty for images.
    pub fn summaries(&self) -> Vec<ColumnSummary> {
        let Some(schema) = self.schema() else { return Vec::new() };
        let Table { features, dictionaries, .. } = &self.table;
        by_column(features, self.inputs, self.threads, |input, values| {
            let (missing, distinct, contents) = match schema.categories.binary_search(&input) {
                Ok(index) => of_categories(&dictionaries[index], &values),
                Err(_) => of_numbers(values),
            };
            ColumnSummary { column: schema.inputs[input].clone(), missing, distinct, contents }
        })
    }
}

fn of_categories(dictionary: &Dictionary, values: &[f32]) -> (usize, usize, Contents) {
    let categories = dictionary.categories(0..dictionary.numbers() as u32);
    let place = dictionary.classes_in(&categories);
    let mut counts = vec![0; categories.len()];
    let mut missing = 0;
    for value in values {
        match place[*value as usize] {
            Some(category) => counts[category as usize] += 1,
            None => missing += usize::from(*value as u32 == MISSING),
        }
    }
    let mut named: Vec<(String, usize)> = categories.names().iter().cloned().zip(counts).collect();
    // A stable sort: equally frequent categories keep their natural order.
    named.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    (missing, named.len(), Contents::Categories(named))
}

fn of_numbers(mut values: Vec<f32>) -> (usize, usize, Contents) {
    let rows = values.len();
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f32::total_cmp);
    let distinct =
        usize::from(!values.is_empty()) + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let at = |rank| quantile_of_sorted(&values, rank).unwrap_or(f64::NAN);
    let contents = Contents::Numbers { least: at(0.0), median: at(0.5), greatest: at(1.0) };
    (rows - values.len(), distinct, contents)
}
