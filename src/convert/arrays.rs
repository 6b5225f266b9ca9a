//! Arrays of numbers and text, and as safetensors.

use std::collections::HashMap;
use std::iter::repeat;

use safetensors::tensor::Dtype;
use serde_json::Value;

use crate::error::Result;
use crate::model::tensor_file;

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

impl Array {
    /// Shape and contents: numbers in little endian, text in UTF-32, each as long as the longest.
    pub(super) fn contents(&self) -> (Vec<usize>, Vec<u8>) {
        match self {
            Array::Bytes(shape, values) => (shape.clone(), values.clone()),
            Array::Numbers(shape, values) => {
                (shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Floats(shape, values) => {
                (shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Codes(values) => {
                (vec![values.len()], values.iter().flat_map(|value| value.to_le_bytes()).collect())
            }
            Array::Texts(texts) => {
                let longest = longest(texts);
                let letters =
                    texts.iter().flat_map(|text| text.chars().map(u32::from).chain(repeat(0)).take(longest));
                (vec![texts.len()], letters.flat_map(u32::to_le_bytes).collect())
            }
        }
    }
}

/// Letters of the longest text; 1 where there are none.
pub(super) fn longest(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1)
}

/// Numbers as tensors; the names of the tensors in their order are `columns` in the metadata, text stands there as JSON under its
/// own name.
pub(super) fn safetensors(arrays: &[(String, Array)]) -> Result<Vec<u8>> {
    let (mut tensors, mut metadata) = (Vec::new(), HashMap::new());
    for (name, array) in arrays {
        let kind = match array {
            Array::Bytes(..) => Dtype::U8,
            Array::Numbers(..) => Dtype::F64,
            Array::Floats(..) => Dtype::F32,
            Array::Codes(_) => Dtype::I32,
            Array::Texts(texts) => {
                metadata.insert(name.clone(), Value::from(texts.clone()).to_string());
                continue;
            }
        };
        let (shape, bytes) = array.contents();
        tensors.push((name.clone(), kind, shape, bytes));
    }
    let columns: Value = tensors.iter().map(|(name, ..)| name.as_str()).collect();
    metadata.insert("columns".to_owned(), columns.to_string());
    tensor_file(&tensors, metadata)
}
