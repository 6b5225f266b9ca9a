//! Arrays of numbers and text, and as safetensors.

use std::collections::HashMap;

use safetensors::serialize;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::with_sorted_header;

/// An array with its shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Unsigned bytes.
    Bytes(Vec<usize>, Vec<u8>),
    /// 64-bit floats.
    Numbers(Vec<usize>, Vec<f64>),
    /// 32-bit floats.
    Floats(Vec<usize>, Vec<f32>),
    /// Indices of categories, -1 where there is none.
    Codes(Vec<i32>),
    /// Text.
    Texts(Vec<String>),
}

/// Numbers as tensors; the names of the tensors in their order are `columns` in the metadata, text stands there as JSON under its
/// own name.
pub(super) fn safetensors(arrays: &[(String, Array)]) -> Result<Vec<u8>> {
    let unwritten =
        |error: &dyn std::fmt::Display| Error::Config(format!("cannot write safetensors: {error}"));
    let mut metadata = HashMap::new();
    let (mut tensors, mut columns) = (Vec::new(), Vec::new());
    for (name, array) in arrays {
        let (kind, shape, bytes): (_, _, Vec<u8>) = match array {
            Array::Bytes(shape, values) => (Dtype::U8, shape.clone(), values.clone()),
            Array::Numbers(shape, values) => {
                (Dtype::F64, shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Floats(shape, values) => {
                (Dtype::F32, shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Codes(values) => (
                Dtype::I32,
                vec![values.len()],
                values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ),
            Array::Texts(texts) => {
                metadata.insert(name.clone(), Value::from(texts.clone()).to_string());
                continue;
            }
        };
        columns.push(name.as_str());
        tensors.push((name, kind, shape, bytes));
    }
    metadata.insert("columns".to_owned(), Value::from(columns).to_string());
    let views = tensors.iter().map(|(name, kind, shape, bytes)| {
        TensorView::new(*kind, shape.clone(), bytes).map(|view| (name, view))
    });
    let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| unwritten(&error))?;
    let bytes = serialize(views, Some(metadata)).map_err(|error| unwritten(&error))?;
    with_sorted_header(&bytes).ok_or_else(|| unwritten(&"its header is not what safetensors writes"))
}
