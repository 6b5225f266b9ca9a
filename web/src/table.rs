//! A table that somebody has dropped.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tinytrain::data::{Column, ColumnSummary, Contents, Format, Selection, Target};
use tinytrain::{Error, ReadOptions, Reader};
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library, text_of, thrown};
use crate::settings;

/// The name of a table in messages, unless the page says another one.
const NAME: &str = "table.csv";

/// How a table is read, by the program's names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    /// The file's name, for messages.
    name: Option<String>,
    /// Columns to predict.
    target: Vec<String>,
    /// `auto`, `classification` or `regression`.
    task: Option<String>,
    weight: Option<String>,
    exclude: Vec<String>,
    include: Vec<String>,
    categorical: Vec<String>,
    fold_labels: bool,
    drop_missing_target: bool,
    header: Option<bool>,
    delimiter: Option<char>,
    decimal: Option<char>,
    missing_marker: Vec<String>,
    group: Option<String>,
    time: Option<String>,
}

/// A table, read wholly, whose columns are understood.
#[wasm_bindgen]
pub struct Table {
    reader: Reader,
    /// Why it cannot be trained on: nothing says which column is the target.
    undecided: Option<String>,
}

#[wasm_bindgen]
impl Table {
    /// Reads a table: plain CSV, or packed by gzip or zstd. `options` is JSON with the program's names, and the `name` of the file. A
    /// table of which nothing says which column is the target is there to be looked at alone.
    #[wasm_bindgen(constructor)]
    pub fn new(csv: Vec<u8>, options: &str) -> Result<Table> {
        let options: Options = settings::options(options)?;
        let name = options.name.clone().unwrap_or_else(|| NAME.to_owned());
        let (bytes, mut read) = (Arc::<[u8]>::from(csv), options.read_options()?);
        let open = |read: &ReadOptions| Reader::from_bytes(Path::new(&name), Arc::clone(&bytes), read);
        match open(&read) {
            Err(error @ Error::Undecided { setting: "target", .. }) => {
                read.columns.target = Target::Absent;
                let reader = open(&read).map_err(of_library)?;
                Ok(Table { reader, undecided: Some(text_of(&error)) })
            }
            read => Ok(Table { reader: read.map_err(of_library)?, undecided: None }),
        }
    }

    /// What was understood of the table, as JSON: rows, columns and what they hold, the target, its classes.
    pub fn understood(&self) -> String {
        let reader = &self.reader;
        let mut rows = vec![0u64; reader.classes().len()];
        reader.labels().iter().for_each(|label| rows[*label as usize] += 1);
        let classes = reader.classes().names().iter().zip(rows);
        let targets = reader.schema().into_iter().flat_map(|schema| schema.targets());
        let left_out = reader.left_out().iter();
        let left_out = left_out.map(|column| json!({ "column": column.column, "why": column.why.name() }));
        json!({
            "rows": reader.rows(),
            "image": reader.image().map(|form| [form.height, form.width]),
            "task": match reader.values() {
                _ if self.undecided.is_some() => "unknown",
                0 => "classification",
                _ => "regression",
            },
            "undecided": self.undecided,
            "targets": targets.map(name_of).collect::<Vec<_>>(),
            "classes": classes.map(|(name, rows)| json!({ "name": name, "rows": rows })).collect::<Value>(),
            "columns": reader.summaries().iter().map(of_column).collect::<Value>(),
            "left_out": left_out.collect::<Value>(),
            "identifiers": reader.identifiers(),
            "mixed_columns": reader.mixed_columns().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "dropped_rows": reader.dropped_rows(),
        })
        .to_string()
    }
}

impl Table {
    /// A reader of all rows.
    ///
    /// # Errors
    /// Where nothing says which column is the target.
    pub fn reader(&mut self) -> Result<Reader> {
        if let Some(text) = &self.undecided {
            return Err(thrown(text));
        }
        self.reader.copied().map_err(of_library)
    }
}

impl Options {
    fn read_options(&self) -> Result<ReadOptions> {
        let byte = |mark: Option<char>, name: &str| {
            let byte = mark
                .map(|mark| u8::try_from(mark).ok().filter(u8::is_ascii))
                .map(|byte| byte.ok_or_else(|| thrown(&format!("{name}: expected a character of ASCII"))));
            byte.transpose()
        };
        let target = match (self.task.as_deref(), &self.target[..]) {
            (Some("regression"), names) | (_, names @ [_, _, ..]) => Target::Values(names.to_vec()),
            (None | Some("auto" | "classification"), []) => Target::Auto,
            (None | Some("auto" | "classification"), [name]) => Target::Column(name.clone()),
            _ => return Err(thrown("task: expected auto, classification or regression")),
        };
        let columns = Selection {
            target,
            infer_values: matches!(self.task.as_deref(), None | Some("auto")),
            weight: self.weight.clone(),
            only: self.include.clone(),
            exclude: self.exclude.clone(),
            categorical: self.categorical.clone(),
            fold_labels: self.fold_labels,
            drop_missing_target: self.drop_missing_target,
            group: self.group.clone(),
            time: self.time.clone(),
            ..Selection::default()
        };
        let format = Format {
            header: self.header,
            delimiter: byte(self.delimiter, "delimiter")?,
            decimal: byte(self.decimal, "decimal")?,
            missing: self.missing_marker.clone(),
            ..Format::default()
        };
        Ok(ReadOptions { columns, format, read_all: true, ..ReadOptions::default() })
    }
}

/// The name of a column, or its place where it has none.
pub fn name_of(column: &Column) -> String {
    column.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| column.position.to_string())
}

fn of_column(summary: &ColumnSummary) -> Value {
    let holds = match &summary.contents {
        Contents::Numbers { least, median, greatest } => {
            json!({ "type": "number", "least": least, "median": median, "greatest": greatest })
        }
        Contents::Categories(categories) => {
            let list = categories.iter().map(|(name, rows)| json!({ "name": name, "rows": rows }));
            json!({ "type": "categories", "categories": list.collect::<Value>() })
        }
    };
    let mut object = json!({
        "name": name_of(&summary.column),
        "missing": summary.missing,
        "distinct": summary.distinct,
    });
    if let (Value::Object(object), Value::Object(holds)) = (&mut object, holds) {
        object.extend(holds);
    }
    object
}
