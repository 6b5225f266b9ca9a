//! Parses the rows of one piece after the other: what each thread that reads a table does.

use std::path::Path;
use std::sync::Arc;

use super::BLOCK_ROWS;
use super::ahead::Ahead;
use super::categories::Numbering;
use super::classes::Interner;
use super::columns::{Run, Why};
use super::csv_table::CsvTable;
use super::dataset::Features;
use super::decimal::Decimals;
use super::groups::Groups;
use super::known::{Texts, WORD};
use super::number::Value;
use super::piece::{Part, Piece};
use super::row::Row;
use super::shown::{show, show_name};
use super::spare::Spare;
use super::table::{Chunk, Missing};
use crate::{Error, Result};

/// What is kept from piece to piece. Labels, categories and groups have the numbers in which they came to this parser.
pub(super) struct RowParser {
    pub table: Arc<CsvTable>,
    pub labels: Interner,
    /// Of the columns of categories, in their order.
    pub numberings: Vec<Numbering>,
    /// Where each input stands.
    cells: Vec<Cell>,
    pub groups: Groups,
    pub decimals: Box<Decimals>,
    /// Whether a value was none of a byte.
    floats: bool,
    /// The first number that was missing.
    pub missing: FirstMissing,
    /// Features of chunks that are gone, of all parsers.
    spare: Spare<Features>,
}

/// What an input is.
#[derive(Clone, Copy)]
enum Cell {
    /// A number in this column.
    Number(usize),
    /// A category in this column, which is the one with this number among those of categories.
    Category(usize, usize),
    /// Of the date in this column, of which so many parts are inputs, the one with this number.
    Date(usize, usize, usize),
}

/// What a parser knows of numbers that are missing.
#[derive(Default)]
pub(super) enum FirstMissing {
    /// All were there.
    #[default]
    None,
    /// The first stands in this piece.
    Here(Missing),
    /// It stood in a piece before.
    Before,
}

/// A row and where it stands.
pub(super) struct At<'a> {
    pub row: Row<'a>,
    piece: &'a Piece,
    start: usize,
}

/// What a piece holds.
pub(super) struct Parsed {
    pub chunk: Chunk,
    /// The groups that came first in these rows.
    pub new_groups: Vec<Option<Box<[u8]>>>,
    /// The file, or what stands for it in messages.
    pub name: Arc<Path>,
    /// What is wrong with the first row that is not there any more.
    pub fault: Option<Error>,
}

impl<'a> At<'a> {
    /// A row of a piece, which begins there.
    pub(super) fn new(row: Row<'a>, piece: &'a Piece, start: usize) -> Self {
        Self { row, piece, start }
    }

    /// The file, or what stands for it in messages.
    pub(super) fn name(&self) -> &Path {
        &self.piece.name
    }

    /// The line on which the row begins.
    pub(super) fn line(&self) -> u64 {
        self.piece.line(self.start)
    }
}

impl RowParser {
    pub(super) fn new(table: Arc<CsvTable>, spare: Spare<Features>) -> Self {
        let mut numberings = Vec::new();
        let mut cells = Vec::new();
        for run in &table.columns.runs {
            match run {
                Run::Numbers(columns) => cells.extend(columns.clone().map(Cell::Number)),
                Run::Category(column) => {
                    cells.push(Cell::Category(*column, numberings.len()));
                    numberings.push(Numbering::new());
                }
                Run::Date(column, parts) => {
                    cells.extend((0..*parts).map(|part| Cell::Date(*column, *parts, part)));
                }
            }
        }
        Self {
            labels: Interner::new("label"),
            numberings,
            cells,
            groups: Groups::default(),
            decimals: Box::new(Decimals::new()),
            floats: false,
            missing: FirstMissing::None,
            spare,
            table,
        }
    }

    /// Parses the rows of a piece, which come after those of all pieces before.
    pub(super) fn parse(&mut self, piece: &Piece, ahead: &mut Ahead) -> Parsed {
        let values = piece.count().min(BLOCK_ROWS).saturating_mul(self.table.columns.inputs());
        let features = Features::with_spare_room(self.spare.take(), values, self.floats);
        let mut chunk = Chunk { features, spare: self.spare.clone(), ..Chunk::default() };
        let table = Arc::clone(&self.table);
        let mut before = piece.before;
        let fault = Ahead::parts(piece).try_for_each(|part| {
            before += self.rows(&table, piece, part, before, ahead, &mut chunk)?;
            Ok(())
        });
        let fault = fault.err();
        self.floats = matches!(chunk.features, Features::Floats(_));
        if let FirstMissing::Here(missing) = &mut self.missing {
            chunk.missing = Some(std::mem::take(missing));
            self.missing = FirstMissing::Before;
        }
        chunk.new_labels = self.labels.take_new();
        chunk.new_categories = self.numberings.iter_mut().map(Numbering::take_new).collect();
        Parsed { chunk, new_groups: self.groups.take_new(), name: Arc::clone(&piece.name), fault }
    }

    /// Parses some rows, before which so many come, and says how many they are.
    fn rows(
        &mut self,
        table: &CsvTable,
        piece: &Piece,
        part: Part<'_>,
        before: u64,
        ahead: &mut Ahead,
        chunk: &mut Chunk,
    ) -> Result<u64> {
        let (columns, delimiter) = (&table.columns, table.dialect.delimiter);
        let are_alike = ahead.look(piece, part, (columns, delimiter));
        let rows = ahead.count();
        // The first input, and how many a row has, where they are read together.
        let (place, mut width) = (chunk.features.len(), 0);
        if are_alike
            && table.missing_numbers.is_empty()
            && let Features::Floats(floats) = &mut chunk.features
        {
            let refuses_missing = table.refuses_missing;
            let texts = Texts { numberings: &self.numberings, labels: &self.labels, refuses_missing };
            floats.extend_from_slice(ahead.read(piece, columns, self.read_as(), &mut self.decimals, texts));
            width = columns.inputs();
        }
        let labels = ahead.known().labels().filter(|_| width > 0 && columns.are_inputs_and_labels());
        chunk.labels.extend_from_slice(labels.unwrap_or_default());
        // Whether nothing is left to do but what has not been read.
        let is_read = labels.is_some();
        for (row, before) in (0..rows).zip(before..) {
            if is_read && ahead.known().is_read(row) {
                continue;
            }
            let (of_row, known, start) = ahead.row(piece, row, (columns.count, delimiter));
            let at = At::new(of_row, piece, start);
            table.check_cells(&at)?;
            if width > 0 {
                self.unread(&at, known.unread, place + row * width, &mut chunk.features)?;
            } else {
                self.inputs(table, &at, &mut chunk.features)?;
            }
            if !is_read {
                self.others(table, &at, known.label, before, chunk)?;
            }
        }
        Ok(rows as u64)
    }

    /// Puts the inputs of a row in their places of which a bit stands in these words; the first of them has this place.
    fn unread(&mut self, at: &At<'_>, words: &[u32], place: usize, features: &mut Features) -> Result<()> {
        // The parts of a date stand side by side.
        let mut dated = None;
        for (word, first) in words.iter().zip((0..).step_by(WORD)) {
            let mut word = *word;
            while word != 0 {
                let input = first + word.trailing_zeros() as usize;
                word &= word - 1;
                let value = match self.cells[input] {
                    Cell::Number(column) => self.float(at, column)?,
                    Cell::Category(column, category) => self.category(at, category, column)? as f32,
                    Cell::Date(column, parts, part) => {
                        let known = dated.filter(|(of, _)| *of == column);
                        let date =
                            known.map_or_else(|| self.date(at, column, parts), |(_, date)| Ok(date))?;
                        dated = Some((column, date));
                        date[part]
                    }
                };
                if let Features::Floats(floats) = features {
                    floats[place + input] = value;
                }
            }
        }
        Ok(())
    }

    /// Appends the inputs of a row.
    fn inputs(&mut self, table: &CsvTable, at: &At<'_>, features: &mut Features) -> Result<()> {
        let mut categories = 0;
        for run in &table.columns.runs {
            match run {
                Run::Numbers(columns) => self.parse_features(at, columns.clone(), features)?,
                Run::Category(column) => {
                    features.push_whole(self.category(at, categories, *column)?);
                    categories += 1;
                }
                Run::Date(column, parts) => {
                    let date = self.date(at, *column, *parts)?;
                    date[..*parts].iter().for_each(|part| features.push(Value::Float(*part)));
                }
            }
        }
        Ok(())
    }

    /// Parses what a row holds besides inputs.
    fn others(
        &mut self,
        table: &CsvTable,
        at: &At<'_>,
        label: Option<u32>,
        before: u64,
        chunk: &mut Chunk,
    ) -> Result<()> {
        self.check_row_numbers(at, before)?;
        chunk.labels.extend(self.label(at, label)?);
        for column in &table.columns.values {
            chunk.values.push(self.value(at, *column)?);
        }
        chunk.weights.extend(self.weight(at)?);
        chunk.groups.extend(self.group(at)?);
        chunk.times.extend(self.time(at)?);
        let id = table.columns.id.map(|id| String::from_utf8_lossy(at.row.cell(id)).into_owned());
        chunk.ids.extend(id);
        Ok(())
    }

    /// Checks that the columns which were taken for numbers of the rows, or for empty, still are.
    fn check_row_numbers(&self, at: &At<'_>, before: u64) -> Result<()> {
        for (column, why) in &self.table.columns.left_out {
            if *why == Why::Empty && !self.table.dialect.is_missing(at.row.cell(*column)) {
                let expected = "no value, as in the first rows (the column has no name: give it one)";
                return Err(self.table.cell_error(at, *column, expected));
            }
        }
        for (column, first) in &self.table.columns.counted {
            let expected = first + before as f64;
            let text = str::from_utf8(at.row.cell(*column).trim_ascii()).unwrap_or_default();
            if text.parse() != Ok(expected) {
                let name = self
                    .table
                    .names
                    .as_ref()
                    .map_or_else(|| column.to_string(), |names| show_name(names[*column].as_bytes()));
                let question = format!(
                    "is column {name} an input? It counts the rows, but not in row {}: expected {expected}, found {}",
                    at.line(),
                    show(at.row.cell(*column))
                );
                return Err(Error::Undecided { path: at.name().to_owned(), setting: "only", question });
            }
        }
        Ok(())
    }
}
