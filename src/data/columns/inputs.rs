//! Detects the input columns of a table and their types.

use std::collections::HashSet;

use super::label_type::is_code;
use super::odd_cells::{are_odd, distinct};
use super::schema::Holds;
use super::target::MNIST_COLUMNS;
use super::time::{PARTS, date, is_zero_date};
use super::{Columns, Header, IgnoredBecause, Selection, Target, show_column};
use crate::data::dialect::{Extra, Kind};
use crate::error::{Error, Result};

/// Names of a column of row numbers, if its values are different whole numbers.
const ROW_NUMBERS: [&str; 6] = ["", "unnamed: 0", "index", "id", "rownames", "row"];

/// Minimum number of texts from which on a column of different texts is not categories.
const LEAST_TEXTS: usize = 20;

/// Minimum number of dates per other cell in a column of dates.
const DATES_EACH: usize = 9;

/// Minimum number of rows in which a column that counts up is treated as row numbers.
const COUNTED_ROWS: usize = 8;

/// Whether the texts of a column are not categories because nearly all of them are different.
pub(crate) fn are_different_texts(texts: usize, different: usize) -> bool {
    texts >= LEAST_TEXTS && different * 20 >= texts * 19
}

/// Whether the mixed texts and numbers of a column are not categories, because nearly all of them are different: the
/// limit is lower than for texts, because codes repeat more rarely than words.
pub(crate) fn are_different_mixed(cells: usize, different: usize) -> bool {
    cells >= LEAST_TEXTS && different * 10 >= cells * 9
}

/// The reason why a column is treated as row numbers.
enum RowNumbers {
    /// The name, with different values in all rows.
    ByName,
    /// Values that count up from this number.
    From(f64),
}

impl Header<'_> {
    /// Refuses columns that a setting names as inputs but that cannot be inputs: `why` returns the reason.
    fn refuse_unused(
        &self,
        setting: &'static str,
        columns: &[usize],
        why: impl Fn(&usize) -> Option<String>,
    ) -> Result<()> {
        let unused = columns.iter().find_map(|column| Some((column, why(column)?)));
        let Some((column, why)) = unused else { return Ok(()) };
        let name = self.names.map_or_else(|| column.to_string(), |names| show_column(&names[*column]));
        Err(Error::setting(setting, "columns that are inputs", format!("column {name}, {why}")))
    }

    /// Chooses the columns of a training table; `others` hold weights, groups and times.
    pub(crate) fn choose_inputs(
        &self,
        wanted: &Selection,
        named: &[usize],
        others: [Option<usize>; 3],
    ) -> Result<Columns> {
        let find = |names: &[String], what| {
            let columns = names.iter().map(|name| self.find_range(name, what)).collect::<Result<Vec<_>>>()?;
            Ok::<Vec<usize>, Error>(columns.into_iter().flatten().collect())
        };
        let only = find(&wanted.only, "an input column")?;
        let excluded = find(&wanted.exclude, "a column to leave out")?;
        let categorical = find(&wanted.categorical, "a column of categories")?;
        let targets = match (named, &wanted.target) {
            // The digits of MNIST as a table are not inputs, whether they are used or not.
            ([], Target::Absent) => (self.count == MNIST_COLUMNS).then_some(0).into_iter().collect(),
            ([], Target::Values(_) | Target::Labels(_)) => vec![self.likely_values(&excluded)?],
            ([], _) => vec![self.likely_target(&excluded)?],
            (named, _) => named.to_vec(),
        };
        let role = |column: &usize| {
            let [weight, group, time] = others.map(|other| other == Some(*column));
            let roles = [
                (targets.contains(column), "the target"),
                (weight, "the weights"),
                (group, "the groups"),
                (time, "the times"),
            ];
            roles.into_iter().find(|(is_it, _)| *is_it).map(|(_, role)| format!("which holds {role}"))
        };
        self.refuse_unused("include", &only, role)?;
        self.refuse_unused("categorical", &categorical, |column| {
            role(column)
                .or_else(|| excluded.contains(column).then(|| "which is left out".to_owned()))
                .or_else(|| {
                    (!only.is_empty() && !only.contains(column))
                        .then(|| "which is not among the columns of --include".to_owned())
                })
        })?;
        let categorical = [&categorical[..], &self.later.mixed].concat();
        let free = |column: &usize| {
            !targets.contains(column) && !others.contains(&Some(*column)) && !excluded.contains(column)
        };
        let (mut counted, mut left_out) = (Vec::new(), Vec::new());
        let may_be_left_out =
            |column: &usize| only.is_empty() && free(column) && !categorical.contains(column);
        for column in (0..self.count).filter(may_be_left_out) {
            match self.numbers_rows(column) {
                _ if column == 0 && self.extra == Some(Extra::RowNames) => {
                    left_out.push((column, IgnoredBecause::NumbersRows));
                }
                _ if self.is_unused(column) => left_out.push((column, IgnoredBecause::Empty)),
                _ if self.later.different.contains(&column) => {
                    left_out.push((column, IgnoredBecause::DifferentTexts));
                }
                _ if self.misses_every_value(column) => left_out.push((column, IgnoredBecause::Missing)),
                Some(RowNumbers::ByName) => left_out.push((column, IgnoredBecause::NumbersRows)),
                Some(RowNumbers::From(first)) => {
                    left_out.push((column, IgnoredBecause::NumbersRows));
                    counted.push((column, first));
                }
                None if self.date_parts(column).is_none() && self.holds_different_texts(column)
                    || self.holds_different_codes(column) =>
                {
                    left_out.push((column, IgnoredBecause::DifferentTexts))
                }
                None => {}
            }
        }
        let is_input = |column: &usize| {
            free(column)
                && !left_out.iter().any(|(left_out, _)| left_out == column)
                && (only.is_empty() || only.contains(column))
        };
        let inputs = (0..self.count).filter(is_input);
        let codes: Vec<usize> = (0..self.count).filter(|column| self.holds_codes(*column)).collect();
        let holds = |column: usize| match self.date_parts(column) {
            _ if categorical.contains(&column) => Holds::Categories,
            Some(parts) => Holds::Dates(parts),
            None if self.is_category(column) || codes.contains(&column) => Holds::Categories,
            None => Holds::Numbers,
        };
        let inputs: Vec<(usize, Holds)> = inputs.map(|column| (column, holds(column))).collect();
        let is_code_input = |column: &&usize| inputs.iter().any(|(input, _)| input == *column);
        let codes: Vec<usize> = codes.iter().filter(is_code_input).copied().collect();
        let notices =
            [self.code_line(&codes, &categorical), self.rounded_line(&inputs), self.marker_line(&inputs)];
        let notices = notices.into_iter().flatten().collect();
        if inputs.is_empty() {
            let expected = "a target column and at least one column of inputs";
            let found = match self.count {
                1 => "only one column: no comma, semicolon, tab or | is in every row".to_owned(),
                _ if left_out.iter().any(|(_, why)| *why == IgnoredBecause::NumbersRows) => {
                    format!("no other among {}, only row numbers", self.list())
                }
                _ if left_out.iter().any(|(_, why)| *why == IgnoredBecause::DifferentTexts) => {
                    format!("no other among {}, but text that is different in nearly every row", self.list())
                }
                _ => format!("no other among {}", self.list()),
            };
            return Err(self.error(expected.to_owned(), found));
        }
        let are_values = match wanted.target {
            Target::Values(_) | Target::Labels(_) => true,
            Target::Auto | Target::Column(_) => {
                wanted.infer_values && targets.iter().all(|target| self.holds_values(*target, &inputs))
            }
            Target::Absent => false,
        };
        let (target, values) =
            if are_values { (None, targets) } else { (targets.first().copied(), Vec::new()) };
        let inferred = target.filter(|_| wanted.infer_values);
        let few_numbers = inferred.and_then(|target| self.few_numbers(target));
        let means_classes =
            few_numbers.is_some() && inferred.is_some_and(|target| self.means_classes(target, &inputs));
        let may_identify = |(column, holds): &&(usize, Holds)| {
            only.is_empty() && !categorical.contains(column) && self.may_identify(*column, *holds)
        };
        let identifiers = inputs.iter().filter(may_identify).map(|(column, _)| *column).collect();
        let texts = inputs.iter().filter(|(_, holds)| *holds == Holds::Categories).map(|(column, _)| *column);
        let texts = texts.chain(left_out.iter().map(|(column, _)| *column)).chain(target);
        let texts = texts.filter(|column| !categorical.contains(column) && !codes.contains(column));
        let as_text = texts.filter_map(|column| Some((column, self.number_as_text(column)?))).collect();
        Ok(Columns {
            count: self.count,
            inputs,
            target,
            values,
            are_labels: matches!(wanted.target, Target::Labels(_)),
            categorical: categorical.into_iter().chain(codes).collect(),
            notices,
            left_out,
            counted,
            as_text,
            identifiers,
            few_numbers,
            means_classes,
            ..Columns::default()
        })
    }

    /// Whether a column is empty in all rows. An infinity is not empty, but an error.
    fn misses_every_value(&self, column: usize) -> bool {
        let has_rows = self.cells(column).next().is_some();
        has_rows
            && self.present(column).next().is_none()
            && self.kinds(column).all(|kind| kind == Kind::Missing)
    }

    /// Whether a column holds categories in the first rows: text, and no number. If it holds both, all rows decide on
    /// its type.
    fn is_category(&self, column: usize) -> bool {
        let holds = |wanted: fn(&Kind) -> bool| self.kinds(column).any(|kind| wanted(&kind));
        holds(|kind| *kind == Kind::Text) && !holds(|kind| matches!(kind, Kind::Number(_)))
    }

    /// The number of parts of a column's dates, if hardly any other cells are in the first rows: with the hour, if at
    /// least one row has a time. Other text is an error when it is read.
    fn date_parts(&self, column: usize) -> Option<usize> {
        let cells = self.present(column).filter(|cell| !is_zero_date(cell));
        let (mut dates, mut others) = (Vec::new(), 0);
        for cell in cells {
            match date(cell) {
                Some(parts) => dates.push(parts),
                None => others += 1,
            }
        }
        if dates.is_empty() || others * DATES_EACH > dates.len() {
            return None;
        }
        // Two inputs must not have the same name.
        let is_taken = |part: &&str| {
            self.names.is_some_and(|names| names.contains(&format!("{}.{part}", names[column])))
        };
        let parts = if dates.iter().any(|parts| parts[3] != 0.0) { PARTS.len() } else { PARTS.len() - 1 };
        (!PARTS.iter().any(is_taken)).then_some(parts)
    }

    /// Whether a column holds text, such as names, that differs in nearly all of the first rows.
    fn holds_different_texts(&self, column: usize) -> bool {
        let texts: Vec<&[u8]> = self.present(column).map(<[u8]>::trim_ascii).collect();
        let different: HashSet<&[u8]> = texts.iter().copied().collect();
        if self.is_category(column) {
            return are_different_texts(texts.len(), different.len());
        }
        self.kinds(column).any(|kind| kind == Kind::Text)
            && !self.has_mistakes(column)
            && are_different_mixed(texts.len(), different.len())
    }

    /// Whether the text of a column is a few mistakes among numbers, judged by the first rows.
    pub(crate) fn has_mistakes(&self, column: usize) -> bool {
        let numbers: Vec<f64> = self.kinds(column).filter_map(Kind::number).collect();
        let texts = self.kinds(column).filter(|kind| *kind == Kind::Text).count();
        are_odd(texts, numbers.len() as u64, distinct(&numbers))
    }

    /// Whether a column only numbers the rows: it counts up by 1 from row to row, or has a name of row numbers and a
    /// different whole number in every row.
    fn numbers_rows(&self, column: usize) -> Option<RowNumbers> {
        if self.present(column).any(is_code) {
            return None;
        }
        let mut values = self.kinds(column).map(Kind::number).collect::<Option<Vec<f64>>>()?;
        if values.len() < 2 || values.iter().any(|value| value.fract() != 0.0) {
            return None;
        }
        let first = values[0];
        let counts_up = values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
        let name = self.names.map(|names| names[column].to_lowercase());
        values.sort_by(f64::total_cmp);
        let are_different = values.windows(2).all(|pair| pair[0] < pair[1]);
        if are_different && name.is_some_and(|name| ROW_NUMBERS.contains(&name.as_str())) {
            Some(RowNumbers::ByName)
        } else {
            (counts_up && values.len() >= COUNTED_ROWS).then_some(RowNumbers::From(first))
        }
    }
}
