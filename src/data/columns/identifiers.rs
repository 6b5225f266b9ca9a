//! Columns of inputs that may hold identifiers, as far as names and the first rows tell.

use std::collections::HashMap;

use super::{Header, Holds};
use crate::data::dialect::Kind;

/// Cells from which on a column is judged.
const LEAST_CELLS: usize = 20;

/// The most codes, and the least number that looks like one: smaller ones may be counts.
const MOST_CODES: usize = 20;
const LEAST_CODE: f64 = 100.0;

/// Last words of the names of such columns.
const WORDS: [&str; 5] = ["id", "code", "zip", "zipcode", "postcode"];

impl Header<'_> {
    /// Whether a column of inputs may hold identifiers: text that differs in most of the first rows; or whole numbers, if its
    /// name suggests it, or if they are a few large ones that come about equally often and are no years.
    pub(crate) fn may_identify(&self, column: usize, holds: Holds) -> bool {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        self.present(column).for_each(|cell| *counts.entry(cell).or_default() += 1);
        let (all, different) = (counts.values().sum::<usize>(), counts.len());
        if all < LEAST_CELLS || different < 3 {
            return false;
        }
        let name = self.names.map_or("", |names| names[column].as_str());
        let last = name.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        let is_named =
            WORDS.contains(&last.to_lowercase().as_str()) || last.ends_with("Id") || last.ends_with("ID");
        match holds {
            Holds::Dates(_) => false,
            Holds::Categories => different * 2 > all,
            Holds::Numbers => {
                let values: Vec<f64> = self.kinds(column).filter_map(Kind::number).collect();
                let (most, least) = (counts.values().max().copied(), counts.values().min().copied());
                let are_codes = different <= MOST_CODES
                    && values.iter().all(|value| *value >= LEAST_CODE && !(1900.0..2100.0).contains(value))
                    && most.unwrap_or(0) <= 3 * least.unwrap_or(0)
                    && least > Some(1);
                values.iter().all(|value| value.fract() == 0.0) && (is_named || are_codes)
            }
        }
    }
}
