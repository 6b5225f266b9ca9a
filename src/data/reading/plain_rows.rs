//! Rows whose cells need no second look, each read in one walk from its first byte to its last.
//!
//! Any other row is left to `RowParser`, which knows all cases.

use super::csv_table::CsvTable;
use super::records::{is_padding, may_be_blank, quoted_end};
use crate::data::columns::IgnoredBecause;
use crate::data::columns::categories::MISSING;
use crate::data::columns::classes::Interner;
use crate::data::columns::schema::Holds;
use crate::data::dialect::number::{float, short_number};

/// What is done with the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    /// Ignored.
    None,
    /// Numbers of this column and as many behind it, which are the inputs from this one on.
    Numbers(usize, usize),
    /// A category: the input, and the number of the column among those of categories.
    Category(usize, usize),
    Label,
    /// The value to predict with this number.
    Value(usize),
    /// It must be empty.
    Empty,
    /// It must count up from this number.
    Counted(f64),
}

/// What is done with each column of a table.
pub(crate) struct PlainRows {
    roles: Vec<Role>,
    delimiter: u8,
}

/// What is known of the rows so far.
pub(crate) struct KnownRows<'a> {
    pub table: &'a CsvTable,
    pub labels: &'a Interner,
    pub categories: &'a [Interner],
    /// Whether a number may be missing.
    pub may_miss: bool,
}

/// What a row holds.
#[derive(Default)]
pub(crate) struct Values {
    pub inputs: Vec<f32>,
    pub label: Option<u32>,
    pub targets: Vec<f32>,
}

impl PlainRows {
    /// `None` where a column needs the full parser, or has two roles; or where a delimiter may be part of a number, whose
    /// end would not be that of its cell.
    pub(crate) fn new(table: &CsvTable) -> Option<Self> {
        let (columns, delimiter) = (&table.columns, table.dialect.delimiter);
        if delimiter == table.dialect.numbers.point
            || delimiter == b'-'
            || delimiter.is_ascii_digit()
            || !table.missing_numbers.is_empty()
            || [columns.weight, columns.group, columns.time, columns.id].iter().any(Option::is_some)
        {
            return None;
        }
        let mut roles = vec![Role::None; columns.count];
        let (mut input, mut category) = (0, 0);
        let inputs = columns.inputs.iter().map(|(column, holds)| {
            let role = match holds {
                Holds::Numbers => Role::Numbers(input, 1),
                Holds::Categories => Role::Category(input, category),
                Holds::Dates(_) => return None,
            };
            input += 1;
            category += usize::from(*holds == Holds::Categories);
            Some((*column, role))
        });
        let inputs = inputs.collect::<Option<Vec<_>>>()?;
        let values = columns.values.iter().enumerate().map(|(value, column)| (*column, Role::Value(value)));
        let empty = columns.left_out.iter().filter(|(_, why)| *why == IgnoredBecause::Empty);
        let empty = empty.map(|(column, _)| (*column, Role::Empty));
        let counted = columns.counted.iter().map(|(column, first)| (*column, Role::Counted(*first)));
        let label = columns.target.map(|column| (column, Role::Label));
        for (column, role) in inputs.into_iter().chain(values).chain(empty).chain(counted).chain(label) {
            if std::mem::replace(&mut roles[column], role) != Role::None {
                return None;
            }
        }
        roles.dedup_by(|next, role| match (role, next) {
            (Role::Numbers(first, count), Role::Numbers(next, _)) if *first + *count == *next => {
                *count += 1;
                true
            }
            _ => false,
        });
        Some(Self { roles, delimiter })
    }
}

impl KnownRows<'_> {
    /// Reads the row that begins at this place of a text, before which so many come, and says where it ends, behind its line end; nothing
    /// where it needs a second look, after which `values` hold anything.
    pub(crate) fn plain_row(
        &self,
        plain: &PlainRows,
        text: &[u8],
        start: usize,
        before: u64,
        values: &mut Values,
    ) -> Option<usize> {
        let (table, delimiter) = (&self.table, plain.delimiter);
        if text[start..]
            .iter()
            .find(|byte| !may_be_blank(byte) || is_line_end(**byte))
            .is_none_or(|byte| is_line_end(*byte))
        {
            return None;
        }
        let cell = |at| cell(text, at, delimiter);
        let mut at = start;
        for (role, column) in plain.roles.iter().zip(1..) {
            let end = match role {
                Role::Numbers(first, count) => {
                    self.numbers(text, at, delimiter, self.may_miss, &mut values.inputs[*first..][..*count])?
                }
                Role::Category(input, index) => {
                    let (cell, end) = cell(at)?;
                    let number = self.categories[*index].find(cell)?;
                    if number == MISSING && table.refuses_missing {
                        return None;
                    }
                    values.inputs[*input] = number as f32;
                    end
                }
                Role::Label => {
                    let (cell, end) = cell(at)?;
                    values.label = Some(self.labels.find(cell)?);
                    end
                }
                Role::Value(value) => {
                    self.numbers(text, at, delimiter, false, &mut values.targets[*value..=*value])?
                }
                Role::None => cell(at)?.1,
                Role::Empty => cell(at).filter(|(cell, _)| table.dialect.is_missing(cell))?.1,
                Role::Counted(first) => {
                    let (cell, end) = cell(at)?;
                    let number: f64 = fast_float2::parse(cell).ok()?;
                    if number != first + before as f64 {
                        return None;
                    }
                    end
                }
            };
            at = match text[end] {
                byte if column < plain.roles.len() => (byte == delimiter).then_some(end + 1)?,
                b'\n' => return Some(end + 1),
                b'\r' => return Some(end + 1 + usize::from(text.get(end + 1) == Some(&b'\n'))),
                _ => return None,
            };
        }
        None
    }

    /// Reads numbers of neighbouring cells, the first of which begins there, and says where the last one ends.
    fn numbers(
        &self,
        text: &[u8],
        start: usize,
        delimiter: u8,
        may_miss: bool,
        values: &mut [f32],
    ) -> Option<usize> {
        let point = self.table.dialect.numbers.point;
        let mut end = start;
        for (cell, value) in values.iter_mut().enumerate() {
            let at = if cell == 0 { end } else { (text[end] == delimiter).then_some(end + 1)? };
            (*value, end) = match short_number(text, at, point) {
                Some((value, end)) if text[end] == delimiter || is_line_end(text[end]) => (value, end),
                _ => self.longer_number(text, at, delimiter, may_miss)?,
            };
        }
        Some(end)
    }

    /// A number that is longer, quoted or with blanks around it, or else missing, which it may be.
    #[cold]
    fn longer_number(&self, text: &[u8], at: usize, delimiter: u8, may_miss: bool) -> Option<(f32, usize)> {
        let dialect = &self.table.dialect;
        let (cell, end) = cell(text, at, delimiter)?;
        let is_missing = may_miss && dialect.is_missing(cell);
        Some((if is_missing { f32::NAN } else { float(cell, dialect.numbers).ok()? }, end))
    }
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// The cell that begins at this place, and the place behind it; nothing where a quote in it stands for itself.
#[inline(always)]
fn cell(text: &[u8], start: usize, delimiter: u8) -> Option<(&[u8], usize)> {
    let padding = text[start..].iter().take_while(|byte| is_padding(**byte, delimiter)).count();
    if text[start + padding] != b'"' {
        let length = text[start..].iter().position(|byte| *byte == delimiter || is_line_end(*byte))?;
        return Some((&text[start..start + length], start + length));
    }
    let end = quoted_end(text, start + padding)?;
    let cell = &text[start + padding + 1..end];
    let is_all = text.get(end + 1).is_some_and(|next| *next == delimiter || is_line_end(*next));
    (is_all && !cell.contains(&b'"')).then_some((cell, end + 1))
}
