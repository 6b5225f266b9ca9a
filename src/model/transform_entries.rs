//! How inputs are made from the values of a row, as tensors and metadata of a model file.
//!
//! `encoding` in the metadata lists the columns: `{"number": "affine" or "normal", "missing": ...}` or `{"categories":
//! [...], "missing": ...}`, where `missing` says whether there is one more input for missing values. The numbers are
//! tensors of f64, one for each column of numbers: `input_fill`, and `input_center` and `input_width` or, in rows,
//! `input_quantiles`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::data::{Classes, Code, Encoding, Map, Transform};

const SCALING: &str = "input_scaling";
const ENCODING: &str = "encoding";

/// Metadata keys.
pub(super) const KEYS: [&str; 2] = [SCALING, ENCODING];

const FILL: &str = "input_fill";
const CENTER: &str = "input_center";
const WIDTH: &str = "input_width";
const QUANTILES: &str = "input_quantiles";

/// Tensors of the first versions, which knew standardised columns.
const MEAN: &str = "input_mean";
const DEVIATION: &str = "input_deviation";

/// A tensor of f64 with its name and shape.
pub(super) type Tensor = (&'static str, Vec<usize>, Vec<f64>);

/// What is expected and what is found, where a file cannot be read.
pub(super) type Fault = (String, String);

/// The metadata.
pub(super) fn entries(transform: &Transform) -> Vec<(&'static str, String)> {
    let mut entries = vec![(SCALING, transform.to_string())];
    if let Transform::Columns(encoding) = transform {
        let column = |code: &Code| match code {
            Code::Number { map: Map::Affine { .. }, has_indicator, .. } => {
                json!({ "number": "affine", "missing": has_indicator })
            }
            Code::Number { map: Map::Normal(_), has_indicator, .. } => {
                json!({ "number": "normal", "missing": has_indicator })
            }
            Code::Category { categories, has_missing } => {
                json!({ "categories": categories.names(), "missing": has_missing })
            }
        };
        entries.push((ENCODING, encoding.columns.iter().map(column).collect::<Value>().to_string()));
    }
    entries
}

/// The tensors.
pub(super) fn tensors(transform: &Transform) -> Vec<Tensor> {
    let Transform::Columns(Encoding { columns }) = transform else { return Vec::new() };
    let (mut fills, mut centers, mut widths, mut quantiles) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for code in columns {
        let Code::Number { map, fill, .. } = code else { continue };
        fills.push(*fill);
        match map {
            Map::Affine { center, width } => {
                centers.push(*center);
                widths.push(*width);
            }
            Map::Normal(of_column) => {
                rows += 1;
                quantiles.extend(of_column);
            }
        }
    }
    let flat = |name, values: Vec<f64>| (name, vec![values.len()], values);
    let matrix = (QUANTILES, vec![rows, quantiles.len() / rows.max(1)], quantiles);
    let all = [flat(FILL, fills), flat(CENTER, centers), flat(WIDTH, widths), matrix];
    all.into_iter().filter(|(_, _, values)| !values.is_empty()).collect()
}

/// Reads it from metadata and the tensors that `tensor` knows by name, with their shapes; also returns how many tensors it
/// took. `inputs` is how many a network has.
pub(super) fn read(
    metadata: &BTreeMap<String, String>,
    inputs: usize,
    tensor: impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<(Transform, usize), Fault> {
    let scaling = metadata.get(SCALING).map(String::as_str);
    let (transform, count) = match scaling {
        Some("1/255") => (Transform::Bytes, 0),
        Some("1") => (Transform::None, 0),
        Some("standard") => (Transform::Columns(standard(inputs, &tensor)?), 2),
        Some("columns") => {
            let transform = Transform::Columns(encoding(metadata, &tensor)?);
            let count = tensors(&transform).len();
            (transform, count)
        }
        found => {
            let found = found.map_or_else(|| "none".to_owned(), |found| format!("{found:?}"));
            return Err(("input scaling 1/255, 1, standard or columns".to_owned(), found));
        }
    };
    match &transform {
        Transform::Columns(encoding) if encoding.inputs() != inputs => {
            Err((format!("{inputs} inputs in its encoding"), encoding.inputs().to_string()))
        }
        _ => Ok((transform, count)),
    }
}

/// Standardised columns as the first versions wrote them.
fn standard(
    inputs: usize,
    tensor: &impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<Encoding, Fault> {
    let (means, deviations) = (row(MEAN, inputs, tensor)?, row(DEVIATION, inputs, tensor)?);
    if let Some(deviation) = deviations.iter().find(|deviation| **deviation <= 0.0) {
        return Err(("deviations above 0".to_owned(), deviation.to_string()));
    }
    let code = |(center, width): (f64, f64)| {
        let map = Map::Affine { center, width };
        Code::Number { map, fill: center, has_indicator: false }
    };
    Ok(Encoding { columns: means.into_iter().zip(deviations).map(code).collect() })
}

fn encoding(
    metadata: &BTreeMap<String, String>,
    tensor: &impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<Encoding, Fault> {
    let found = metadata.get(ENCODING);
    let bad = || ("an encoding of columns in its metadata".to_owned(), format!("{found:?}"));
    let columns: Vec<Value> = found.and_then(|text| serde_json::from_str(text).ok()).ok_or_else(bad)?;
    let is = |column: &Value, kind: &str| column["number"] == kind;
    let affine = columns.iter().filter(|column| is(column, "affine")).count();
    let normal = columns.iter().filter(|column| is(column, "normal")).count();
    let mut fills = row(FILL, affine + normal, tensor)?.into_iter();
    let (centers, widths) = (row(CENTER, affine, tensor)?, row(WIDTH, affine, tensor)?);
    if let Some(width) = widths.iter().find(|width| **width < 0.0) {
        return Err(("widths of 0 or more".to_owned(), width.to_string()));
    }
    let mut affine = centers.into_iter().zip(widths).map(|(center, width)| Map::Affine { center, width });
    let mut normal = quantiles(normal, tensor)?.into_iter().map(Map::Normal);
    let code = |column: &Value| {
        let missing = column["missing"].as_bool()?;
        let map = match column["number"].as_str() {
            Some("affine") => affine.next()?,
            Some("normal") => normal.next()?,
            Some(_) => return None,
            None => {
                let names: Vec<String> = serde_json::from_value(column["categories"].clone()).ok()?;
                return Some(Code::Category { categories: Classes::named(names)?, has_missing: missing });
            }
        };
        Some(Code::Number { map, fill: fills.next()?, has_indicator: missing })
    };
    let columns = columns.iter().map(code).collect::<Option<Vec<Code>>>().filter(|codes| !codes.is_empty());
    Ok(Encoding { columns: columns.ok_or_else(bad)? })
}

/// So many numbers, or nothing of no numbers.
fn row(
    name: &str,
    count: usize,
    tensor: &impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<Vec<f64>, Fault> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match tensor(name)? {
        (shape, values) if shape == [count] => Ok(values),
        (shape, _) => Err((format!("{name} of {count} finite f64"), format!("shape {shape:?}"))),
    }
}

fn quantiles(
    count: usize,
    tensor: &impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<Vec<Vec<f64>>, Fault> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let (shape, values) = tensor(QUANTILES)?;
    match shape[..] {
        [rows, columns] if rows == count && columns > 0 => {
            let rows: Vec<Vec<f64>> = values.chunks_exact(columns).map(<[f64]>::to_vec).collect();
            if rows.iter().all(|row| row.is_sorted()) {
                return Ok(rows);
            }
            Err((format!("{QUANTILES} in ascending order"), "others".to_owned()))
        }
        _ => Err((format!("{QUANTILES} of {count} rows"), format!("shape {shape:?}"))),
    }
}
