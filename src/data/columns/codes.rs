//! Columns of whole numbers that are codes, or too great for 32-bit inputs; and markers that may be categories.

use std::collections::HashSet;

use super::identifiers::may_have_zeros;
use super::inputs::are_different_texts;
use super::label_type::{has_leading_zero, is_code};
use super::{Header, Holds};
use crate::data::dialect::Kind;
use crate::data::excerpt::{list_some, quote};

impl Header<'_> {
    /// Whether a column holds only whole numbers, of which some are codes: with leading zeros, or too long for a
    /// number.
    pub(crate) fn holds_codes(&self, column: usize) -> bool {
        let is_whole = |cell: &[u8]| {
            let cell = cell.trim_ascii();
            cell.strip_prefix(b"-").unwrap_or(cell).iter().all(u8::is_ascii_digit)
        };
        self.later.codes.contains(&column)
            || self.present(column).any(is_code) && self.present(column).all(is_whole)
    }

    /// Whether a column holds codes that differ in nearly all of the first rows.
    pub(crate) fn holds_different_codes(&self, column: usize) -> bool {
        let cells: HashSet<&[u8]> = self.present(column).map(<[u8]>::trim_ascii).collect();
        self.holds_codes(column) && are_different_texts(self.present(column).count(), cells.len())
    }

    /// Whether a later row may show that a column holds codes: it has a name of codes, and its cells are digits of one
    /// length.
    pub(crate) fn may_hold_codes(&self, column: usize) -> bool {
        let mut cells = self.present(column).map(<[u8]>::trim_ascii);
        let Some(first) = cells.next() else { return false };
        let is_like_first = |cell: &[u8]| cell.len() == first.len() && cell.iter().all(u8::is_ascii_digit);
        let name = self.names.map_or("", |names| names[column].as_str());
        first.len() > 2
            && may_have_zeros(name)
            && is_like_first(first)
            && cells.all(is_like_first)
            && !self.present(column).any(has_leading_zero)
    }

    /// The notice about codes among the inputs, except those named by `--categorical`.
    pub(crate) fn code_line(&self, codes: &[usize], categorical: &[usize]) -> Option<String> {
        let codes: Vec<usize> =
            codes.iter().copied().filter(|column| !categorical.contains(column)).collect();
        let first = self.present(*codes.first()?).find(|cell| is_code(cell));
        let example = first.map_or_else(String::new, |cell| format!(", such as {}", quote(cell)));
        let names = list_some(codes.iter().map(|column| self.shown(*column)));
        let (column, holds) = if codes.len() == 1 { ("column", "holds") } else { ("columns", "hold") };
        Some(format!(
            "{column} {names} {holds} codes with leading zeros or more than 15 digits{example}, which are categories as with --categorical; write plain numbers to use their values"
        ))
    }

    /// The notice about whole numbers among the inputs that 32-bit floats round.
    pub(crate) fn rounded_line(&self, inputs: &[(usize, Holds)]) -> Option<String> {
        let rounded = |value: &f64| value.fract() == 0.0 && f64::from(*value as f32) != *value;
        let first = |column: usize| self.kinds(column).filter_map(Kind::number).find(rounded);
        let (names, value) = self.inputs_with(inputs, Holds::Numbers, first)?;
        Some(format!(
            "whole numbers beyond 16,777,216 are rounded to 24 bits: in {names} (for example {value} is read as {}); use --categorical to tell them apart, or write dates as 2026-11-22",
            value as f32
        ))
    }

    /// The notice about markers of missing values that may be categories: words or hyphens about as frequent as the
    /// categories of their column.
    pub(crate) fn marker_line(&self, inputs: &[(usize, Holds)]) -> Option<String> {
        let is_word = |cell: &&[u8]| {
            let is_marker = self.dialect.is_missing(cell) && !self.dialect.is_said_missing(cell);
            is_marker
                && ["NA", "N/A", "-", "NULL"].iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
        };
        let frequent = |column: usize| {
            let marker = self.cells(column).map(<[u8]>::trim_ascii).find(is_word)?;
            let markers = self.cells(column).filter(|cell| cell.trim_ascii() == marker).count();
            let categories = self.present(column).map(<[u8]>::trim_ascii).collect::<HashSet<&[u8]>>().len();
            (2 * markers * categories >= self.present(column).count()).then(|| quote(marker))
        };
        let (names, marker) = self.inputs_with(inputs, Holds::Categories, frequent)?;
        Some(format!(
            "cells such as {marker} are missing values, but about as frequent as the categories of {names}; use --missing-markers \"\",? if they are a category"
        ))
    }

    /// The names of the inputs of this kind in which `find` finds something, and the first finding.
    fn inputs_with<T>(
        &self,
        inputs: &[(usize, Holds)],
        kind: Holds,
        find: impl Fn(usize) -> Option<T>,
    ) -> Option<(String, T)> {
        let columns = inputs.iter().filter(|(_, holds)| *holds == kind);
        let mut found: Vec<(usize, T)> =
            columns.filter_map(|(column, _)| Some((*column, find(*column)?))).collect();
        let names = list_some(found.iter().map(|(column, _)| self.shown(*column)));
        (!found.is_empty()).then(|| (names, found.swap_remove(0).1))
    }

    /// The name of a column, or else its index.
    pub(crate) fn shown(&self, column: usize) -> String {
        self.names.map_or_else(|| column.to_string(), |names| super::show_column(&names[column]))
    }
}
