//! Tables: text as it is, or as numbers with the names of categories beside.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::Array;
use crate::data::RawTable;

/// What stands for a missing category.
const MISSING: i32 = -1;

/// Writes a table with commas, decimal points, and empty cells where numbers are missing.
pub(super) fn write_csv(table: &RawTable, to: &mut impl Write) -> io::Result<()> {
    let mut writer = ::csv::Writer::from_writer(to);
    if let Some(names) = table.names() {
        writer.write_record(names)?;
    }
    for row in 0..table.rows() {
        let cells = (0..table.columns()).map(|column| table.cell(row, column));
        writer.write_record(cells.map(String::into_bytes))?;
    }
    writer.flush()
}

/// Each column by its name, or `column` and its index: numbers as they are, NaN where they are missing; text as the index of its
/// category, -1 where it is missing, and the categories, in the order in which they come, as `NAME.categories`.
pub(super) fn arrays(table: &RawTable) -> Vec<(String, Array)> {
    let mut arrays = Vec::new();
    for column in 0..table.columns() {
        let name = name(table, column);
        if table.is_numeric(column) {
            arrays.push((name, Array::Numbers(vec![table.rows()], numbers_of(table, column).collect())));
        } else {
            let (codes, categories) = categories(table, column);
            arrays.push((name.clone(), Array::Codes(codes)));
            arrays.push((format!("{name}.categories"), Array::Texts(categories)));
        }
    }
    arrays
}

/// All columns as numbers, row after row, as [`arrays`] has them; and, as JSON, `columns`, the names of the columns, and
/// `categories`, those of each column of text.
pub(super) fn numbers(table: &RawTable) -> (Vec<f64>, String) {
    let mut named = serde_json::Map::new();
    let width = table.columns();
    let mut values = vec![0.0; table.rows() * width];
    for column in 0..width {
        let places = values.iter_mut().skip(column).step_by(width);
        if table.is_numeric(column) {
            places.zip(numbers_of(table, column)).for_each(|(place, number)| *place = number);
        } else {
            let (codes, categories) = categories(table, column);
            places.zip(codes).for_each(|(place, code)| *place = code.into());
            named.insert(name(table, column), categories.into());
        }
    }
    let names: Vec<String> = (0..table.columns()).map(|column| name(table, column)).collect();
    (values, json!({ "columns": names, "categories": Value::Object(named) }).to_string() + "\n")
}

/// The name of a column, or else `column` and its index, behind which `_` stands as often as others have that name.
fn name(table: &RawTable, column: usize) -> String {
    let names = table.names().unwrap_or_default();
    let mut name = names.get(column).cloned().unwrap_or_default();
    if name.is_empty() {
        name = format!("column{column}");
        while names.contains(&name) {
            name.push('_');
        }
    }
    name
}

fn numbers_of(table: &RawTable, column: usize) -> impl Iterator<Item = f64> {
    (0..table.rows()).map(move |row| table.number(row, column).unwrap_or(f64::NAN))
}

fn categories(table: &RawTable, column: usize) -> (Vec<i32>, Vec<String>) {
    let (mut known, mut names) = (HashMap::new(), Vec::new());
    let codes = (0..table.rows()).map(|row| {
        if table.is_missing(row, column) {
            return MISSING;
        }
        let text = table.cell(row, column).trim().to_owned();
        *known.entry(text).or_insert_with_key(|text| {
            names.push(text.clone());
            names.len() as i32 - 1
        })
    });
    (codes.collect(), names)
}
