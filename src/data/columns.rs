//! The columns of a table: which are inputs, which is the target, and what a model must know to find them again.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use ::csv::ByteRecord;

use super::dialect::{Dialect, Kind, Sample};
use super::number::{show, some};
use super::target::MNIST_COLUMNS;
use crate::error::Place;
use crate::{Error, Result};

/// Names of a column that numbers the rows, where its values are different whole numbers.
const ROW_NUMBERS: [&str; 6] = ["", "unnamed: 0", "index", "id", "rownames", "row"];

/// Rows from which on a column that counts up is taken for numbers of the rows.
const COUNTED_ROWS: usize = 8;

/// The column of a table that holds the labels, or those that hold the values to predict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    /// The one of the model, or else: the only one named label, class, target or y; the only one that holds text; the
    /// first one where the table has the form of MNIST.
    #[default]
    Auto,
    /// The one with this name; where there is none, the one with this index, counted from 0, or from the end if it is
    /// negative.
    Column(String),
    /// Values to predict, one column for each: found like a label, by name or index. Those of the model, or else the only
    /// one named target, y, label or class, if none is said.
    Values(Vec<String>),
    /// None: rows are to be predicted.
    Absent,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, where the table has a header.
    pub name: Option<String>,
    /// Where it stands, counted from 0.
    pub position: usize,
}

/// What must be known of a training table to read others like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Columns of a row.
    pub columns: usize,
    /// The inputs, in the order in which the network takes them.
    pub inputs: Vec<Column>,
    /// The labels.
    pub target: Option<Column>,
    /// The values to predict, in the order of the network's outputs.
    pub values: Vec<Column>,
}

/// Which columns a reader reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Where the labels stand.
    pub target: Target,
    /// The only inputs; if empty, all columns but the others named here.
    pub only: Vec<String>,
    /// No inputs.
    pub exclude: Vec<String>,
    /// How much each row counts in the loss; no input.
    pub weight: Option<String>,
    /// Is handed on as it is, row by row.
    pub id: Option<String>,
    /// The table that a model was trained on: its inputs are looked for, all else here only adds to it.
    pub schema: Option<Schema>,
}

/// What was found of a table's columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Columns {
    pub count: usize,
    /// Inputs that stand side by side, in the order of the inputs.
    pub runs: Vec<Range<usize>>,
    pub target: Option<usize>,
    /// Values to predict.
    pub values: Vec<usize>,
    pub weight: Option<usize>,
    pub id: Option<usize>,
    /// Columns that only number the rows, and so are no inputs.
    pub row_numbers: Vec<usize>,
    /// Those of them that are told from their values alone, with the value of the first row: they must count up to the
    /// end.
    pub counted: Vec<(usize, f64)>,
}

/// Why a column is taken for numbers of the rows.
enum Numbers {
    /// It is called so, and all values are different.
    ByName,
    /// Its values count up from here.
    From(f64),
}

/// A table of which the first rows are known.
pub(super) struct Header<'a> {
    pub path: &'a Path,
    /// The names of the columns.
    pub names: Option<&'a [String]>,
    pub count: usize,
    pub dialect: Dialect,
    pub sample: &'a Sample,
}

impl Schema {
    /// The label's column, or those of the values to predict.
    pub fn targets(&self) -> impl Iterator<Item = &Column> {
        self.target.iter().chain(&self.values)
    }

    /// Whether these names are those of the inputs, and perhaps others.
    pub(super) fn is_named_in(&self, names: &[String]) -> bool {
        let names: HashSet<&String> = names.iter().collect();
        self.inputs.iter().all(|input| input.name.as_ref().is_some_and(|name| names.contains(name)))
    }
}

impl Columns {
    /// How many inputs there are.
    pub(super) fn inputs(&self) -> usize {
        self.runs.iter().map(ExactSizeIterator::len).sum()
    }

    /// What a model must know of them.
    pub(super) fn schema(&self, names: Option<&[String]>) -> Schema {
        let column = |position: usize| Column { name: names.map(|names| names[position].clone()), position };
        Schema {
            columns: self.count,
            inputs: self.runs.iter().cloned().flatten().map(column).collect(),
            target: self.target.map(column),
            values: self.values.iter().copied().map(column).collect(),
        }
    }
}

impl Header<'_> {
    /// Finds the columns that are asked for.
    pub(super) fn columns(&self, wanted: &Selection) -> Result<Columns> {
        self.refuse_duplicates()?;
        let id = wanted.id.as_deref().map(|id| self.find(id, "a column")).transpose()?;
        let weight =
            wanted.weight.as_deref().map(|name| self.find(name, "a column of weights")).transpose()?;
        let named = match &wanted.target {
            Target::Column(name) => vec![self.find(name, "a target column")?],
            Target::Values(names) => self.distinct(names)?,
            Target::Auto | Target::Absent => Vec::new(),
        };
        let mut columns = match &wanted.schema {
            Some(schema) => self.known(schema, &named, &wanted.target)?,
            None => self.chosen(wanted, &named, weight)?,
        };
        (columns.id, columns.weight) = (id, weight);
        if wanted.target == Target::Absent {
            // They are no inputs either, but nobody looks at them.
            (columns.target, columns.values) = (None, Vec::new());
        }
        Ok(columns)
    }

    /// The columns of a table like another.
    fn known(&self, schema: &Schema, named: &[usize], wanted: &Target) -> Result<Columns> {
        let names = self
            .names
            .zip(schema.inputs.iter().map(|input| input.name.as_deref()).collect::<Option<Vec<_>>>());
        let (inputs, targets) = match names {
            Some((names, inputs)) => {
                let places: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
                let place = |name: &str| places.get(name).copied();
                let missing: Vec<&str> =
                    inputs.iter().copied().filter(|name| place(name).is_none()).collect();
                if !missing.is_empty() {
                    let missing = some(missing.iter().map(|name| show(name.as_bytes())));
                    let expected = format!("the columns of the training table, {missing} among them");
                    return Err(self.error(expected, self.list()));
                }
                let targets = schema.targets().map(|target| place(target.name.as_deref()?)).collect();
                (inputs.into_iter().filter_map(place).collect(), targets)
            }
            None if self.count == schema.columns => {
                let inputs = schema.inputs.iter().map(|input| input.position).collect();
                (inputs, schema.targets().map(|target| Some(target.position)).collect())
            }
            None if self.count == schema.inputs.len() => {
                ((0..self.count).collect::<Vec<_>>(), schema.targets().map(|_| None).collect())
            }
            None => {
                let expected = format!(
                    "{} columns as in the training table, or its {} inputs alone",
                    schema.columns,
                    schema.inputs.len()
                );
                return Err(self.error(expected, self.count.to_string()));
            }
        };
        let targets: Vec<Option<usize>> =
            if named.is_empty() { targets } else { named.iter().copied().map(Some).collect() };
        let wants = if schema.values.is_empty() { 1 } else { schema.values.len() };
        if targets.iter().flatten().count() != wants && *wanted != Target::Absent {
            let missing = schema.targets().zip(&targets).find(|(_, found)| found.is_none());
            let expected = match missing.and_then(|(target, _)| target.name.as_deref()) {
                Some(name) if schema.values.is_empty() => {
                    format!("labels in the target column {}", show(name.as_bytes()))
                }
                Some(name) => format!("values in the target column {}", show(name.as_bytes())),
                None if schema.values.is_empty() => "a column of labels".to_owned(),
                None => format!("{wants} columns of values to predict"),
            };
            return Err(self.error(expected, format!("none, only {}", self.list())));
        }
        let targets: Vec<usize> = targets.into_iter().flatten().collect();
        let (target, values) = match schema.values.is_empty() {
            true => (targets.first().copied(), Vec::new()),
            false => (None, targets),
        };
        Ok(Columns { count: self.count, runs: runs(&inputs), target, values, ..Columns::default() })
    }

    /// The columns of a table to train on.
    fn chosen(&self, wanted: &Selection, named: &[usize], weight: Option<usize>) -> Result<Columns> {
        let find = |names: &[String], what| {
            names.iter().map(|name| self.find(name, what)).collect::<Result<Vec<_>>>()
        };
        let only = find(&wanted.only, "an input column")?;
        let excluded = find(&wanted.exclude, "a column to leave out")?;
        let targets = match (named, &wanted.target) {
            // The digits of MNIST as a table are no inputs, whether they are looked at or not.
            ([], Target::Absent) => (self.count == MNIST_COLUMNS).then_some(0).into_iter().collect(),
            ([], Target::Values(_)) => vec![self.likely_values(&excluded)?],
            ([], _) => vec![self.likely_target(&excluded)?],
            (named, _) => named.to_vec(),
        };
        let free = |column: &usize| {
            !targets.contains(column) && weight != Some(*column) && !excluded.contains(column)
        };
        let mut counted = Vec::new();
        let mut row_numbers = Vec::new();
        for column in (0..self.count).filter(|column| only.is_empty() && free(column)) {
            match self.numbers_rows(column) {
                Some(Numbers::ByName) => row_numbers.push(column),
                Some(Numbers::From(first)) => {
                    row_numbers.push(column);
                    counted.push((column, first));
                }
                None => {}
            }
        }
        let is_input = |column: &usize| {
            free(column) && !row_numbers.contains(column) && (only.is_empty() || only.contains(column))
        };
        let inputs: Vec<usize> = (0..self.count).filter(is_input).collect();
        if inputs.is_empty() {
            let expected = "a target column and at least one column of numbers";
            let found = match self.count {
                1 => "only one column: no comma, semicolon, tab or | stands in every row".to_owned(),
                _ if !row_numbers.is_empty() => {
                    format!("no other among {}, but numbers of the rows", self.list())
                }
                _ => format!("no other among {}", self.list()),
            };
            return Err(self.error(expected.to_owned(), found));
        }
        let (target, values) = match wanted.target {
            Target::Values(_) => (None, targets),
            _ => (targets.first().copied(), Vec::new()),
        };
        let runs = runs(&inputs);
        Ok(Columns { count: self.count, runs, target, values, row_numbers, counted, ..Columns::default() })
    }

    /// Different columns of values to predict.
    fn distinct(&self, names: &[String]) -> Result<Vec<usize>> {
        let columns =
            names.iter().map(|name| self.find(name, "a target column")).collect::<Result<Vec<_>>>()?;
        let repeated = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at]));
        match repeated {
            Some(at) => {
                let found = format!("{} twice", show(names[at].trim().as_bytes()));
                Err(self.error("different target columns".to_owned(), found))
            }
            None => Ok(columns),
        }
    }

    /// The rows of the sample that are not the header, and are as long as it.
    pub(super) fn data_rows(&self) -> impl Iterator<Item = &ByteRecord> {
        let rows = self.sample.rows.iter().skip(usize::from(self.names.is_some()));
        rows.filter(|row| row.len() == self.count)
    }

    /// What the cells of a column hold in those rows.
    pub(super) fn kinds(&self, column: usize) -> impl Iterator<Item = Kind> {
        self.data_rows().filter_map(move |row| row.get(column)).map(|cell| self.dialect.kind(cell))
    }

    /// Whether a column only numbers the rows: it counts up by 1 from row to row, or has a name for that and a different
    /// whole number in every row.
    fn numbers_rows(&self, column: usize) -> Option<Numbers> {
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
            Some(Numbers::ByName)
        } else {
            (counts_up && values.len() >= COUNTED_ROWS).then_some(Numbers::From(first))
        }
    }

    /// A column by its name, or by its index.
    fn find(&self, wanted: &str, what: &str) -> Result<usize> {
        let wanted = wanted.trim();
        if let Some(column) = self.names.and_then(|names| names.iter().position(|name| name == wanted)) {
            return Ok(column);
        }
        let index = wanted.parse::<isize>().ok();
        let index = index.map(|index| if index < 0 { index + self.count as isize } else { index });
        match index.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < self.count) {
            Some(column) => Ok(column),
            None => Err(self.error(format!("{what} {}", show(wanted.as_bytes())), self.list())),
        }
    }

    fn refuse_duplicates(&self) -> Result<()> {
        let Some(names) = self.names else { return Ok(()) };
        let mut sorted: Vec<(&String, usize)> = names.iter().zip(1..).collect();
        sorted.sort();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let name =
                    if pair[0].0.is_empty() { "columns without a name" } else { &show(pair[0].0.as_bytes()) };
                let found = format!("{name} twice, in columns {} and {}", pair[0].1, pair[1].1);
                Err(self.error("different names of columns".to_owned(), found))
            }
            None => Ok(()),
        }
    }

    /// The columns, for a message.
    pub(super) fn list(&self) -> String {
        match self.names {
            Some(names) => format!("the columns {}", some(names.iter().map(|name| show_column(name)))),
            None => format!("the columns 0 to {}, without names", self.count - 1),
        }
    }

    fn error(&self, expected: String, found: String) -> Error {
        let place = if self.names.is_some() { Place::row(1) } else { Place::default() };
        Error::Data { path: self.path.to_owned(), place, expected, found }
    }

    pub(super) fn undecided(&self, setting: &'static str, question: String) -> Error {
        Error::Undecided { path: self.path.to_owned(), setting, question }
    }
}

fn show_column(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { super::number::show_name(name.as_bytes()) }
}

/// Columns as runs of neighbours, in the same order.
fn runs(columns: &[usize]) -> Vec<Range<usize>> {
    let run = |run: &[usize]| run[0]..run[run.len() - 1] + 1;
    columns.chunk_by(|a, b| *b == a + 1).map(run).collect()
}
