//! The model file: safetensors with `w1, b1, w2, b2, ...`, f32, each `w` [inputs, outputs] row-major, an input layer
//! (`input_entries.rs`), and what inputs are made with (`transform_entries.rs`); layer sizes, activation, classes, columns and how it was trained in its metadata.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};

use super::metadata::{KEYS, Meaning};
use super::repeated::repeated_key;
use super::{Dense, Layer, Network, Parameters, input_entries, transform_entries};
use crate::data::Transform;
use crate::error::{Error, Place, Result};
use crate::step::{Activation, Loss};

/// Metadata keys.
const LAYERS: &str = "layers";
const ACTIVATION: &str = "activation";
const DROPOUT: &str = "dropout";
const LOSS: &str = "loss";
const DEVICE: &str = "device";
const SCHEDULE: &str = "schedule";
const TUNING: &str = "tuning";
const FORMAT: &str = "format";

/// On what a network was trained, and how: sums in the same order give the same bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The device.
    pub device: String,
    /// How a step was divided into dispatches, on a GPU.
    pub schedule: Option<String>,
    /// Tile shapes, as [`Tuning`](crate::kernels::Tuning) reads them, on a GPU.
    pub tuning: Option<String>,
}

/// A trained network with what is needed to use it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its shape.
    pub network: Network,
    /// How values become its inputs.
    pub transform: Transform,
    /// What its inputs and outputs stand for.
    pub meaning: Meaning,
    /// Its weights and biases.
    pub parameters: Parameters,
    /// Where it comes from, if its file says so.
    pub origin: Option<Origin>,
    /// How it was trained: whatever else the metadata hold.
    pub settings: BTreeMap<String, String>,
}

impl Model {
    /// The file's contents. The same model gives the same bytes.
    ///
    /// # Errors
    /// [`Error::Config`] if the format cannot hold the model, which no network that fits in memory causes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
        let little_endian = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        for (number, layer) in (1..).zip(&self.parameters.layers) {
            tensors.push((
                format!("w{number}"),
                Dtype::F32,
                vec![layer.inputs, layer.outputs],
                little_endian(&layer.weights),
            ));
            tensors.push((format!("b{number}"), Dtype::F32, vec![layer.outputs], little_endian(&layer.bias)));
        }
        if let (Some(layer), Some(parameters)) = (self.network.input_layer(), &self.parameters.input) {
            let of_input = input_entries::tensors(layer, parameters).into_iter();
            tensors.extend(of_input.map(|(name, shape, it)| (name, Dtype::F32, shape, little_endian(&it))));
        }
        for (name, shape, values) in transform_entries::tensors(&self.transform) {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            tensors.push((name.to_owned(), Dtype::F64, shape, bytes));
        }
        let views = tensors
            .iter()
            .map(|(name, kind, shape, bytes)| Ok((name, TensorView::new(*kind, shape.clone(), bytes)?)))
            .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(unsaved)?;
        let sizes: Vec<String> = self.network.sizes().iter().map(usize::to_string).collect();
        let mut metadata: HashMap<String, String> = self.settings.clone().into_iter().collect();
        metadata.extend([
            (FORMAT.to_owned(), "tinytrain".to_owned()),
            (LAYERS.to_owned(), sizes.join(",")),
            (ACTIVATION.to_owned(), per_layer(&self.network, |layer| layer.activation.to_string())),
            (LOSS.to_owned(), self.network.loss().to_string()),
        ]);
        metadata.extend(self.network.input_layer().map(input_entries::entries).into_iter().flatten());
        let entries = transform_entries::entries(&self.transform);
        metadata.extend(entries.into_iter().map(|(key, text)| (key.to_owned(), text)));
        if self.network.dense().iter().any(|layer| layer.dropout > 0.0) {
            metadata.insert(DROPOUT.to_owned(), per_layer(&self.network, |layer| layer.dropout.to_string()));
        }
        metadata.extend(self.meaning.entries());
        if let Some(Origin { device, schedule, tuning }) = &self.origin {
            let entries = [(DEVICE, Some(device)), (SCHEDULE, schedule.as_ref()), (TUNING, tuning.as_ref())];
            let known = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.clone())));
            metadata.extend(known);
        }
        let bytes = serialize(views, Some(metadata)).map_err(unsaved)?;
        with_sorted_header(&bytes).ok_or_else(|| unsaved("its header is not what safetensors writes"))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// [`Error::Read`] if there is no such file, [`Error::Data`] if it is no model of ours or not whole.
    pub fn load(path: &Path) -> Result<Self> {
        let unread = |source| Error::Read { path: path.to_owned(), source };
        let found = fs::metadata(path).map_err(unread)?;
        if !found.is_file() {
            return Err(unread(io::Error::other("it is not a regular file")));
        }
        let bytes = fs::read(path).map_err(unread)?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads the contents of a model file; `path` stands in messages.
    ///
    /// # Errors
    /// [`Error::Data`] if it is no model of ours or not whole.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let bad = |expected: &str, found: String| Error::Data {
            path: path.to_owned(),
            place: Place::default(),
            expected: expected.to_owned(),
            found,
        };
        if bytes.is_empty() {
            return Err(bad("a model in safetensors format", "an empty file".to_owned()));
        }
        let unreadable = |error| bad("a whole model in safetensors format", format!("{error}"));
        let (length, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        if let Some(name) = repeated_key(&bytes[8..8 + length]) {
            return Err(bad("each tensor once", format!("{name} twice")));
        }
        let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let metadata: BTreeMap<String, String> = header.metadata().clone().into_iter().flatten().collect();
        let entry = |key: &str| {
            metadata
                .get(key)
                .map(String::as_str)
                .ok_or_else(|| bad("a model written by tinytrain", format!("no {key:?} in its metadata")))
        };
        let sizes = entry(LAYERS)?;
        let sizes = sizes
            .split(',')
            .map(|size| size.parse().map_err(|_| bad("layer sizes in its metadata", format!("{sizes:?}"))))
            .collect::<Result<Vec<usize>>>()?;
        // One for all hidden layers, or one for each.
        fn listed<T: FromStr + Clone>(text: &str, hidden: usize) -> Option<Vec<T>> {
            let values = text.split(',').map(|value| value.parse().ok()).collect::<Option<Vec<T>>>()?;
            match values.len() {
                1 => Some(vec![values[0].clone(); hidden]),
                length => (length == hidden).then_some(values),
            }
        }
        let bad_entry = |key: &str| {
            let found = metadata.get(key).map_or_else(|| "none".to_owned(), |text| format!("{text:?}"));
            bad(&format!("{key} of a network in its metadata"), found)
        };
        let hidden = sizes.len().saturating_sub(2);
        let activations = listed(entry(ACTIVATION)?, hidden).ok_or_else(|| bad_entry(ACTIVATION))?;
        let shares = metadata.get(DROPOUT).map_or("0", String::as_str);
        let dropout = listed(shares, hidden).ok_or_else(|| bad_entry(DROPOUT))?;
        // Files of the first versions know one loss.
        let loss = metadata.get(LOSS).map_or(Ok(Loss::CrossEntropy), |loss| loss.parse());
        let loss = loss.map_err(|_| bad_entry(LOSS))?;
        let (inputs, units) = sizes.split_first().ok_or_else(|| bad_entry(LAYERS))?;
        let functions = activations.into_iter().zip(dropout).chain([(Activation::Identity, 0.0)]);
        let layers = units.iter().zip(functions);
        let layers =
            layers.map(|(units, (activation, dropout))| Dense { units: *units, activation, dropout });
        let network = Network::new(*inputs, layers.collect(), loss)
            .map_err(|_| bad("a network in its metadata", format!("layers {sizes:?}")))?;
        let input_layer = input_entries::layer(&metadata, |name| file.tensor(name).is_ok())
            .map_err(|(expected, found)| bad(&expected, found))?;
        let network = match input_layer {
            Some(layer) => network.behind(layer).map_err(|_| {
                bad("an input layer for the first of its layers", format!("layers {sizes:?}"))
            })?,
            None => network,
        };
        let tensor = |name: String, shape: &[usize]| -> Result<Vec<f32>> {
            let view = file.tensor(&name).map_err(|_| bad(&format!("a tensor {name}"), "none".to_owned()))?;
            if view.dtype() != Dtype::F32 || view.shape() != shape {
                return Err(bad(
                    &format!("{name} of f32 {shape:?}"),
                    format!("{:?} {:?}", view.dtype(), view.shape()),
                ));
            }
            let values: Vec<f32> = view
                .data()
                .chunks_exact(4)
                .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect();
            match values.iter().find(|value| !value.is_finite()) {
                Some(value) => Err(bad(&format!("finite numbers in {name}"), value.to_string())),
                None => Ok(values),
            }
        };
        let numbers = |name: &str| {
            let expected = format!("{name} of finite f64");
            let view = file.tensor(name).map_err(|_| (expected.clone(), "none".to_owned()))?;
            let words = view.data().chunks_exact(8).map(|word| word.try_into().map(f64::from_le_bytes));
            let values: Vec<f64> = words.flatten().collect();
            if view.dtype() != Dtype::F64 || !values.iter().all(|value| value.is_finite()) {
                return Err((expected, format!("{:?} {:?}", view.dtype(), view.shape())));
            }
            Ok((view.shape().to_vec(), values))
        };
        let layers = (1..)
            .zip(network.layers())
            .map(|(number, (inputs, outputs))| {
                Ok(Layer {
                    inputs,
                    outputs,
                    weights: tensor(format!("w{number}"), &[inputs, outputs])?,
                    bias: tensor(format!("b{number}"), &[outputs])?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let input = network.input_layer().map(|layer| input_entries::read(layer, tensor)).transpose()?;
        let (input, of_input) = input.map_or((None, 0), |(parameters, count)| (Some(parameters), count));
        let (transform, taken) = transform_entries::read(&metadata, network.columns(), numbers)
            .map_err(|(expected, found)| bad(&expected, found))?;
        let expected = 2 * layers.len() + of_input + taken;
        if file.len() != expected {
            return Err(bad(&format!("{expected} tensors"), format!("{}", file.len())));
        }
        let optional = |key: &str| entry(key).ok().map(str::to_owned);
        let origin = optional(DEVICE).map(|device| Origin {
            device,
            schedule: optional(SCHEDULE),
            tuning: optional(TUNING),
        });
        let meaning = Meaning::read(&metadata, &transform, &network).map_err(|key| {
            let found = metadata.get(key).map_or_else(|| "none".to_owned(), |text| format!("{text:?}"));
            bad(&format!("{key} that fit the network"), found)
        })?;
        let known = [FORMAT, LAYERS, ACTIVATION, DROPOUT, LOSS, DEVICE, SCHEDULE, TUNING];
        let known = known.into_iter().chain(KEYS).chain(transform_entries::KEYS);
        let known: Vec<&str> = known.chain(input_entries::KEYS).collect();
        let is_setting = |key: &String| !known.contains(&key.as_str());
        let settings = metadata.into_iter().filter(|(key, _)| is_setting(key)).collect();
        Ok(Self { network, transform, meaning, parameters: Parameters { layers, input }, origin, settings })
    }
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

fn unsaved(error: impl std::fmt::Display) -> Error {
    Error::Config(format!("cannot put the model into safetensors format: {error}"))
}

/// The crate writes metadata in the random order of a hash map; sorted, the same model gives the same bytes. A file is
/// the header's length (8 bytes, little endian), the header (JSON, padded by spaces to whole 8 bytes), the data.
pub(crate) fn with_sorted_header(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let header: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let mut header = serde_json::to_vec(&header).ok()?;
    header.resize(header.len().next_multiple_of(8), b' ');
    Some([&(header.len() as u64).to_le_bytes()[..], &header, data].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let network = Network::classifier(&[5, 3, 4]).unwrap();
        let origin =
            Origin { device: "a \"card\"".to_owned(), schedule: None, tuning: Some("a=1".to_owned()) };
        let parameters = Parameters::he_normal(&network, 3);
        let meaning = Meaning { image: Some((1, 5)), ..Meaning::numbered(4) };
        let settings = [("seed".to_owned(), "7".to_owned())].into();
        Model { parameters, network, transform: Transform::Bytes, meaning, origin: Some(origin), settings }
    }

    #[test]
    fn what_is_written_reads_back_and_is_always_the_same() {
        for model in [model(), Model { transform: Transform::None, ..model() }] {
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
        }
        let model = model();
        let bytes = model.to_bytes().unwrap();
        for _ in 0..20 {
            assert_eq!(model.to_bytes().unwrap(), bytes);
        }
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("w2").unwrap().shape(), [3, 4]);
    }

    #[test]
    fn a_file_that_does_not_say_where_it_comes_from_is_read() {
        let model =
            Model { origin: None, meaning: Meaning::numbered(4), settings: BTreeMap::new(), ..model() };
        let bytes = model.to_bytes().unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap().len(), 6);
        assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
    }

    #[test]
    fn every_cut_and_every_broken_header_is_refused() {
        let bytes = model().to_bytes().unwrap();
        for length in 0..bytes.len() {
            let error = Model::from_bytes(&bytes[..length], Path::new("m")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "cut to {length}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        let header = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let text = String::from_utf8(bytes[8..8 + header].to_vec()).unwrap();
        for (from, to) in [
            ("\"layers\":\"5,3,4\"", "\"layers\":\"5,4,4\""),
            ("\"layers\":\"5,3,4\"", "\"layers\":\"5,3,x\""),
            ("\"layers\":\"5,3,4\"", "\"layerz\":\"5,3,4\""),
            ("\"input_scaling\":\"1/255\"", "\"input_scaling\":\"2/255\""),
            ("\"activation\":\"relu\"", "\"activation\":\"rely\""),
            ("\"activation\":\"relu\"", "\"activation\":\"relu,tanh\""),
            ("\"loss\":\"cross-entropy\"", "\"loss\":\"cross\""),
            ("\"w1\":", "\"v1\":"),
            ("\"data_offsets\":[0,", "\"data_offsets\":[4,"),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            let mut broken = bytes[..8].to_vec();
            broken.extend(text.replacen(from, to, 1).into_bytes());
            broken.extend(&bytes[8 + header..]);
            let error = Model::from_bytes(&broken, Path::new("m")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{to}");
        }
        let mut broken = bytes;
        let last = broken.len() - 4;
        broken[last..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(Model::from_bytes(&broken, Path::new("m")).unwrap_err().to_string().contains("finite"));
    }
}
