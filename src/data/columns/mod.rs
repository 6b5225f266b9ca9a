//! The columns of a table: the inputs, the target, and the schema with which a model finds them in other tables.

pub(crate) mod categories;
pub(crate) mod class_names;
pub(crate) mod classes;
pub(crate) mod codes;
pub(crate) mod groups;
pub(crate) mod identifiers;
pub(crate) mod inputs;
pub(crate) mod label_type;
pub(crate) mod labels;
pub(crate) mod like_training;
pub(crate) mod numbers_as_text;
pub(crate) mod odd_cells;
pub(crate) mod schema;
pub(crate) mod target;
pub(crate) mod time;
pub(crate) mod units;

use std::ops::RangeInclusive;
use std::path::Path;

use self::schema::{Column, Holds, Schema};
use self::time::PARTS;
use self::units::Units;
use crate::data::dialect::{Dialect, Extra, Format, Kind, Sample};
use crate::data::excerpt::{list_some, printable_name, quote};
use crate::error::{Error, Place, Result};

/// Least similarity (Jaro-Winkler) of two names of which one may be a misspelling of the other.
pub(crate) const LIKE: f64 = 0.8;

/// The column of a table that holds the labels, or the columns that hold the values to predict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    /// The target of the model, or else: the only column named label, class, target or y; the only column that holds
    /// text; the first column, if the table has the form of MNIST.
    #[default]
    Auto,
    /// The column with this name, or else with this index, counted from 0, or from the end if it is negative.
    Column(String),
    /// Values to predict, one column each, found like a label by name or index. If the list is empty: the values of the
    /// model, or else the only column named target, y, label or class.
    Values(Vec<String>),
    /// Several labels of 0 or 1 for each row, one column each, found as [`Target::Values`] are, and delivered as values.
    Labels(Vec<String>),
    /// No target: the rows are to be predicted.
    Absent,
}

/// The columns to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The column of the labels.
    pub target: Target,
    /// Whether a target of numbers that are not classes, judged by the first rows, is treated as values to predict.
    pub infer_values: bool,
    /// The only inputs; if empty, all columns except the others named here.
    pub only: Vec<String>,
    /// Columns that are not inputs.
    pub exclude: Vec<String>,
    /// Inputs that are categories, whatever they contain.
    pub categorical: Vec<String>,
    /// Whether a missing cell among the inputs is an error.
    pub refuse_missing: bool,
    /// Whether labels that differ only in case, or in surrounding blanks, are the same label.
    pub fold_labels: bool,
    /// Whether rows without a target are left out.
    pub drop_missing_target: bool,
    /// The column of row weights in the loss; not an input.
    pub weight: Option<String>,
    /// The column of groups, whose rows are held out together or not at all; not an input.
    pub group: Option<String>,
    /// The column of times, by which the last rows are held out; not an input.
    pub time: Option<String>,
    /// The column of identifiers, passed through unchanged for each row.
    pub id: Option<String>,
    /// The schema of the table that a model was trained on, whose inputs are used; the other fields only add to it.
    pub schema: Option<Schema>,
}

/// The columns found in a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Columns {
    pub count: usize,
    /// The columns of the inputs, in their order, and their kinds.
    pub inputs: Vec<(usize, Holds)>,
    pub target: Option<usize>,
    /// Values to predict.
    pub values: Vec<usize>,
    /// Whether the values are labels of 0 or 1.
    pub are_labels: bool,
    /// The values that are numbers with a sign or a unit.
    pub with_units: Vec<(usize, Units)>,
    pub weight: Option<usize>,
    pub group: Option<usize>,
    pub time: Option<usize>,
    pub id: Option<usize>,
    /// Whether labels that differ only in case, or in surrounding blanks, are the same label.
    pub folds_labels: bool,
    /// Whether rows without a target are left out.
    pub drops_missing_target: bool,
    /// Columns of categories that may contain numbers.
    pub categorical: Vec<usize>,
    /// Columns that were ignored automatically.
    pub left_out: Vec<(usize, IgnoredBecause)>,
    /// Columns that were ignored because their values count up, with the value of the first row; all rows must continue
    /// the count.
    pub counted: Vec<(usize, f64)>,
    /// Columns of text that may be meant as numbers.
    pub as_text: Vec<(usize, NumbersAsText)>,
    /// Messages about the interpretation of the table.
    pub notices: Vec<String>,
    /// Inputs that may hold identifiers.
    pub identifiers: Vec<usize>,
    /// The number of different numbers in the first rows of the target, if only their small count made them classes.
    pub few_numbers: Option<usize>,
    /// Whether numbers of the target are classes even if there are more than a few.
    pub means_classes: bool,
}

/// Why a column was ignored automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredBecause {
    /// The column holds row numbers.
    NumbersRows,
    /// The texts differ in nearly all of the first rows.
    DifferentTexts,
    /// The column has neither a name nor a value.
    Empty,
    /// The column has a name, but no value in any row.
    Missing,
}

impl IgnoredBecause {
    /// The name of the reason in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            IgnoredBecause::NumbersRows => "numbers the rows",
            IgnoredBecause::DifferentTexts => "different texts",
            IgnoredBecause::Empty => "no name and no value",
            IgnoredBecause::Missing => "no value",
        }
    }
}

/// A column of text that may be meant as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumbersAsText {
    /// The name of the column, or else its index.
    pub column: String,
    /// A cell of the column, as shown in messages.
    pub cell: String,
    /// The decimal mark with which the cells are numbers, if it is the only obstacle.
    pub decimal: Option<char>,
    /// Whether the cells are dates with the year last.
    pub are_dates: bool,
    /// The sign or unit of most cells.
    pub(crate) unit: String,
}

/// A column that was ignored automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredColumn {
    /// The name of the column, or else its index.
    pub column: String,
    /// The reason.
    pub why: IgnoredBecause,
}

/// The first rows of a table, in which its columns are found.
pub(crate) struct Header<'a> {
    pub path: &'a Path,
    /// The names of the columns.
    pub names: Option<&'a [String]>,
    pub count: usize,
    pub dialect: Dialect,
    pub sample: &'a Sample,
    /// The additional cell of the rows, which the header lacks.
    pub extra: Option<Extra>,
    /// Facts from the rows after the first rows.
    pub later: &'a LaterRows,
}

/// Facts about a table's columns from the rows after the first rows.
#[derive(Debug, Default)]
pub(crate) struct LaterRows {
    /// The first value of each column whose values are all missing in the first rows.
    pub values: Vec<(usize, Kind)>,
    /// Columns of whole numbers that are codes.
    pub codes: Vec<usize>,
    /// Columns of text and numbers, which are categories.
    pub mixed: Vec<usize>,
    /// Columns of text and numbers in which nearly all cells are different.
    pub different: Vec<usize>,
}

impl Columns {
    /// Whether both sets of columns parse the cells of a row alike.
    pub(crate) fn parse_like(&self, other: &Self) -> bool {
        self.inputs == other.inputs
            && (self.target, &self.values, &self.with_units)
                == (other.target, &other.values, &other.with_units)
            && self.counted == other.counted
    }

    /// The number of inputs.
    pub(crate) fn width(&self) -> usize {
        self.inputs.iter().map(|(_, holds)| holds.width()).sum()
    }

    /// The schema of the columns, which a model stores.
    pub(crate) fn schema(&self, names: Option<&[String]>, format: &Format) -> Schema {
        let column = |position: usize| Column { name: names.map(|names| names[position].clone()), position };
        let (mut inputs, mut dates, mut categories) = (Vec::new(), Vec::new(), Vec::new());
        for (position, holds) in &self.inputs {
            match holds {
                Holds::Dates(parts) => dates.push((inputs.len(), *parts)),
                Holds::Categories => categories.push(inputs.len()),
                Holds::Numbers => {}
            }
            let column = column(*position);
            let part = |part: &str| Column {
                name: column.name.as_ref().map(|name| format!("{name}.{part}")),
                ..column
            };
            match holds {
                Holds::Dates(parts) => inputs.extend(PARTS[..*parts].iter().map(|of| part(of))),
                _ => inputs.push(column),
            }
        }
        Schema {
            columns: self.count,
            inputs,
            dates,
            zones: Vec::new(),
            target: self.target.map(column),
            values: self.values.iter().copied().map(column).collect(),
            are_labels: self.are_labels,
            weight: self.weight.map(column),
            folds_labels: self.folds_labels,
            drops_missing_target: self.drops_missing_target,
            categories,
            missing: format.missing.clone(),
            replaces_missing: format.replaces_missing,
            decimal: format.decimal,
        }
    }
}

impl Header<'_> {
    /// Finds the requested columns.
    pub(crate) fn columns(&self, wanted: &Selection) -> Result<Columns> {
        // All columns of a table that is rewritten need a name.
        let is_raw = wanted.schema.is_none() && wanted.target == Target::Absent;
        self.refuse_duplicates(|column| !is_raw && self.is_unused(column))?;
        let id = wanted.id.as_deref().map(|id| self.find(id, "a column")).transpose()?;
        let find =
            |name: &Option<String>, what| name.as_deref().map(|name| self.find(name, what)).transpose();
        let weight = match &wanted.schema {
            // Rows to predict have equal weights.
            Some(schema) => schema.weight.as_ref().filter(|_| wanted.target != Target::Absent),
            None => None,
        };
        let weight = match weight.zip(wanted.schema.as_ref()) {
            Some((weight, schema)) => self.position_of(weight, schema),
            None => find(&wanted.weight, "a column of weights")?,
        };
        let (group, time) =
            (find(&wanted.group, "a column of groups")?, find(&wanted.time, "a column of times")?);
        let named = match &wanted.target {
            Target::Column(name) => vec![self.find(name, "a target column")?],
            Target::Values(names) | Target::Labels(names) => self.distinct(names)?,
            Target::Auto | Target::Absent => Vec::new(),
        };
        let mut columns = match &wanted.schema {
            Some(schema) => self.columns_like(schema, &named, &wanted.target)?,
            None => self.choose_inputs(wanted, &named, [weight, group, time])?,
        };
        if wanted.schema.is_some() {
            let others = named.iter().copied().chain(weight).chain(group).chain(time);
            self.refuse_inputs(&columns, others)?;
        }
        columns.with_units =
            columns.values.iter().filter_map(|column| Some((*column, self.units(*column)?))).collect();
        for (column, _) in &columns.with_units {
            let found = self.number_as_text(*column).map_or_else(String::new, |text| text.cell);
            let name = self.names.map_or_else(|| column.to_string(), |names| show_column(&names[*column]));
            columns.notices.push(format!(
                "target {name} holds numbers with a sign or a unit, such as {found}, which are read as plain numbers"
            ));
        }
        if self.extra == Some(Extra::RowNames) {
            let line =
                "each row has one cell more than the header: the first, a name of the row, which is left out";
            columns.notices.push(line.to_owned());
        }
        (columns.id, columns.weight, columns.group, columns.time) = (id, weight, group, time);
        let of_model = |has: fn(&Schema) -> bool| wanted.schema.as_ref().is_some_and(has);
        columns.folds_labels = wanted.fold_labels || of_model(|schema| schema.folds_labels);
        columns.drops_missing_target = wanted.target != Target::Absent
            && (wanted.drop_missing_target || of_model(|schema| schema.drops_missing_target));
        if wanted.target == Target::Absent {
            // The target of the model is not an input either; its cells are ignored.
            (columns.target, columns.values) = (None, Vec::new());
        }
        Ok(columns)
    }

    /// Refuses targets, weights, groups and times that are inputs of a model.
    fn refuse_inputs(&self, columns: &Columns, mut others: impl Iterator<Item = usize>) -> Result<()> {
        let is_input = |other: &usize| columns.inputs.iter().any(|(input, _)| input == other);
        others.find(is_input).map_or(Ok(()), |column| {
            let expected = "targets, weights, groups and times that are no inputs of the model".to_owned();
            Err(self.error(expected, format!("{}, an input", self.shown(column))))
        })
    }

    /// Finds the columns of values to predict, which must be different.
    fn distinct(&self, names: &[String]) -> Result<Vec<usize>> {
        let columns =
            names.iter().map(|name| self.find(name, "a target column")).collect::<Result<Vec<_>>>()?;
        let repeated = (1..columns.len()).find(|at| columns[..*at].contains(&columns[*at]));
        let Some(at) = repeated else { return Ok(columns) };
        let found = format!("{} twice", quote(names[at].trim_ascii().as_bytes()));
        Err(self.error("different target columns".to_owned(), found))
    }

    /// The cells of a column in the rows of the sample, except the header and rows of a different length.
    pub(crate) fn cells(&self, column: usize) -> impl Iterator<Item = &[u8]> {
        let rows = self.sample.rows.iter().skip(usize::from(self.names.is_some()));
        rows.filter(|row| row.len() == self.count).filter_map(move |row| row.get(column))
    }

    /// The cells of a column that are not missing, in the same rows.
    pub(crate) fn present(&self, column: usize) -> impl Iterator<Item = &[u8]> {
        self.cells(column).filter(|cell| !self.dialect.is_missing(cell))
    }

    /// The kinds of a column's cells, in the same rows.
    pub(crate) fn kinds(&self, column: usize) -> impl Iterator<Item = Kind> {
        let kinds = self.cells(column).map(|cell| self.dialect.kind(cell));
        kinds
            .chain(self.later.values.iter().filter(move |(later, _)| *later == column).map(|(_, kind)| *kind))
    }

    /// Finds a range of columns, `first..last`, or a single column.
    pub(crate) fn find_range(&self, wanted: &str, what: &str) -> Result<RangeInclusive<usize>> {
        let is_name = self.names.is_some_and(|names| names.iter().any(|name| name == wanted.trim_ascii()));
        let ends = wanted.split_once("..").filter(|_| !is_name);
        match ends.map(|(first, last)| Ok::<_, Error>((self.find(first, what)?, self.find(last, what)?))) {
            Some(ends) => ends.map(|(first, last)| first..=last),
            None => self.find(wanted, what).map(|column| column..=column),
        }
    }

    /// Finds a column by its name, or else by its index.
    pub(crate) fn find(&self, wanted: &str, what: &str) -> Result<usize> {
        let wanted = wanted.trim_ascii();
        if let Some(column) = self.names.and_then(|names| names.iter().position(|name| name == wanted)) {
            return Ok(column);
        }
        let index = wanted.parse::<isize>().ok();
        let index = index.map(|index| if index < 0 { index + self.count as isize } else { index });
        match index.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < self.count) {
            Some(column) => Ok(column),
            None => {
                let names: Vec<&str> = wanted.split(',').map(str::trim_ascii).collect();
                let is_list = names.len() > 1 && names.iter().all(|name| self.find(name, what).is_ok());
                let hint = if is_list {
                    ", a name; separate several by blanks".to_owned()
                } else {
                    self.similar(wanted).map_or_else(String::new, |name| {
                        format!(" (did you mean {}?)", quote(name.as_bytes()))
                    })
                };
                Err(self.error(format!("{what} {}{hint}", quote(wanted.as_bytes())), self.list()))
            }
        }
    }

    /// The name of the column most similar to a wanted name, if it is similar enough.
    fn similar(&self, wanted: &str) -> Option<&String> {
        let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
        let names = self.names?.iter().map(|name| (likeness(name), name));
        names.filter(|(like, _)| *like > LIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
    }

    /// Whether a column has neither a name nor a value, as caused by a delimiter at the end of every row.
    pub(crate) fn is_unused(&self, column: usize) -> bool {
        self.names.is_some_and(|names| names[column].is_empty())
            && self.kinds(column).all(|kind| kind == Kind::Missing)
    }

    fn refuse_duplicates(&self, is_spared: impl Fn(usize) -> bool) -> Result<()> {
        let Some(names) = self.names else { return Ok(()) };
        let mut sorted: Vec<(&String, usize)> = names
            .iter()
            .zip(1..)
            .filter(|(name, column)| !(name.is_empty() && is_spared(column - 1)))
            .collect();
        sorted.sort();
        let repeated = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0);
        let Some([(name, first), (_, second)]) = repeated else { return Ok(()) };
        let name = if name.is_empty() { "columns without a name" } else { &quote(name.as_bytes()) };
        let found = format!("{name} twice, in columns {first} and {second}");
        Err(self.error("different names of columns".to_owned(), found))
    }

    /// The columns, as listed in messages.
    pub(crate) fn list(&self) -> String {
        match self.names {
            Some(names) => format!("the columns {}", list_some(names.iter().map(|name| show_column(name)))),
            None => format!("the columns 0 to {}, without names", self.count - 1),
        }
    }

    pub(crate) fn error(&self, expected: String, found: String) -> Error {
        let place = if self.names.is_some() { Place::row(1) } else { Place::default() };
        Error::data(self.path, place, expected, found)
    }

    pub(crate) fn undecided(&self, setting: &'static str, question: String) -> Error {
        Error::Undecided { path: self.path.to_owned(), setting, question }
    }
}

pub(crate) fn show_column(name: &str) -> String {
    if name.is_empty() { "(no name)".to_owned() } else { printable_name(name.as_bytes()) }
}
