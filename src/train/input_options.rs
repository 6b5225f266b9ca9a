//! Options for the layer between the columns of a table and the first dense layer.

use serde::Serialize;

use crate::data::{ColumnEncoding, Encoding, Transform};
use crate::error::Result;
use crate::model::{InputColumn, InputLayer};

/// Maximum number of categories of a one-hot column.
pub const ONE_HOT_CATEGORIES: usize = 8;

/// Size of an embedding of a category, as in PyTabKit's RealMLP, for any number of categories.
pub const EMBEDDING_SIZE: usize = 8;

/// Options for layers learnt before the first dense layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InputOptions {
    /// Whether columns of numbers become periodic embeddings.
    #[serde(rename = "embeddings")]
    pub periodic: bool,
    /// Whether every input has a learnt factor.
    #[serde(rename = "input_scaling")]
    pub scaled: bool,
    /// Maximum number of categories of a one-hot column; columns with more are embedded.
    #[serde(rename = "one_hot")]
    pub most_one_hot: usize,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self { periodic: false, scaled: false, most_one_hot: ONE_HOT_CATEGORIES }
    }
}

impl InputOptions {
    /// Returns whether a network for such rows needs an input layer: categories then stay indices.
    pub fn need_layer(&self, encoding: &Encoding) -> bool {
        self.periodic || self.scaled || encoding.columns.iter().any(|code| self.embeds_categories(code))
    }

    /// Returns whether any column of rows encoded by this transform becomes an embedding.
    pub fn embeds(&self, transform: &Transform) -> bool {
        match transform {
            Transform::Columns(encoding) => encoding.columns.iter().any(|code| match code {
                ColumnEncoding::Number { .. } => self.periodic,
                ColumnEncoding::Category { .. } => self.embeds_categories(code),
            }),
            Transform::Bytes | Transform::None => self.periodic,
        }
    }

    fn embeds_categories(&self, code: &ColumnEncoding) -> bool {
        matches!(code, ColumnEncoding::Category { .. })
            && !code.is_binary()
            && code.inputs() > self.most_one_hot
    }

    /// Returns the input layer of a network for rows of `numbers` numbers encoded by this transform, if
    /// needed.
    ///
    /// # Errors
    /// [`crate::Error::Config`] if the number of weights overflows.
    pub fn layer(&self, transform: &Transform, numbers: usize) -> Result<Option<InputLayer>> {
        let number = if self.periodic { InputColumn::Periodic } else { InputColumn::Number };
        let columns = match transform {
            Transform::Columns(encoding) if encoding.is_numbered => {
                encoding.columns.iter().flat_map(|code| self.columns(code, number)).collect()
            }
            Transform::Bytes | Transform::None if self.periodic || self.scaled => vec![number; numbers],
            _ => return Ok(None),
        };
        InputLayer::new(columns, self.scaled).map(Some)
    }

    /// Returns the input columns for a column whose categories are indices.
    fn columns(&self, code: &ColumnEncoding, number: InputColumn) -> Vec<InputColumn> {
        match code {
            ColumnEncoding::Number { has_indicator: true, .. } => vec![number, InputColumn::Number],
            ColumnEncoding::Number { .. } => vec![number],
            ColumnEncoding::Category { .. } if code.is_binary() => vec![InputColumn::Number],
            ColumnEncoding::Category { .. } if code.inputs() <= self.most_one_hot => {
                vec![InputColumn::OneHot { categories: code.inputs() }]
            }
            ColumnEncoding::Category { .. } => {
                vec![InputColumn::Embedding { categories: code.inputs(), size: EMBEDDING_SIZE }]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, NumericScaling};

    #[test]
    fn columns_become_what_their_categories_say() {
        let number = |has_indicator| {
            let map = NumericScaling::Affine { center: 0.0, width: 1.0 };
            ColumnEncoding::Number { map, fill: 0.0, has_indicator }
        };
        let category = |count: usize, has_missing| ColumnEncoding::Category {
            categories: Classes::numbered(count),
            has_missing,
        };
        let columns =
            vec![number(true), category(2, false), category(2, true), category(8, false), category(8, true)];
        let mut encoding = Encoding { columns, is_numbered: false };
        let options = InputOptions::default();
        assert!(options.need_layer(&encoding));
        assert_eq!(options.layer(&Transform::Columns(encoding.clone()), 9).unwrap(), None);
        encoding.is_numbered = true;
        let transform = Transform::Columns(encoding.clone());
        let layer = options.layer(&transform, 9).unwrap().unwrap();
        let wanted = [
            InputColumn::Number,
            InputColumn::Number,
            InputColumn::Number,
            InputColumn::OneHot { categories: 3 },
            InputColumn::OneHot { categories: 8 },
            InputColumn::Embedding { categories: 9, size: 8 },
        ];
        assert_eq!((layer.columns(), layer.is_scaled()), (&wanted[..], false));
        assert_eq!(layer.columns().len(), encoding.inputs());
        let periodic = InputOptions { periodic: true, scaled: true, ..options };
        let layer = periodic.layer(&transform, 9).unwrap().unwrap();
        assert_eq!((layer.columns()[0], layer.columns()[1]), (InputColumn::Periodic, InputColumn::Number));
        assert!(layer.is_scaled());
        encoding.columns.pop();
        assert!(!options.need_layer(&encoding) && periodic.need_layer(&encoding));
        let images = |options: InputOptions| options.layer(&Transform::Bytes, 784).unwrap();
        assert_eq!(images(options), None);
        assert_eq!(images(periodic).unwrap().inputs(), 4 * 784);
    }
}
