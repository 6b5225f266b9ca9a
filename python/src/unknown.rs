//! Cells with values that no training row has, by the caller's columns.

use std::collections::BTreeMap;

use tinytrain::data::{Schema, UnknownCells, UnknownKind};

/// Columns with such cells, and their numbers of cells.
pub(crate) type Unknown = Vec<(String, u64)>;

/// Returns the columns that have such cells, by their names or indices, and their numbers of cells.
pub(crate) fn by_column(cells: &UnknownCells, schema: Option<&Schema>) -> Unknown {
    let read = schema.map(Schema::read_columns).unwrap_or_default();
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for kind in [UnknownKind::Category, UnknownKind::MissingCategory, UnknownKind::MissingNumber] {
        for (input, count) in cells.columns(kind) {
            let position =
                schema.and_then(|schema| schema.inputs.get(input)).map_or(input, |column| column.position);
            // All parts of a missing date are missing.
            let of_column = counts.entry(position).or_default();
            *of_column = count.max(*of_column);
        }
    }
    let name = |position: usize| {
        let column = read.iter().find(|column| column.position == position);
        column.and_then(|column| column.name.clone()).unwrap_or_else(|| format!("column {}", position + 1))
    };
    counts.into_iter().map(|(position, count)| (name(position), count)).collect()
}
