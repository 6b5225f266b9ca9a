//! Parses the rows of pieces, one piece at a time, in each thread that reads a table.
//!
//! The fast path walks a row from its first byte to its last. If the meaning of a cell is not known in advance (the
//! cell is new, missing, a date, or wrong), `csv-core` splits the whole row, and all cells are parsed a second
//! time, by the slow path where necessary (`cells.rs`).

pub(crate) mod cells;

use std::sync::Arc;

use super::csv_table::CsvTable;
use super::pieces::{At, Piece};
use super::records::{Cells, is_blank, is_padding, may_be_blank, quoted_end, row_end};
use super::table::{Missing, Table};
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::groups::Groups;
use crate::data::columns::labels::Interner;
use crate::data::columns::schema::Holds;
use crate::data::dataset::{BLOCK_ROWS, Features};
use crate::data::dialect::number::{float, short_number};
use crate::error::{DataFault, Error, Result};

/// The use of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// Ignored.
    None,
    /// Numbers of neighbouring columns: the first input and the number of columns.
    Numbers(usize, usize),
    /// A category: the input, and the index of the column among the columns of categories.
    Category(usize, usize),
    /// A date: its first input, and the number of its parts that are inputs.
    Date(usize, usize),
    Label,
    /// The value to predict with this index.
    Value(usize),
    /// The label of 0 or 1 with this index.
    Binary(usize),
    Weight,
    Group,
    Time,
    Id,
    /// A row number, which must count up from this number.
    Counted(f64),
}

/// The roles of columns, in the order in which the cells of a row are checked. A column may have several roles.
fn roles(table: &CsvTable) -> Vec<(usize, Role)> {
    let columns = &table.columns;
    let (mut input, mut category) = (0, 0);
    let inputs = columns.inputs.iter().map(|(column, holds)| {
        let role = match holds {
            Holds::Numbers => Role::Numbers(input, 1),
            Holds::Categories => Role::Category(input, category),
            Holds::Dates(parts) => Role::Date(input, *parts),
        };
        input += holds.width();
        category += usize::from(*holds == Holds::Categories);
        (*column, role)
    });
    let inputs: Vec<(usize, Role)> = inputs.collect();
    let counted = columns.counted.iter().map(|(column, first)| (*column, Role::Counted(*first)));
    let label = columns.target.map(|column| (column, Role::Label));
    let value = if columns.are_labels { Role::Binary } else { Role::Value };
    let values = columns.values.iter().zip(0..).map(|(column, place)| (*column, value(place)));
    let (weight, group) = (columns.weight, columns.group);
    let others =
        [(weight, Role::Weight), (group, Role::Group), (columns.time, Role::Time), (columns.id, Role::Id)];
    let others = others.into_iter().filter_map(|(column, role)| Some((column?, role)));
    inputs.into_iter().chain(counted).chain(label).chain(values).chain(others).collect()
}

/// The role of each column in the fast path, with neighbouring numbers merged. `None` if the fast path is impossible:
/// if a column has two roles or a role whose cells all need the slow path, or if the delimiter may be part of a number,
/// so that a number may end after its cell.
fn walk(table: &CsvTable, roles: &[(usize, Role)]) -> Option<Vec<Role>> {
    let delimiter = table.dialect.delimiter;
    if delimiter == table.dialect.numbers.point
        || delimiter == b'-'
        || delimiter.is_ascii_digit()
        || !table.missing_numbers.is_empty()
    {
        return None;
    }
    let mut walk = vec![Role::None; table.columns.count];
    for (column, role) in roles {
        let is_slow = matches!(role, Role::Date(..) | Role::Weight | Role::Group | Role::Time | Role::Id);
        if is_slow || std::mem::replace(&mut walk[*column], *role) != Role::None {
            return None;
        }
    }
    walk.dedup_by(|next, role| match (role, next) {
        (Role::Numbers(first, count), Role::Numbers(next, _)) if *first + *count == *next => {
            *count += 1;
            true
        }
        _ => false,
    });
    Some(walk)
}

/// The values of a row.
#[derive(Default)]
pub(crate) struct Values {
    pub inputs: Vec<f32>,
    pub label: Option<u32>,
    pub targets: Vec<f32>,
    pub weight: Option<f32>,
    pub group: Option<u32>,
    pub time: Option<f64>,
    pub id: Option<String>,
}

/// State kept between pieces. Labels, categories and groups are numbered in the order of appearance in this parser.
pub(crate) struct RowParser {
    pub table: Arc<CsvTable>,
    roles: Arc<[(usize, Role)]>,
    walk: Option<Vec<Role>>,
    pub labels: Interner,
    /// One interner per column of categories, in column order.
    pub categories: Vec<Interner>,
    pub groups: Groups,
    /// Whether a value was not a byte.
    floats: bool,
    /// The first number that was missing.
    pub missing: FirstMissing,
    /// Cells that only all rows can decide on, the first of each column; and the columns with such a cell.
    new_doubts: Vec<Doubt>,
    in_doubt: Vec<bool>,
}

/// A cell that does not match its column's type in the first rows: text among numbers, a number among text, a missing
/// target. All rows together decide the type of the column.
pub(crate) struct Doubt {
    pub column: usize,
    /// The error for the cell, unless all rows resolve the doubt.
    pub error: Error,
}

impl Doubt {
    /// Whether the row has no target.
    pub(crate) fn is_without_target(&self) -> bool {
        matches!(self.error, Error::Fault { kind: DataFault::NoTarget, .. })
    }
}

/// The state of a parser concerning missing numbers.
#[derive(Default)]
pub(crate) enum FirstMissing {
    /// No number is missing so far.
    #[default]
    None,
    /// The first missing number is in this piece.
    Here(Missing),
    /// The first missing number was in an earlier piece.
    Before,
}

/// The result of parsing a piece.
pub(crate) struct Parsed {
    pub rows: Table,
    /// The groups that appear first in these rows.
    pub new_groups: Vec<Option<Box<[u8]>>>,
    pub doubts: Vec<Doubt>,
    pub piece: Arc<Piece>,
    /// The error of the first invalid row, after which no rows follow.
    pub fault: Option<Error>,
}

impl RowParser {
    pub(crate) fn new(table: Arc<CsvTable>) -> Self {
        let categories = table.columns.inputs.iter().filter(|(_, holds)| *holds == Holds::Categories);
        let roles = roles(&table);
        Self {
            walk: walk(&table, &roles),
            roles: roles.into(),
            labels: Interner::new("label", 0),
            categories: categories.map(|_| Interner::new("category", MISSING + 1)).collect(),
            groups: Groups::default(),
            floats: false,
            missing: FirstMissing::None,
            new_doubts: Vec::new(),
            in_doubt: vec![false; table.columns.count],
            table,
        }
    }

    /// Parses the rows of a piece, which must follow the pieces parsed before.
    pub(crate) fn parse(&mut self, piece: &Arc<Piece>, cells: &mut Cells) -> Parsed {
        let values = piece.rows.min(BLOCK_ROWS).saturating_mul(self.table.columns.width());
        let features = Features::with_room(values, self.floats);
        let begins = vec![(Arc::clone(&piece.name), 0)];
        let mut rows = Table { features, begins, ..Table::default() };
        let fault = self.rows(piece, cells, &mut rows).err();
        self.floats = matches!(rows.features, Features::Floats(_));
        if let FirstMissing::Here(missing) = &mut self.missing {
            rows.missing = Some((Some(Arc::clone(&piece.name)), std::mem::take(missing)));
            self.missing = FirstMissing::Before;
        }
        rows.names = self.labels.take_new();
        let new = self.categories.iter_mut().map(Interner::take_new);
        rows.dictionaries = new.map(|labels| Dictionary { labels, label_type: None }).collect();
        let (new_groups, doubts) = (self.groups.take_new(), std::mem::take(&mut self.new_doubts));
        Parsed { rows, new_groups, doubts, piece: Arc::clone(piece), fault }
    }

    /// Postpones the decision on a cell of this column to the end of the table; `error` makes its error.
    fn doubt(&mut self, column: usize, error: impl FnOnce(&Self) -> Error) {
        if !self.in_doubt[column] {
            let error = error(self);
            self.new_doubts.push(Doubt { column, error });
            self.in_doubt[column] = true;
        }
    }

    fn rows(&mut self, piece: &Piece, cells: &mut Cells, rows: &mut Table) -> Result<()> {
        let (text, delimiter) = (&piece.text[..], self.table.dialect.delimiter);
        let mut values = Values {
            inputs: vec![0.0; self.table.columns.width()],
            targets: vec![0.0; self.table.columns.values.len()],
            ..Values::default()
        };
        let (mut start, mut before) = (0, piece.before);
        while start < text.len() {
            start = match self.walked(text, start, before, &mut values) {
                Some(end) => end,
                None => {
                    // Each piece ends with the end of a row.
                    let Ok(Some(end)) = row_end(text, start, delimiter) else { break };
                    if !is_blank(&text[start..end], delimiter) {
                        let at = At { row: cells.split(&text[start..=end]), piece, start };
                        self.split(&at, before, &mut values)?;
                    } else {
                        start = end + 1;
                        continue;
                    }
                    end + 1
                }
            };
            rows.features.extend(&values.inputs);
            rows.numbers.extend(values.label);
            rows.values.extend_from_slice(&values.targets);
            rows.weights.extend(values.weight);
            rows.groups.extend(values.group);
            rows.times.extend(values.time);
            rows.ids.extend(values.id.take());
            before += 1;
        }
        Ok(())
    }

    /// Parses the cells of a row one by one.
    fn split(&mut self, at: &At<'_>, before: u64, values: &mut Values) -> Result<()> {
        self.table.check_cells(at)?;
        for (column, role) in Arc::clone(&self.roles).iter() {
            if !self.take(*role, at.row.cell(*column), before, values) {
                self.second_look(*role, (at, *column), before, values)?;
            }
        }
        Ok(())
    }

    /// Parses a cell whose meaning is known; otherwise returns false and leaves the value unspecified.
    #[inline(always)]
    fn take(&self, role: Role, cell: &[u8], before: u64, values: &mut Values) -> bool {
        let table = &self.table;
        let (place, number) = match role {
            Role::Numbers(input, _) => (&mut values.inputs[input], self.number_in(cell, self.may_miss())),
            Role::Value(value) => (&mut values.targets[value], self.number_in(cell, false)),
            Role::Binary(value) => (&mut values.targets[value], self.binary(cell)),
            Role::Category(input, index) => {
                let known = self.categories[index].find(cell);
                let known = known.filter(|number| !(*number == MISSING && table.refuses_missing));
                (&mut values.inputs[input], known.map(|number| number as f32))
            }
            Role::Label => {
                values.label = self.labels.find(cell);
                return values.label.is_some();
            }
            Role::None => return true,
            Role::Counted(first) => {
                return fast_float2::parse(cell.trim_ascii()) == Ok(first + before as f64);
            }
            Role::Date(..) | Role::Weight | Role::Group | Role::Time | Role::Id => return false,
        };
        *place = number.unwrap_or(f32::NAN);
        number.is_some()
    }

    /// Whether the fast path accepts missing numbers.
    fn may_miss(&self) -> bool {
        !self.table.refuses_missing && !matches!(self.missing, FirstMissing::None)
    }

    /// Parses a number; returns NaN for a missing one if `may_miss` is true.
    fn number_in(&self, cell: &[u8], may_miss: bool) -> Option<f32> {
        let dialect = &self.table.dialect;
        if may_miss && dialect.is_missing(cell) {
            return Some(f32::NAN);
        }
        let number = float(cell, dialect.numbers).ok();
        number.filter(|value| !self.table.missing_numbers.contains(value))
    }

    /// Parses a label: 0, 1, false or true.
    fn binary(&self, cell: &[u8]) -> Option<f32> {
        let number = self.number_in(cell, false).filter(|number| [0.0, 1.0].contains(number));
        let is = |text: &str| cell.trim_ascii().eq_ignore_ascii_case(text.as_bytes());
        number.or_else(|| is("false").then_some(0.0)).or_else(|| is("true").then_some(1.0))
    }

    /// Parses the row that begins at `start` by the fast path; `before` is the number of rows before. Returns the
    /// position after the row's line end, or `None` if the row needs the slow path; `values` are unspecified then.
    fn walked(&self, text: &[u8], start: usize, before: u64, values: &mut Values) -> Option<usize> {
        let (walk, delimiter) = (self.walk.as_ref()?, self.table.dialect.delimiter);
        if text[start..]
            .iter()
            .find(|byte| !may_be_blank(byte) || is_line_end(**byte))
            .is_none_or(|byte| is_line_end(*byte))
        {
            return None;
        }
        let may_miss = self.may_miss();
        let mut at = start;
        for (role, column) in walk.iter().zip(1..) {
            let end = match role {
                Role::Numbers(first, count) => {
                    self.numbers(text, at, may_miss, &mut values.inputs[*first..][..*count])?
                }
                Role::Value(value) => self.numbers(text, at, false, &mut values.targets[*value..=*value])?,
                role => {
                    let (cell, end) = cell(text, at, delimiter)?;
                    self.take(*role, cell, before, values).then_some(end)?
                }
            };
            at = match text[end] {
                byte if column < walk.len() => (byte == delimiter).then_some(end + 1)?,
                b'\n' => return Some(end + 1),
                b'\r' => return Some(end + 1 + usize::from(text.get(end + 1) == Some(&b'\n'))),
                _ => return None,
            };
        }
        None
    }

    /// Parses the numbers of neighbouring cells, the first of which begins at `start`, and returns the end of the last
    /// one.
    fn numbers(&self, text: &[u8], start: usize, may_miss: bool, values: &mut [f32]) -> Option<usize> {
        let (point, delimiter) = (self.table.dialect.numbers.point, self.table.dialect.delimiter);
        let mut end = start;
        for (number, value) in values.iter_mut().enumerate() {
            let at = if number == 0 { end } else { (text[end] == delimiter).then_some(end + 1)? };
            (*value, end) = match short_number(text, at, point) {
                Some((value, end)) if text[end] == delimiter || is_line_end(text[end]) => (value, end),
                _ => self.longer_number(text, at, may_miss)?,
            };
        }
        Some(end)
    }

    /// Parses a number that is long, quoted, padded with blanks, or missing if `may_miss` is true.
    #[cold]
    fn longer_number(&self, text: &[u8], at: usize, may_miss: bool) -> Option<(f32, usize)> {
        let (cell, end) = cell(text, at, self.table.dialect.delimiter)?;
        Some((self.number_in(cell, may_miss)?, end))
    }
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// The cell that begins at `start`, and the position after it; `None` if the cell contains an escaped quote.
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

#[cfg(test)]
mod tests;
