//! Checks of data in memory: matching shapes, and finite numbers.

use ndarray::{ArrayRef2, ArrayView2};

use super::target::TargetData;
use crate::data::MemoryTargets;
use crate::error::{Error, Place, Result};
use crate::memory::room;

/// Returns a place in an array from indices that count from 0.
pub(super) fn at(row: usize, column: Option<usize>) -> Place {
    Place { row: Some(row as u64 + 1), column: column.map(|column| column + 1), name: None }
}

/// Returns the values of an array of this name in row-major order.
pub(super) fn row_by_row(x: &ArrayRef2<f32>, name: &str) -> Result<Vec<f32>> {
    let mut values = room(x.len(), name)?;
    match x.as_slice() {
        Some(x) => values.extend_from_slice(x),
        None => values.extend(x),
    }
    Ok(values)
}

/// Returns the values of an array in row-major order, if it is not empty and all values are finite, or NaN in
/// columns that may have missing values.
pub(super) fn values(
    name: &str,
    x: ArrayView2<'_, f32>,
    may_miss: impl Fn(usize) -> bool,
    found_nan: &str,
) -> Result<Vec<f32>> {
    if x.is_empty() {
        return Err(Error::data(
            name,
            Place::default(),
            "rows and columns",
            format!("an array of shape {:?}", x.shape()),
        ));
    }
    // A test for finite values is faster than finding the place of a wrong one.
    let wrong = (!x.iter().all(|value| value.is_finite())).then(|| {
        let is_wrong = |((_, column), value): &((usize, usize), &f32)| {
            if value.is_nan() { !may_miss(*column) } else { value.is_infinite() }
        };
        x.indexed_iter().find(is_wrong)
    });
    match wrong.flatten() {
        Some(((row, column), value)) => {
            let found = if value.is_nan() { found_nan.to_owned() } else { value.to_string() };
            Err(Error::data(name, at(row, Some(column)), "a finite number", found))
        }
        None => row_by_row(&x, name),
    }
}

/// Checks that weights, if there are any, are non-negative numbers, one for each row.
pub(super) fn check_weights(weights: &[f32], rows: usize, inputs: &str) -> Result<()> {
    if weights.is_empty() {
        return Ok(());
    }
    check_length("weights", weights.len(), "weights", rows, inputs)?;
    let wrong = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0));
    wrong.map_or(Ok(()), |row| {
        Err(Error::data("weights", at(row, None), "a finite number of 0 or more", weights[row].to_string()))
    })
}

/// Checks that there is a target for each row, and that targets are labels or finite numbers.
pub(super) fn check_targets(name: &str, targets: &MemoryTargets, rows: usize, inputs: &str) -> Result<()> {
    match targets {
        MemoryTargets::Labels { texts, numbers } => {
            check_length(name, numbers.len(), "labels", rows, inputs)?;
            let wrong = texts.iter().find(|(text, _)| text.is_empty() || text.contains('\0'));
            wrong.map_or(Ok(()), |(text, row)| {
                Err(Error::data(
                    name,
                    Place::row(*row),
                    "a label, text without NUL bytes",
                    format!("{text:?}"),
                ))
            })
        }
        MemoryTargets::Classes { names, numbers, .. } => {
            check_length(name, numbers.len(), "labels", rows, inputs)?;
            let place = |class: &u32| *class as usize >= names.len();
            let row = numbers.iter().position(place);
            row.map_or(Ok(()), |row| {
                let expected = format!("the number of one of {} classes", names.len());
                Err(Error::data(name, at(row, None), expected, numbers[row].to_string()))
            })
        }
        MemoryTargets::Values { columns: 0, .. } => {
            Err(Error::data(name, Place::default(), "values to predict", "an array without columns"))
        }
        MemoryTargets::Values { columns, values } => {
            check_length(name, values.len() / columns, "rows of values", rows, inputs)?;
            values.iter().position(|value| !value.is_finite()).map_or(Ok(()), |index| {
                let place = at(index / columns, Some(index % columns));
                Err(Error::data(name, place, "a finite number", values[index].to_string()))
            })
        }
    }
}

/// Checks that there is one `what` for each row.
pub(super) fn check_length(name: &str, found: usize, what: &str, rows: usize, inputs: &str) -> Result<()> {
    if found == rows {
        return Ok(());
    }
    let expected = format!("{rows} {what}, one for each row of {inputs}");
    Err(Error::data(name, Place::default(), expected, found.to_string()))
}

/// Checks that targets of held-out rows have the same kind as targets of training rows.
///
/// # Errors
/// [`Error::Data`] for labels instead of values, values instead of labels, and a different number of values.
pub(super) fn check_alike(name: &str, targets: &TargetData, training: &TargetData) -> Result<()> {
    let said = |TargetData(targets): &TargetData| match targets {
        MemoryTargets::Labels { .. } | MemoryTargets::Classes { .. } => "labels".to_owned(),
        MemoryTargets::Values { columns: 1, .. } => "values to predict".to_owned(),
        MemoryTargets::Values { columns, .. } => format!("{columns} values to predict for each row"),
    };
    let (expected, found) = (said(training), said(targets));
    if expected == found {
        return Ok(());
    }
    Err(Error::data(name, Place::default(), format!("{expected}, as for training"), found))
}
