//! An input layer as tensors and metadata of a model file.
//!
//! `input_layer` in the metadata lists the columns that go in, as [`InputColumn`] is written; of column j, from 1, the tensors
//! are `e<j>`, the rows of an embedding, or of a periodic column `f<j>`, in rows of 16 frequencies, phases and what mixes them
//! into each of three inputs, and `c<j>`, what is added to these three. `s` are the factors of all inputs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::transform_entries::Fault;
use super::{FREQUENCIES, InputColumn, InputLayer, InputParameters, MIXED, PlacedColumn, blocks, pad_rows};
use crate::data::{ColumnEncoding, Encoding, Transform};

const INPUT_LAYER: &str = "input_layer";

/// Metadata keys.
pub(super) const KEYS: [&str; 1] = [INPUT_LAYER];

/// The tensor of the factors of inputs.
const SCALE: &str = "s";

/// Rows of the frequencies of a periodic column and what belongs to them.
const WAVES: usize = 2 + MIXED;

/// A tensor of f32 with its name and shape.
type Tensor = (String, Vec<usize>, Vec<f32>);

/// The metadata.
pub(super) fn entries(layer: &InputLayer) -> Vec<(String, String)> {
    let columns: Vec<String> = layer.columns().iter().map(InputColumn::to_string).collect();
    vec![(INPUT_LAYER.to_owned(), Value::from(columns).to_string())]
}

/// The names and shapes of the tensors of a column.
fn shapes(PlacedColumn { number, column, .. }: PlacedColumn) -> Vec<(String, Vec<usize>)> {
    let name = |letter| format!("{letter}{}", number + 1);
    match column {
        InputColumn::Number | InputColumn::OneHot { .. } => Vec::new(),
        InputColumn::Embedding { categories, size } => vec![(name('e'), vec![categories, size])],
        InputColumn::Periodic => vec![(name('f'), vec![WAVES, FREQUENCIES]), (name('c'), vec![MIXED])],
    }
}

/// The tensors.
pub(super) fn tensors(layer: &InputLayer, parameters: &InputParameters) -> Vec<Tensor> {
    let mut all = Vec::new();
    for placed in layer.placed() {
        let mut weights = &parameters.weights[4 * placed.weights..][..4 * placed.column.weights()];
        for (name, shape) in shapes(placed) {
            let columns = shape[shape.len() - 1];
            let rows: usize = shape[..shape.len() - 1].iter().product();
            let (own, others) = weights.split_at(4 * rows * blocks(columns));
            weights = others;
            let values = own.chunks_exact(4 * blocks(columns)).flat_map(|row| &row[..columns]);
            all.push((name, shape, values.copied().collect()));
        }
    }
    if layer.is_scaled() {
        all.push((SCALE.to_owned(), vec![parameters.scale.len()], parameters.scale.clone()));
    }
    all
}

/// The layer that metadata tell of, if they do; `is_scaled` says whether there is a tensor of factors.
pub(super) fn layer(
    metadata: &BTreeMap<String, String>,
    is_scaled: impl Fn(&str) -> bool,
) -> Result<Option<InputLayer>, Fault> {
    let Some(text) = metadata.get(INPUT_LAYER) else { return Ok(None) };
    let columns = serde_json::from_str::<Vec<String>>(text).ok();
    let columns = columns.and_then(|columns| {
        columns.iter().map(|column| column.parse().ok()).collect::<Option<Vec<InputColumn>>>()
    });
    let layer = columns.and_then(|columns| InputLayer::new(columns, is_scaled(SCALE)).ok());
    let bad = || ("columns of an input layer in its metadata".to_owned(), format!("{text:?}"));
    layer.ok_or_else(bad).map(Some)
}

/// Whether a network without a layer, or with this one, takes what a transform makes: of categories that are numbers as many as
/// there are.
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

/// The parameters, from the tensors that `tensor` knows by name and shape; also how many there were.
pub(super) fn read<E>(
    layer: &InputLayer,
    tensor: impl Fn(String, &[usize]) -> Result<Vec<f32>, E>,
) -> Result<(InputParameters, usize), E> {
    let mut parameters = InputParameters { weights: Vec::new(), scale: Vec::new() };
    let mut count = 0;
    for (name, shape) in layer.placed().flat_map(shapes) {
        let values = tensor(name, &shape)?;
        parameters.weights.extend(pad_rows(&values, shape[shape.len() - 1]));
        count += 1;
    }
    if layer.is_scaled() {
        parameters.scale = tensor(SCALE.to_owned(), &[layer.inputs()])?;
        count += 1;
    }
    Ok((parameters, count))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{DataSchema, Model, Network, Parameters};
    use super::*;
    use crate::data::{Classes, NumericScaling};

    fn model(scaled: bool) -> Model {
        let columns = vec![
            InputColumn::Number,
            InputColumn::Embedding { categories: 9, size: 5 },
            InputColumn::OneHot { categories: 3 },
            InputColumn::Periodic,
        ];
        let layer = InputLayer::new(columns, scaled).unwrap();
        let network = Network::classifier(&[layer.inputs(), 3]).unwrap().with_input_layer(layer).unwrap();
        Model {
            parameters: Parameters::he_normal(&network, 3),
            network,
            transform: Transform::None,
            data_schema: DataSchema::numbered(3),
            ensemble: None,
            origin: None,
            settings: BTreeMap::new(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for scaled in [false, true] {
            let model = model(scaled);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bytes = model(true).to_bytes().unwrap();
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let header = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap();
        for (from, to) in [
            ("embedding 9x5", "embedding 9x4"),
            ("embedding 9x5", "embedding 8x5"),
            ("embedding 9x5", "embedded 9x5"),
            ("one-hot 3", "one-hot 4"),
            ("\\\"number\\\"", "\\\"one-hot 0\\\""),
            ("\"f4\"", "\"f5\""),
            ("\"e2\"", "\"s2\""),
            ("\"s\"", "\"t\""),
            ("\"input_layer\"", "\"input_later\""),
        ] {
            assert!(header.contains(from), "{from} in {header}");
            let broken = header.replacen(from, to, 1);
            let mut file = (broken.len() as u64).to_le_bytes().to_vec();
            file.extend(broken.as_bytes());
            file.extend(&bytes[8 + length..]);
            let error = Model::from_bytes(&file, Path::new("m")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{to}: {error}");
        }
    }

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
