//! Columns of text in memory: detection of numbers, dates and categories, as for files.

use std::path::{Path, PathBuf};

use crate::data::excerpt::quote;
use crate::data::odd_cells::{MOST_ODD, OddCell, are_odd, odd_cells_error};
use crate::data::{
    DATE_PARTS, MixedColumn, Notation, NumbersAsText, are_different_texts, date_in, float, has_leading_zero,
    is_missing, number_among,
};
use crate::error::{Error, Place, Result};
use crate::trainer::table::{Wanted, Zone};

/// Notation of numbers in text in memory.
const NOTATION: Notation = Notation { point: b'.', grouped: false };

/// Zone of times with offsets from UTC, which are subtracted.
const UTC: &str = "UTC";

/// Detected type of a column of text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextsAre {
    Numbers,
    /// Dates with this number of parts, in this zone.
    Dates(usize, Zone),
}

/// Findings about columns of text for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextNotes {
    /// Columns treated as categories because they contain text and numbers.
    pub mixed: Vec<MixedColumn>,
    /// Columns of categories that may be meant as numbers or dates.
    pub as_text: Vec<NumbersAsText>,
    /// Columns of categories whose text differs in nearly all rows.
    pub different: Vec<String>,
}

/// Type of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Missing,
    Number,
    Date { has_hour: bool, has_zone: bool },
    Text,
}

/// Returns whether a date has a time with an offset from UTC.
fn has_zone(text: &str) -> bool {
    text.trim().split_once([' ', 'T']).is_some_and(|(_, time)| time.contains(['Z', '+', '-']))
}

impl Kind {
    fn of(text: &str) -> Self {
        match (is_missing(text.as_bytes()), text.trim().parse::<f64>(), date_in(text.as_bytes())) {
            (true, _, _) => Kind::Missing,
            (_, Ok(_), _) => Kind::Number,
            (_, _, Some(parts)) => {
                Kind::Date { has_hour: parts[DATE_PARTS.len() - 1] != 0.0, has_zone: has_zone(text) }
            }
            _ => Kind::Text,
        }
    }
}

/// The texts of a training column, and the text of each row.
pub(super) struct Texts<'a> {
    name: &'a str,
    index: usize,
    texts: &'a [String],
    kinds: Vec<Kind>,
    /// Indices of the texts, one every `apart` values, NaN for a missing text.
    values: &'a [f32],
    apart: usize,
}

impl TextsAre {
    /// Returns the type as which texts are parsed for such a column.
    pub(super) fn wanted(wanted: &Wanted) -> Option<Self> {
        match wanted {
            Wanted::Numbers => Some(TextsAre::Numbers),
            Wanted::Categories => None,
            Wanted::Dates(parts, zone) => Some(TextsAre::Dates(*parts, zone.clone())),
        }
    }

    /// Parses a text as a number, repeated in all elements, or as parts of a date. The error describes the
    /// expected text.
    pub(super) fn numbers(&self, text: &str) -> std::result::Result<[f32; DATE_PARTS.len()], String> {
        let bytes = text.as_bytes();
        match self {
            _ if is_missing(bytes) => Ok([f32::NAN; DATE_PARTS.len()]),
            TextsAre::Numbers => match float(bytes, NOTATION) {
                Ok(number) => Ok([number; DATE_PARTS.len()]),
                Err(expected) => Err(expected.to_owned()),
            },
            TextsAre::Dates(_, zone) => {
                let is_fit = match zone {
                    Zone::OfFile => true,
                    Zone::Absent => !has_zone(text),
                    Zone::Named(name) => name == UTC && has_zone(text),
                };
                let parts = date_in(bytes).ok_or("a date such as 2026-11-22")?;
                if is_fit { Ok(parts) } else { Err(zone.said()) }
            }
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            TextsAre::Numbers => 1,
            TextsAre::Dates(parts, _) => *parts,
        }
    }
}

impl<'a> Texts<'a> {
    /// Creates the texts of the column with this name and index. `values` begin with its first row, and have
    /// `apart` values per row.
    pub(super) fn new(
        name: &'a str,
        index: usize,
        texts: &'a [String],
        (values, apart): (&'a [f32], usize),
    ) -> Self {
        let kinds = texts.iter().map(|text| Kind::of(text)).collect();
        Self { name, index, texts, kinds, values, apart }
    }

    /// Returns the index of each row's text, or `None` if it is missing.
    fn rows(&self) -> impl Iterator<Item = Option<usize>> {
        let values = self.values.iter().step_by(self.apart);
        values.map(|value| (!value.is_nan()).then_some(*value as usize))
    }

    /// Detects the type of the column; `None` for categories.
    pub(super) fn understood(&self, notes: &mut TextNotes) -> Result<Option<TextsAre>> {
        let (mut numbers, mut dates, mut texts) = (0u64, 0u64, 0u64);
        for text in self.rows().flatten() {
            match self.kinds[text] {
                Kind::Missing => {}
                Kind::Number => numbers += 1,
                Kind::Date { .. } => dates += 1,
                Kind::Text => texts += 1,
            }
        }
        let has_hours = self.kinds.iter().any(|kind| matches!(kind, Kind::Date { has_hour: true, .. }));
        let has_zones = self.kinds.iter().any(|kind| matches!(kind, Kind::Date { has_zone: true, .. }));
        let parts = if has_hours { DATE_PARTS.len() } else { DATE_PARTS.len() - 1 };
        let zone = if has_zones { Zone::Named(UTC.to_owned()) } else { Zone::Absent };
        let are_dates = TextsAre::Dates(parts, zone);
        let are_codes = self.texts.iter().any(|text| has_leading_zero(text.as_bytes()));
        let is_text = |kind| matches!(kind, Kind::Date { .. } | Kind::Text);
        match (numbers, dates, texts) {
            (_, 0, 0) if are_codes => {
                let different = self.kinds.iter().filter(|kind| **kind == Kind::Number).count();
                if are_different_texts(numbers as usize, different) {
                    notes.different.push(self.name.to_owned());
                }
            }
            (_, 0, 0) => return Ok(Some(TextsAre::Numbers)),
            (0, _, 0) => return Ok(Some(are_dates)),
            _ if dates > numbers + texts => {
                let odd = self.cells(|kind| matches!(kind, Kind::Number | Kind::Text)).next();
                return odd.map_or(Ok(Some(are_dates)), |OddCell { path, place, cell }| {
                    let expected = format!("a date such as 2026-11-22, as in {dates} other rows");
                    Err(Error::data(path, place, expected, cell))
                });
            }
            _ if numbers > 0 => {
                let different = self.kinds.iter().filter(|kind| **kind == Kind::Number).count();
                let odd: Vec<OddCell> = self.cells(is_text).take(MOST_ODD + 1).collect();
                if are_odd(odd.len(), numbers, different)
                    && let Some(error) = odd_cells_error(odd, numbers)
                {
                    return Err(error);
                }
                let first = self.cells(is_text).next().map(|OddCell { path, place, cell }| MixedColumn {
                    column: self.name.to_owned(),
                    path,
                    place,
                    cell,
                });
                notes.mixed.extend(first);
            }
            _ => {
                let of_texts = self.texts.iter().zip(&self.kinds).filter(|(_, kind)| is_text(**kind));
                let different: Vec<&[u8]> = of_texts.map(|(text, _)| text.as_bytes()).collect();
                if let Some(number) = number_among(self.name.to_owned(), &different) {
                    notes.as_text.push(number);
                } else if are_different_texts((dates + texts) as usize, different.len()) {
                    notes.different.push(self.name.to_owned());
                }
            }
        }
        Ok(None)
    }

    /// Returns the cells of this kind.
    fn cells(&self, is_wanted: impl Fn(Kind) -> bool) -> impl Iterator<Item = OddCell> {
        let rows = self.rows().enumerate().filter_map(|(row, text)| Some((row, text?)));
        rows.filter(move |(_, text)| is_wanted(self.kinds[*text])).map(|(row, text)| OddCell {
            path: PathBuf::from(Path::new("x")),
            place: Place {
                row: Some(row as u64 + 1),
                column: Some(self.index + 1),
                name: Some(self.name.into()),
            },
            cell: quote(self.texts[text].as_bytes()),
        })
    }
}
