//! Cells with values that no training row holds, by the columns of the caller.

use std::collections::BTreeMap;

use tinytrain::data::{Schema, UnknownCells, UnknownKind};

/// Columns with such cells, and how many each has.
pub(crate) type Unknown = Vec<(String, u64)>;

/// The columns that have such cells, by their names or places, and how many each has.
pub(crate) fn by_column(cells: &UnknownCells, schema: Option<&Schema>) -> Unknown {
    let read = schema.map(Schema::read_columns).unwrap_or_default();
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for kind in [UnknownKind::Category, UnknownKind::MissingCategory, UnknownKind::MissingNumber] {
        for (input, count) in cells.columns(kind) {
            let position =
                schema.and_then(|schema| schema.inputs.get(input)).map_or(input, |column| column.position);
            // A date is missing with all of its parts.
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
