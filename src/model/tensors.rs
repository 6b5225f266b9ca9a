//! Parameters as tensors of a model file: `w1, b1, w2, b2, ...`, f32, each `w` [inputs, outputs] row-major. In
//! ensembles, the prefixes `network2.`, `network3.` and so on precede these names, except for the first network.
//!
//! The input layer has, for column j from 1, `e<j>`, the rows of an embedding, or, for a periodic column, `f<j>`,
//! rows of 16 frequencies, phases and mixing weights of each of three inputs, and `c<j>`, the bias of these three.
//! `s` are the factors of all inputs. Quantiles of an encoding are f64: `input_quantiles`, a row for each column.

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

use super::checks::Fault;
use super::{
    FREQUENCIES, InputColumn, InputLayer, InputParameters, Layer, MIXED, Network, Parameters, PlacedColumn,
    blocks, pad_rows,
};
use crate::data::{ColumnEncoding, Encoding, NumericScaling, Transform};

/// The tensor name of the input factors.
const SCALE: &str = "s";

const QUANTILES: &str = "input_quantiles";

/// Rows of the frequencies, phases and mixing weights of a periodic column.
const WAVES: usize = 2 + MIXED;

/// A tensor of a file: its name, the type of its numbers, its shape, and its numbers, little endian.
pub(crate) type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

/// The prefix of the tensor names of a network, counted from 1.
pub(super) fn prefix(number: usize) -> String {
    if number == 1 { String::new() } else { format!("network{number}.") }
}

fn floats(name: String, shape: Vec<usize>, values: impl IntoIterator<Item = f32>) -> Tensor {
    (name, Dtype::F32, shape, values.into_iter().flat_map(f32::to_le_bytes).collect())
}

/// The tensors of a network.
pub(super) fn write(prefix: &str, network: &Network, parameters: &Parameters) -> Vec<Tensor> {
    let mut all = Vec::new();
    for (number, layer) in (1..).zip(&parameters.layers) {
        let (weights, bias) = (layer.weights.iter().copied(), layer.bias.iter().copied());
        all.push(floats(format!("{prefix}w{number}"), vec![layer.inputs, layer.outputs], weights));
        all.push(floats(format!("{prefix}b{number}"), vec![layer.outputs], bias));
    }
    let (Some(layer), Some(parameters)) = (network.input_layer(), &parameters.input) else { return all };
    for placed in layer.placed() {
        let mut weights = &parameters.weights[4 * placed.weights..][..4 * placed.column.weights()];
        for (name, shape) in shapes(placed) {
            let columns = shape[shape.len() - 1];
            let rows: usize = shape[..shape.len() - 1].iter().product();
            let (own, others) = weights.split_at(4 * rows * blocks(columns));
            weights = others;
            let values = own.chunks_exact(4 * blocks(columns)).flat_map(|row| &row[..columns]);
            all.push(floats(prefix.to_owned() + &name, shape, values.copied()));
        }
    }
    if layer.is_scaled() {
        let scale = parameters.scale.iter().copied();
        all.push(floats(prefix.to_owned() + SCALE, vec![parameters.scale.len()], scale));
    }
    all
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

/// The parameters of a network, or an optimizer's state of each of them, and the number of tensors.
pub(super) fn read(
    prefix: &str,
    network: &Network,
    file: &SafeTensors<'_>,
) -> Result<(Parameters, usize), Fault> {
    let tensor = |name: String, shape: &[usize]| {
        let name = format!("{prefix}{name}");
        let view = file.tensor(&name).map_err(|_| (format!("a tensor {name}"), "none".to_owned()))?;
        if view.dtype() != Dtype::F32 || view.shape() != shape {
            return Err((
                format!("{name} of f32 {shape:?}"),
                format!("{:?} {:?}", view.dtype(), view.shape()),
            ));
        }
        let words = view.data().chunks_exact(4).map(|word| word.try_into().map(f32::from_le_bytes));
        Ok(words.flatten().collect::<Vec<f32>>())
    };
    let layers = (1..).zip(network.layers()).map(|(number, (inputs, outputs))| {
        let weights = tensor(format!("w{number}"), &[inputs, outputs])?;
        let bias = tensor(format!("b{number}"), &[outputs])?;
        Ok(Layer { inputs, outputs, weights, bias })
    });
    let layers = layers.collect::<Result<Vec<_>, Fault>>()?;
    let mut count = 2 * layers.len();
    let read_input = |layer: &InputLayer| {
        let mut parameters = InputParameters { weights: Vec::new(), scale: Vec::new() };
        for (name, shape) in layer.placed().flat_map(shapes) {
            parameters.weights.extend(pad_rows(&tensor(name, &shape)?, shape[shape.len() - 1]));
            count += 1;
        }
        if layer.is_scaled() {
            parameters.scale = tensor(SCALE.to_owned(), &[layer.inputs()])?;
            count += 1;
        }
        Ok::<_, Fault>(parameters)
    };
    let input = network.input_layer().map(read_input).transpose()?;
    Ok((Parameters { layers, input }, count))
}

/// The tensor of the quantiles of an encoding, if it has any.
pub(super) fn write_quantiles(transform: &Transform) -> Option<Tensor> {
    let Transform::Columns(Encoding { columns, .. }) = transform else { return None };
    let quantiles = columns.iter().filter_map(|code| match code {
        ColumnEncoding::Number { map: NumericScaling::Normal(quantiles), .. } => Some(&quantiles[..]),
        _ => None,
    });
    let rows: Vec<&[f64]> = quantiles.collect();
    let shape = vec![rows.len(), rows.first()?.len()];
    let bytes = rows.into_iter().flatten().flat_map(|value| value.to_le_bytes());
    Some((QUANTILES.to_owned(), Dtype::F64, shape, bytes.collect()))
}

/// Fills in the quantiles of an encoding from their tensor; returns the number of tensors.
pub(super) fn read_quantiles(transform: &mut Transform, file: &SafeTensors<'_>) -> Result<usize, Fault> {
    let Transform::Columns(Encoding { columns, .. }) = transform else { return Ok(0) };
    let quantiles = columns.iter_mut().filter_map(|code| match code {
        ColumnEncoding::Number { map: NumericScaling::Normal(quantiles), .. } => Some(quantiles),
        _ => None,
    });
    let rows: Vec<&mut Vec<f64>> = quantiles.collect();
    if rows.is_empty() {
        return Ok(0);
    }
    let expected = || format!("{QUANTILES} of f64, {} rows", rows.len());
    let view = file.tensor(QUANTILES).map_err(|_| (expected(), "none".to_owned()))?;
    let length = match (view.dtype(), view.shape()) {
        (Dtype::F64, [count, length]) if *count == rows.len() && *length > 0 => *length,
        (kind, shape) => return Err((expected(), format!("{kind:?} {shape:?}"))),
    };
    for (row, bytes) in rows.into_iter().zip(view.data().chunks_exact(8 * length)) {
        row.extend(bytes.chunks_exact(8).flat_map(|word| word.try_into().map(f64::from_le_bytes)));
    }
    Ok(1)
}
