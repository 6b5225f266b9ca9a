//! How inputs are made from the values of a row, as tensors and metadata of a model file.
//!
//! `encoding` in the metadata lists the columns: `{"number": "affine", "clipped" or "normal", "missing": ...}` or `{"categories":
//! [...], "missing": ...}`, where `missing` says whether there is one more input for missing values, and `"type": "text"` that
//! categories are compared byte for byte. The numbers are
//! tensors of f64, one for each column of numbers: `input_fill`, and `input_center` and `input_width` or, in rows,
//! `input_quantiles`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::data::{Classes, ColumnEncoding, Encoding, NumericScaling, Transform};

const SCALING: &str = "input_scaling";
const ENCODING: &str = "encoding";
/// What categories become, if not one-hot inputs.
const CATEGORIES: &str = "input_categories";
const NUMBERS: &str = "numbers";

/// Metadata keys.
pub(super) const KEYS: [&str; 3] = [SCALING, ENCODING, CATEGORIES];

const FILL: &str = "input_fill";
const CENTER: &str = "input_center";
const WIDTH: &str = "input_width";
const QUANTILES: &str = "input_quantiles";

/// A tensor of f64 with its name and shape.
pub(super) type Tensor = (&'static str, Vec<usize>, Vec<f64>);

/// What is expected and what is found, where a file cannot be read.
pub(super) type Fault = (String, String);

/// The metadata.
pub(super) fn entries(transform: &Transform) -> Vec<(&'static str, String)> {
    let mut entries = vec![(SCALING, transform.to_string())];
    if let Transform::Columns(encoding) = transform {
        let column = |code: &ColumnEncoding| match code {
            ColumnEncoding::Number { map: NumericScaling::Affine { .. }, has_indicator, .. } => {
                json!({ "number": "affine", "missing": has_indicator })
            }
            ColumnEncoding::Number { map: NumericScaling::Clipped { .. }, has_indicator, .. } => {
                json!({ "number": "clipped", "missing": has_indicator })
            }
            ColumnEncoding::Number { map: NumericScaling::Normal(_), has_indicator, .. } => {
                json!({ "number": "normal", "missing": has_indicator })
            }
            ColumnEncoding::Category { categories, has_missing } => {
                let mut column = json!({ "categories": categories.names(), "missing": has_missing });
                if let Some(label_type) = categories.label_type() {
                    column["type"] = label_type.name().into();
                }
                column
            }
        };
        entries.push((ENCODING, encoding.columns.iter().map(column).collect::<Value>().to_string()));
        if encoding.is_numbered {
            entries.push((CATEGORIES, NUMBERS.to_owned()));
        }
    }
    entries
}

/// The tensors.
pub(super) fn tensors(transform: &Transform) -> Vec<Tensor> {
    let Transform::Columns(Encoding { columns, .. }) = transform else { return Vec::new() };
    let (mut fills, mut centers, mut widths, mut quantiles) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for code in columns {
        let ColumnEncoding::Number { map, fill, .. } = code else { continue };
        fills.push(*fill);
        match map {
            NumericScaling::Affine { center, width } | NumericScaling::Clipped { center, width } => {
                centers.push(*center);
                widths.push(*width);
            }
            NumericScaling::Normal(of_column) => {
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
        Some("columns") => {
            let transform = Transform::Columns(encoding(metadata, &tensor)?);
            let count = tensors(&transform).len();
            (transform, count)
        }
        found => {
            let found = found.map_or_else(|| "none".to_owned(), |found| format!("{found:?}"));
            return Err(("input scaling 1/255, 1 or columns".to_owned(), found));
        }
    };
    match &transform {
        Transform::Columns(encoding) if encoding.inputs() != inputs => {
            Err((format!("{inputs} inputs in its encoding"), encoding.inputs().to_string()))
        }
        _ => Ok((transform, count)),
    }
}

fn encoding(
    metadata: &BTreeMap<String, String>,
    tensor: &impl Fn(&str) -> Result<(Vec<usize>, Vec<f64>), Fault>,
) -> Result<Encoding, Fault> {
    let found = metadata.get(ENCODING);
    let bad = || ("an encoding of columns in its metadata".to_owned(), format!("{found:?}"));
    let columns: Vec<Value> = found.and_then(|text| serde_json::from_str(text).ok()).ok_or_else(bad)?;
    let is = |column: &Value, kind: &str| column["number"] == kind;
    let affine = columns.iter().filter(|column| is(column, "affine") || is(column, "clipped")).count();
    let normal = columns.iter().filter(|column| is(column, "normal")).count();
    let mut fills = row(FILL, affine + normal, tensor)?.into_iter();
    let (centers, widths) = (row(CENTER, affine, tensor)?, row(WIDTH, affine, tensor)?);
    if let Some(width) = widths.iter().find(|width| **width < 0.0) {
        return Err(("widths of 0 or more".to_owned(), width.to_string()));
    }
    let mut affine = centers.into_iter().zip(widths);
    let mut normal = quantiles(normal, tensor)?.into_iter().map(NumericScaling::Normal);
    let code = |column: &Value| {
        let missing = column["missing"].as_bool()?;
        let map = match column["number"].as_str() {
            Some("affine") => {
                affine.next().map(|(center, width)| NumericScaling::Affine { center, width })?
            }
            Some("clipped") => {
                affine.next().map(|(center, width)| NumericScaling::Clipped { center, width })?
            }
            Some("normal") => normal.next()?,
            Some(_) => return None,
            None => {
                let names: Vec<String> = serde_json::from_value(column["categories"].clone()).ok()?;
                let label_type = match &column["type"] {
                    Value::Null => None,
                    label_type => Some(label_type.as_str()?.parse().ok()?),
                };
                return Some(ColumnEncoding::Category {
                    categories: Classes::typed(names, label_type)?,
                    has_missing: missing,
                });
            }
        };
        Some(ColumnEncoding::Number { map, fill: fills.next()?, has_indicator: missing })
    };
    let columns =
        columns.iter().map(code).collect::<Option<Vec<ColumnEncoding>>>().filter(|codes| !codes.is_empty());
    let is_numbered = match metadata.get(CATEGORIES).map(String::as_str) {
        None => false,
        Some(NUMBERS) => true,
        Some(found) => return Err((format!("{CATEGORIES}: {NUMBERS}"), format!("{found:?}"))),
    };
    Ok(Encoding { columns: columns.ok_or_else(bad)?, is_numbered })
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
        (shape, values) if shape == [count] => match values.iter().find(|value| !is_of_floats(**value)) {
            Some(value) => Err((format!("{name} within the range of 32-bit floats"), value.to_string())),
            None => Ok(values),
        },
        (shape, _) => Err((format!("{name} of {count} finite f64"), format!("shape {shape:?}"))),
    }
}

/// Whether a number can come of the numbers of a table, which are 32-bit floats: their differences are at most twice as great,
/// and a mean of the least is not much closer to 0.
pub(super) fn is_of_floats(value: f64) -> bool {
    const LEAST: f64 = 1e-48;
    value == 0.0 || (LEAST..=2.0 * f64::from(f32::MAX)).contains(&value.abs())
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
            if let Some(value) = values.iter().find(|value| !is_of_floats(**value)) {
                let expected = format!("{QUANTILES} within the range of 32-bit floats");
                return Err((expected, value.to_string()));
            }
            let rows: Vec<Vec<f64>> = values.chunks_exact(columns).map(<[f64]>::to_vec).collect();
            if rows.iter().all(|row| row.is_sorted()) {
                return Ok(rows);
            }
            Err((format!("{QUANTILES} in ascending order"), "others".to_owned()))
        }
        _ => Err((format!("{QUANTILES} of {count} rows"), format!("shape {shape:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{DataSchema, Model, Network, Parameters};
    use super::*;

    fn encoded(columns: Vec<ColumnEncoding>) -> Model {
        let network = Network::classifier(&[5, 3, 4]).unwrap();
        Model {
            parameters: Parameters::he_normal(&network, 3),
            network,
            transform: Transform::Columns(Encoding { columns, is_numbered: false }),
            data_schema: DataSchema::numbered(4),
            ensemble: None,
            origin: None,
            settings: BTreeMap::new(),
        }
    }

    fn number(map: NumericScaling, has_indicator: bool) -> ColumnEncoding {
        ColumnEncoding::Number { map, fill: 0.3, has_indicator }
    }

    fn category(names: &[&str], has_missing: bool) -> ColumnEncoding {
        let categories = Classes::named(names.iter().map(|name| (*name).to_owned()).collect()).unwrap();
        ColumnEncoding::Category { categories, has_missing }
    }

    #[test]
    fn encodings_are_read_as_they_were_written_or_refused() {
        let affine = |center, width| NumericScaling::Affine { center, width };
        let normal = NumericScaling::Normal(vec![-1.0, 0.1, 0.1, 7e30]);
        let columns = [
            vec![number(affine(0.1, 2e-9), true), category(&["b", "a"], false), category(&["x"], true)],
            vec![category(&["1", "2", "3"], true), category(&["yes", "no"], false)],
            vec![number(normal.clone(), false), category(&["a", "b", "c"], false), number(normal, false)],
        ];
        for columns in columns {
            let model = encoded(columns);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
        }
        let text = |columns: Vec<ColumnEncoding>| {
            let error = Model::from_bytes(&encoded(columns).to_bytes().unwrap(), Path::new("m")).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert!(text(vec![number(affine(0.0, 1.0), false); 4]).contains("5 inputs in its encoding"));
        assert!(text(vec![number(affine(0.0, -1.0), false); 5]).contains("widths of 0 or more"));
        assert!(text(vec![number(affine(f64::NAN, 1.0), false); 5]).contains("input_center of finite f64"));
        assert!(
            text(vec![number(NumericScaling::Normal(vec![2.0, 1.0]), false); 5]).contains("ascending order")
        );
        assert!(text(Vec::new()).contains("an encoding of columns"));
    }
}
