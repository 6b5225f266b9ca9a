//! Detects the target column of a table.

use std::collections::HashSet;
use std::path::Path;

use super::classes::FEW_CLASSES;
use super::label_type::is_code;
use super::odd_cells::distinct;
use super::{Header, Holds};
use crate::data::dialect::Kind;
use crate::data::excerpt::list_some;
use crate::data::reading::table::has_pixels;
use crate::error::{Error, Result};

/// Names that identify a target.
const TARGETS: [&str; 4] = ["label", "class", "target", "y"];

/// Names of targets whose whole numbers are classes, whatever their number.
const CLASSES: [&str; 4] = ["label", "labels", "class", "classes"];

/// Columns of MNIST as a table: the digit and its 28 x 28 pixels.
pub(crate) const MNIST_COLUMNS: usize = 785;

/// The columns with a name of a target, except excluded ones.
fn named_targets(names: Option<&[String]>, excluded: &[usize]) -> Vec<usize> {
    let is_target = |name: &String| TARGETS.contains(&name.to_lowercase().as_str());
    let named = (0..).zip(names.unwrap_or_default()).filter(|(_, name)| is_target(name));
    named.map(|(column, _)| column).filter(|column| !excluded.contains(column)).collect()
}

/// The error for a target of numbers that are few enough for classes in the first rows, and too many in all rows.
pub(crate) fn undecided_task(path: &Path, target: &str, few: usize, all: &str) -> Error {
    let question = format!(
        "does target {target} hold classes, or values to predict? The first rows show {few} different numbers, all rows {all}"
    );
    Error::Undecided { path: path.to_owned(), setting: "task", question }
}

impl Header<'_> {
    /// Detects the column of values to predict.
    pub(crate) fn likely_values(&self, excluded: &[usize]) -> Result<usize> {
        if let [target] = named_targets(self.names, excluded)[..] {
            return Ok(target);
        }
        let question = format!("which column holds the values to predict? The table has {}", self.list());
        Err(self.undecided("target", question))
    }

    /// Detects the target of a table.
    pub(crate) fn likely_target(&self, excluded: &[usize]) -> Result<usize> {
        let free = || (0..self.count).filter(|column| !excluded.contains(column));
        let is_called = |column: usize, wanted: &str| {
            self.names.is_some_and(|names| names[column].to_lowercase() == wanted)
        };
        let named = named_targets(self.names, excluded);
        let is_text = |column: &usize| {
            let there: Vec<Kind> = self.kinds(*column).filter(|kind| *kind != Kind::Missing).collect();
            there.iter().filter(|kind| **kind == Kind::Text).count() * 2 > there.len()
        };
        let text: Vec<usize> = free().filter(is_text).collect();
        let last = (0..self.count).rev().find(|column| !self.is_unused(*column)).unwrap_or(0);
        match (&named[..], &text[..]) {
            // Next to x and a column of text, y may be a coordinate.
            ([target], _)
                if !(is_called(*target, "y") && !text.is_empty() && free().any(|at| is_called(at, "x"))) =>
            {
                Ok(*target)
            }
            ([], [text]) if self.holds_classes(*text) && !self.may_be_target(last, excluded) => Ok(*text),
            ([], []) if self.count == MNIST_COLUMNS => Ok(0),
            _ => {
                let last = self.may_be_target(last, excluded).then_some(last);
                let classes = text.iter().copied().filter(|column| self.holds_classes(*column));
                let mut candidates: Vec<usize> = named.iter().copied().chain(classes).chain(last).collect();
                candidates.sort_unstable();
                candidates.dedup();
                let names: Vec<String> = candidates.iter().map(|column| self.shown(*column)).collect();
                let between = match &names[..] {
                    [first, others @ ..] if !others.is_empty() => {
                        format!(", {first} or {}", list_some(others.iter().cloned()))
                    }
                    _ => String::new(),
                };
                let question =
                    format!("which column holds the labels{between}? The table has {}", self.list());
                Err(self.undecided("target", question))
            }
        }
    }

    /// Whether the text of a column names classes, judged by the first rows: dates and names of persons hardly repeat.
    pub(crate) fn holds_classes(&self, column: usize) -> bool {
        let texts: Vec<&[u8]> = self.present(column).collect();
        let different: HashSet<&[u8]> = texts.iter().copied().collect();
        texts.len() < 20 || different.len() * 2 <= texts.len()
    }

    /// Whether a column holds numbers that are not classes, judged by the first rows: fractions, or more than 20
    /// different numbers. Codes with leading zeros are labels.
    ///
    /// A larger set of whole numbers is also classes if the column has a name of classes or the inputs are pixels.
    pub(crate) fn holds_values(&self, column: usize, inputs: &[(usize, Holds)]) -> bool {
        if let Some(values) = self.units(column).and_then(|units| self.numbers_with(column, &units)) {
            return values.iter().any(|value| value.fract() != 0.0) || distinct(&values) > FEW_CLASSES;
        }
        let values: Vec<f64> = self.kinds(column).filter_map(Kind::number).collect();
        let different: HashSet<u64> = values.iter().map(|value| value.to_bits()).collect();
        let has_text = self.kinds(column).any(|kind| kind == Kind::Text) && !self.has_mistakes(column);
        let is_text = has_text || self.present(column).any(is_code);
        let has_fractions = values.iter().any(|value| value.fract() != 0.0);
        !is_text && (has_fractions || different.len() > FEW_CLASSES && !self.means_classes(column, inputs))
    }

    /// Whether whole numbers of a target are classes whatever their number: by its name, or because the inputs are
    /// pixels.
    pub(crate) fn means_classes(&self, column: usize, inputs: &[(usize, Holds)]) -> bool {
        self.names.is_some_and(|names| CLASSES.contains(&names[column].to_lowercase().as_str()))
            || has_pixels(inputs.len(), None) && inputs.iter().all(|(input, _)| self.holds_bytes(*input))
    }

    /// Whether all cells of a column in the first rows are whole numbers from 0 to 255.
    fn holds_bytes(&self, column: usize) -> bool {
        let is_byte = |value: f64| value.fract() == 0.0 && (0.0..=255.0).contains(&value);
        self.kinds(column).all(|kind| kind.number().is_some_and(is_byte))
    }

    /// The number of different numbers in the first rows of a column, if it holds only numbers.
    pub(crate) fn few_numbers(&self, column: usize) -> Option<usize> {
        if self.present(column).any(is_code) {
            return None;
        }
        let kinds = self.kinds(column).filter(|kind| *kind != Kind::Missing);
        let values = kinds.map(|kind| kind.number().map(f64::to_bits)).collect::<Option<HashSet<u64>>>();
        values.map(|different| different.len()).filter(|count| *count > 0)
    }

    /// Whether a column of numbers may hold labels: a few whole numbers, each in several rows.
    fn may_be_target(&self, column: usize, excluded: &[usize]) -> bool {
        let values: Vec<f64> = self.kinds(column).filter_map(Kind::number).collect();
        let different: HashSet<u64> = values.iter().map(|value| value.to_bits()).collect();
        !excluded.contains(&column)
            && values.iter().all(|value| value.fract() == 0.0)
            && (2..=20).contains(&different.len())
            && different.len() * 3 <= values.len()
    }
}
