//! Parses the rows of one piece after the other: what each thread that reads a table does.
//!
//! A row is walked from its first byte to its last. Where the meaning of a cell is not known before (it is new, missing, a date, wrong), the
//! cells of the whole row are split by `csv-core` and taken once more, each that needs it with a second look (`cells.rs`).

pub(crate) mod cells;

use std::sync::Arc;

use super::csv_table::CsvTable;
use super::pieces::{At, Piece};
use super::records::{Cells, is_blank, is_padding, may_be_blank, quoted_end, row_end};
use super::table::{Missing, Table};
use crate::data::columns::categories::{Dictionary, MISSING};
use crate::data::columns::classes::Interner;
use crate::data::columns::groups::Groups;
use crate::data::columns::schema::Holds;
use crate::data::dataset::{BLOCK_ROWS, Features};
use crate::data::dialect::number::{float, short_number};
use crate::error::{DataFault, Error, Result};

/// What is done with the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// Ignored.
    None,
    /// Numbers of this column and as many behind it, which are the inputs from this one on.
    Numbers(usize, usize),
    /// A category: the input, and the number of the column among those of categories.
    Category(usize, usize),
    /// A date: its first input, and how many parts are inputs.
    Date(usize, usize),
    Label,
    /// The value to predict with this number.
    Value(usize),
    Weight,
    Group,
    Time,
    Id,
    /// It must count up from this number.
    Counted(f64),
}

/// The roles of columns, in the order in which the cells of a row are judged. A column may have several.
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
    let values = columns.values.iter().zip(0..).map(|(column, value)| (*column, Role::Value(value)));
    let (weight, group) = (columns.weight, columns.group);
    let others =
        [(weight, Role::Weight), (group, Role::Group), (columns.time, Role::Time), (columns.id, Role::Id)];
    let others = others.into_iter().filter_map(|(column, role)| Some((column?, role)));
    inputs.into_iter().chain(counted).chain(label).chain(values).chain(others).collect()
}

/// The role of each column for a walk, neighbouring numbers as one; `None` where no row could be walked: where a column has two roles, or
/// one of which each cell needs a second look, or where a delimiter may be part of a number, whose end would not be that of its cell.
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

/// What a row holds.
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

/// What is kept from piece to piece. Labels, categories and groups have the numbers in which they came to this parser.
pub(crate) struct RowParser {
    pub table: Arc<CsvTable>,
    roles: Arc<[(usize, Role)]>,
    walk: Option<Vec<Role>>,
    pub labels: Interner,
    /// One for each categorical column, in their order.
    pub categories: Vec<Interner>,
    pub groups: Groups,
    /// Whether a value was none of a byte.
    floats: bool,
    /// The first number that was missing.
    pub missing: FirstMissing,
    /// Cells that only all rows can judge, the first of each column; and the columns that have one.
    new_doubts: Vec<Doubt>,
    in_doubt: Vec<bool>,
}

/// A cell that is none of its column as the first rows have it: text among numbers, a number among text, a missing target. All rows decide
/// what the column holds.
pub(crate) struct Doubt {
    pub column: usize,
    /// What is wrong with the cell where nothing comes to its help.
    pub error: Error,
}

impl Doubt {
    /// Whether the row has no target.
    pub(crate) fn is_without_target(&self) -> bool {
        matches!(self.error, Error::Fault { kind: DataFault::NoTarget, .. })
    }
}

/// What a parser knows of numbers that are missing.
#[derive(Default)]
pub(crate) enum FirstMissing {
    /// All were there.
    #[default]
    None,
    /// The first stands in this piece.
    Here(Missing),
    /// In an earlier piece.
    Before,
}

/// What a piece holds.
pub(crate) struct Parsed {
    pub rows: Table,
    /// The groups that came first in these rows.
    pub new_groups: Vec<Option<Box<[u8]>>>,
    pub doubts: Vec<Doubt>,
    pub piece: Arc<Piece>,
    /// What is wrong with the first row that is not there any more.
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

    /// Parses the rows of a piece, which come after those of all pieces before.
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

    /// Leaves it to all rows what a cell of this column is; `error` says what it is by itself.
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
                    // Each piece ends with a row.
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

    /// Takes the cells of a row one by one.
    fn split(&mut self, at: &At<'_>, before: u64, values: &mut Values) -> Result<()> {
        self.table.check_cells(at)?;
        for (column, role) in Arc::clone(&self.roles).iter() {
            if !self.take(*role, at.row.cell(*column), before, values) {
                self.second_look(*role, (at, *column), before, values)?;
            }
        }
        Ok(())
    }

    /// Takes a cell whose meaning is known; false where it is not, after which the value may be anything.
    #[inline(always)]
    fn take(&self, role: Role, cell: &[u8], before: u64, values: &mut Values) -> bool {
        let table = &self.table;
        let (place, number) = match role {
            Role::Numbers(input, _) => (&mut values.inputs[input], self.number_in(cell, self.may_miss())),
            Role::Value(value) => (&mut values.targets[value], self.number_in(cell, false)),
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

    /// Whether a missing number needs no second look.
    fn may_miss(&self) -> bool {
        !self.table.refuses_missing && !matches!(self.missing, FirstMissing::None)
    }

    /// A number, or NaN where it is missing, which it may be.
    fn number_in(&self, cell: &[u8], may_miss: bool) -> Option<f32> {
        let dialect = &self.table.dialect;
        if may_miss && dialect.is_missing(cell) {
            return Some(f32::NAN);
        }
        let number = float(cell, dialect.numbers).ok();
        number.filter(|value| !self.table.missing_numbers.contains(value))
    }

    /// Reads the row that begins at this place of a text, before which so many come, and says where it ends, behind its line end; nothing
    /// where it needs a second look, after which `values` hold anything.
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

    /// Reads numbers of neighbouring cells, the first of which begins there, and says where the last one ends.
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

    /// A number that is longer, quoted or with blanks around it, or else missing, which it may be.
    #[cold]
    fn longer_number(&self, text: &[u8], at: usize, may_miss: bool) -> Option<(f32, usize)> {
        let (cell, end) = cell(text, at, self.table.dialect.delimiter)?;
        Some((self.number_in(cell, may_miss)?, end))
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

#[cfg(test)]
mod tests;
