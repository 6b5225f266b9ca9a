//! Checks of a model file's contents: the columns of its table, their encoding, and the input layer that takes them.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use super::{InputColumn, InputLayer};
use crate::data::{ColumnEncoding, Encoding, NumericScaling, Schema, Transform};

/// The content that a reader expects, and the text found instead.
pub(super) type Fault = (String, String);

/// Checks the columns of a table against the numbers of inputs and outputs of a network.
pub(super) fn check_schema(schema: &Schema, inputs: usize, outputs: usize) -> Result<(), Fault> {
    let Schema { columns, inputs: read, target, values, weight, dates, zones, .. } = schema;
    let positions: Vec<usize> = read.iter().map(|column| column.position).collect();
    let expected = format!("{inputs} inputs in a table of {columns} columns");
    expect(positions.len() == inputs, expected, positions.len())?;
    let all = read.iter().chain(target).chain(values).chain(weight);
    for column in all {
        expect(column.position < *columns, format!("one of {columns} columns"), column)?;
    }
    // All parts of a date come from the same column.
    let are_parts = |(first, parts): &(usize, usize)| {
        let date = first.checked_add(*parts).and_then(|end| positions.get(*first..end));
        (3..=4).contains(parts) && date.is_some_and(|date| date.iter().all(|position| *position == date[0]))
    };
    let ascend = dates.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
    expect(dates.iter().all(are_parts) && ascend, "dates of three or four inputs each", dates)?;
    let are_dates = zones.iter().all(|(first, _)| dates.iter().any(|(date, _)| date == first));
    expect(are_dates, "time_zones of dates", zones)?;
    let columns = schema.read_columns();
    let positions: Vec<usize> = columns.iter().map(|column| column.position).collect();
    expect(are_different(&positions), "inputs from different columns", positions)?;
    // A part of a date may have the name of another column.
    let names: Vec<&String> = columns.iter().filter_map(|column| column.name.as_ref()).collect();
    let is_whole = names.is_empty() || names.len() == columns.len();
    expect(is_whole && are_different(&names), "different names for all inputs", names)?;
    let positions: Vec<usize> = values.iter().map(|column| column.position).collect();
    let are_all = values.is_empty() || (values.len() == outputs && are_different(&positions));
    expect(are_all, format!("{outputs} different columns of values"), positions)?;
    let names: Vec<&String> = values.iter().filter_map(|column| column.name.as_ref()).collect();
    expect(are_different(&names), "different names of values", names)
}

/// Checks the numbers of an encoding.
pub(super) fn check_encoding(encoding: &Encoding) -> Result<(), Fault> {
    expect(!encoding.columns.is_empty(), "an encoding of columns", "none")?;
    let mut quantiles = None;
    for code in &encoding.columns {
        let ColumnEncoding::Number { map, fill, .. } = code else { continue };
        let numbers = match map {
            NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width } => {
                expect(*width >= 0.0, "widths of 0 or more", width)?;
                &[*center, *width][..]
            }
            NumericScaling::Normal(of_column) => {
                let is_first = quantiles.is_none_or(|count| count == of_column.len());
                quantiles = Some(of_column.len());
                let ascend = of_column.is_sorted() && !of_column.is_empty();
                expect(is_first && ascend, "quantiles in ascending order", of_column)?;
                of_column
            }
        };
        for value in numbers.iter().chain([fill]) {
            expect(is_of_floats(*value), "an encoding within the range of 32-bit floats", value)?;
        }
    }
    Ok(())
}

/// Whether a network, without an input layer or with this one, accepts the inputs of a transform: numbered categories
/// need an embedding with one row per category, or one one-hot input per category.
pub(super) fn fits(layer: Option<&InputLayer>, transform: &Transform) -> bool {
    let Transform::Columns(encoding @ Encoding { is_numbered: true, .. }) = transform else { return true };
    let mut columns = layer.map_or(&[][..], InputLayer::columns).iter();
    let is_number =
        |column: Option<&InputColumn>| matches!(column, Some(InputColumn::Number | InputColumn::Periodic));
    let is_taken = |code: &ColumnEncoding| match (code, columns.next()) {
        (
            ColumnEncoding::Category { .. },
            Some(InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. }),
        ) => !code.is_binary() && *categories == code.inputs(),
        (ColumnEncoding::Category { .. }, column) => code.is_binary() && is_number(column),
        (ColumnEncoding::Number { has_indicator, .. }, column) => {
            is_number(column) && (!has_indicator || is_number(columns.next()))
        }
    };
    encoding.columns.iter().all(is_taken) && columns.next().is_none()
}

/// Whether a number can be derived from the numbers of a table, which are 32-bit floats: their differences are at most
/// twice as great, and a mean of the least numbers is not much closer to 0.
pub(super) fn is_of_floats(value: f64) -> bool {
    const LEAST: f64 = 1e-48;
    value == 0.0 || (LEAST..=2.0 * f64::from(f32::MAX)).contains(&value.abs())
}

fn are_different<T: Eq + Hash>(items: &[T]) -> bool {
    items.iter().collect::<HashSet<&T>>().len() == items.len()
}

/// Returns a fault unless a condition holds.
pub(super) fn expect(holds: bool, expected: impl Into<String>, found: impl Debug) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err((expected.into(), format!("{found:?}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;

    #[test]
    fn a_layer_takes_the_categories_of_its_encoding() {
        use InputColumn::{Embedding, Number, OneHot, Periodic};
        let map = NumericScaling::Affine { center: 0.0, width: 1.0 };
        let category = |count: usize, has_missing| ColumnEncoding::Category {
            categories: Classes::numbered(count),
            has_missing,
        };
        let columns = vec![
            ColumnEncoding::Number { map, fill: 0.0, has_indicator: true },
            category(2, false),
            category(3, true),
            category(2, true),
        ];
        let transform = Transform::Columns(Encoding { columns, is_numbered: true });
        let right =
            [Periodic, Number, Number, Embedding { categories: 4, size: 2 }, OneHot { categories: 3 }];
        let fits = |columns: &[InputColumn]| {
            super::fits(Some(&InputLayer::new(columns.to_vec(), false).unwrap()), &transform)
        };
        assert!(fits(&right) && !super::fits(None, &transform));
        assert!(!fits(&right[..4]) && !fits(&[&right[..], &[Number]].concat()));
        for (place, column) in [
            (0, OneHot { categories: 1 }),
            (1, OneHot { categories: 1 }),
            (2, OneHot { categories: 2 }),
            (3, Embedding { categories: 3, size: 2 }),
            (3, Number),
            (4, OneHot { categories: 2 }),
        ] {
            let mut wrong = right;
            wrong[place] = column;
            assert!(!fits(&wrong), "{place}: {column}");
        }
    }
}
