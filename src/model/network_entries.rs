//! A network as tensors and metadata of a model file: `w1, b1, w2, b2, ...`, f32, each `w` [inputs, outputs] row-major, and an
//! input layer (`input_entries.rs`); layer sizes, activations, dropout and loss in the metadata. Of an ensemble each network but
//! the first has `network2.`, `network3.` and so on before all these names.

use std::collections::BTreeMap;
use std::str::FromStr;

use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

use super::transform_entries::Fault;
use super::{Dense, Layer, Network, Parameters, input_entries};
use crate::step::{Activation, Loss};

/// Metadata keys.
const LAYERS: &str = "layers";
const ACTIVATION: &str = "activation";
const DROPOUT: &str = "dropout";
const LOSS: &str = "loss";

/// Metadata keys of the first network.
pub(super) const KEYS: [&str; 4] = [LAYERS, ACTIVATION, DROPOUT, LOSS];

/// A tensor of f32 with its name and shape.
pub(super) type Tensor = (String, Vec<usize>, Vec<f32>);

/// The prefix of the tensor names of a network, counted from 1.
pub(super) fn prefix(number: usize) -> String {
    if number == 1 { String::new() } else { format!("network{number}.") }
}

/// The tensors.
pub(super) fn tensors(prefix: &str, network: &Network, parameters: &Parameters) -> Vec<Tensor> {
    let mut all = Vec::new();
    for (number, layer) in (1..).zip(&parameters.layers) {
        all.push((format!("{prefix}w{number}"), vec![layer.inputs, layer.outputs], layer.weights.clone()));
        all.push((format!("{prefix}b{number}"), vec![layer.outputs], layer.bias.clone()));
    }
    if let (Some(layer), Some(parameters)) = (network.input_layer(), &parameters.input) {
        let of_input = input_entries::tensors(layer, parameters).into_iter();
        all.extend(of_input.map(|(name, shape, values)| (prefix.to_owned() + &name, shape, values)));
    }
    all
}

/// The metadata.
pub(super) fn entries(prefix: &str, network: &Network) -> Vec<(String, String)> {
    let sizes: Vec<String> = network.sizes().iter().map(usize::to_string).collect();
    let mut entries = vec![
        (LAYERS.to_owned(), sizes.join(",")),
        (ACTIVATION.to_owned(), per_layer(network, |layer| layer.activation.to_string())),
        (LOSS.to_owned(), network.loss().to_string()),
    ];
    if network.dense().iter().any(|layer| layer.dropout > 0.0) {
        entries.push((DROPOUT.to_owned(), per_layer(network, |layer| layer.dropout.to_string())));
    }
    entries.extend(network.input_layer().map(input_entries::entries).into_iter().flatten());
    entries.into_iter().map(|(key, text)| (prefix.to_owned() + &key, text)).collect()
}

/// What the hidden layers have: one value for all, or one for each.
fn per_layer(network: &Network, value: impl Fn(&Dense) -> String) -> String {
    let hidden = &network.dense()[..network.dense().len() - 1];
    let values: Vec<String> = hidden.iter().map(value).collect();
    match values.first() {
        None => Activation::Relu.to_string(),
        Some(first) if values.iter().all(|value| value == first) => first.clone(),
        Some(_) => values.join(","),
    }
}

/// Reads them back: the network, its parameters, and the number of tensors.
pub(super) fn read(
    prefix: &str,
    metadata: &BTreeMap<String, String>,
    file: &SafeTensors<'_>,
) -> Result<(Network, Parameters, usize), Fault> {
    let own = |(key, text): (&String, &String)| Some((key.strip_prefix(prefix)?.to_owned(), text.clone()));
    let metadata: BTreeMap<String, String> = metadata.iter().filter_map(own).collect();
    let network = network(&metadata, |name| file.tensor(&format!("{prefix}{name}")).is_ok())?;
    let (parameters, count) = parameters(prefix, &network, file, finite)?;
    Ok((network, parameters, count))
}

/// The parameters of a network, or what an optimizer keeps for each of them, and how many tensors there were; `read` takes a
/// tensor by its name.
pub(super) fn parameters(
    prefix: &str,
    network: &Network,
    file: &SafeTensors<'_>,
    read: impl Fn(&SafeTensors<'_>, &str, &[usize]) -> Result<Vec<f32>, Fault>,
) -> Result<(Parameters, usize), Fault> {
    let tensor = |name: String, shape: &[usize]| read(file, &format!("{prefix}{name}"), shape);
    let layers = (1..).zip(network.layers()).map(|(number, (inputs, outputs))| {
        Ok(Layer {
            inputs,
            outputs,
            weights: tensor(format!("w{number}"), &[inputs, outputs])?,
            bias: tensor(format!("b{number}"), &[outputs])?,
        })
    });
    let layers = layers.collect::<Result<Vec<_>, Fault>>()?;
    let input = network.input_layer().map(|layer| input_entries::read(layer, tensor)).transpose()?;
    let (input, of_input) = input.map_or((None, 0), |(parameters, count)| (Some(parameters), count));
    let count = 2 * layers.len() + of_input;
    Ok((Parameters { layers, input }, count))
}

/// The network that metadata tell of; `has` says whether there is a tensor of a name.
fn network(metadata: &BTreeMap<String, String>, has: impl Fn(&str) -> bool) -> Result<Network, Fault> {
    let bad = |key: &str| {
        let found = metadata.get(key).map_or_else(|| "none".to_owned(), |text| format!("{text:?}"));
        (format!("{key} of a network in its metadata"), found)
    };
    let entry = |key: &str| {
        let absent = || ("a model written by tinytrain".to_owned(), format!("no {key:?} in its metadata"));
        metadata.get(key).map(String::as_str).ok_or_else(absent)
    };
    let text = entry(LAYERS)?;
    let sizes: Option<Vec<usize>> = text.split(',').map(|size| size.parse().ok()).collect();
    let sizes = sizes.ok_or_else(|| ("layer sizes in its metadata".to_owned(), format!("{text:?}")))?;
    let hidden = sizes.len().saturating_sub(2);
    let activations =
        listed(entry(ACTIVATION)?, hidden, Activation::from_str).ok_or_else(|| bad(ACTIVATION))?;
    let shares = metadata.get(DROPOUT).map_or("0", String::as_str);
    let dropout = listed(shares, hidden, f32::from_str).ok_or_else(|| bad(DROPOUT))?;
    let loss: Loss = entry(LOSS)?.parse().map_err(|_| bad(LOSS))?;
    let (inputs, units) = sizes.split_first().ok_or_else(|| bad(LAYERS))?;
    let functions = activations.into_iter().zip(dropout).chain([(Activation::Identity, 0.0)]);
    let layers = units.iter().zip(functions);
    let layers = layers.map(|(units, (activation, dropout))| Dense { units: *units, activation, dropout });
    let no_network = |expected: &str| (expected.to_owned(), format!("layers {sizes:?}"));
    let network =
        Network::new(*inputs, layers.collect(), loss).map_err(|_| no_network("a network in its metadata"))?;
    match input_entries::layer(metadata, has)? {
        Some(layer) => network
            .with_input_layer(layer)
            .map_err(|_| no_network("an input layer for the first of its layers")),
        None => Ok(network),
    }
}

/// One for all hidden layers, or one for each.
fn listed<T: Clone, E>(text: &str, hidden: usize, read: fn(&str) -> Result<T, E>) -> Option<Vec<T>> {
    let values = text.split(',').map(|value| read(value).ok()).collect::<Option<Vec<T>>>()?;
    match values.len() {
        1 => Some(vec![values[0].clone(); hidden]),
        length => (length == hidden).then_some(values),
    }
}

/// A tensor of finite f32.
fn finite(file: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>, Fault> {
    let values = floats(file, name, shape)?;
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err((format!("finite numbers in {name}"), value.to_string())),
        None => Ok(values),
    }
}

/// A tensor of f32.
pub(super) fn floats(file: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>, Fault> {
    let view = file.tensor(name).map_err(|_| (format!("a tensor {name}"), "none".to_owned()))?;
    if view.dtype() != Dtype::F32 || view.shape() != shape {
        return Err((format!("{name} of f32 {shape:?}"), format!("{:?} {:?}", view.dtype(), view.shape())));
    }
    let words = view.data().chunks_exact(4).map(|word| word.try_into().map(f32::from_le_bytes));
    Ok(words.flatten().collect())
}
