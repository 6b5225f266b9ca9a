//! The model file: safetensors with the tensors of its network (`network_entries.rs`), of its partners in an ensemble, and of
//! what inputs are made with (`transform_entries.rs`); their shapes, classes, columns and how it was trained in its metadata.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};

use super::duplicate_keys::repeated_key;
use super::metadata::{DataSchema, KEYS};
use super::network_entries::prefix;
use super::transform_entries::Fault;
use super::{
    Ensemble, EnsembleMember, Network, Parameters, input_entries, network_entries, transform_entries,
};
use crate::data::Transform;
use crate::error::{Error, Place, Result, excerpt};
use crate::input;

/// Metadata keys.
const ENSEMBLE: &str = "ensemble";
const STATES: &str = "states";
const DEVICE: &str = "device";
const SCHEDULE: &str = "schedule";
const FORMAT: &str = "format";

/// More networks than this no ensemble has.
const MOST_NETWORKS: usize = 10_000;

/// On what a network was trained, and how: sums in the same order give the same bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The device.
    pub device: String,
    /// How a step was divided into dispatches, on a GPU.
    pub schedule: Option<String>,
}

/// A trained network with what is needed to use it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Its shape.
    pub network: Network,
    /// How values become its inputs.
    pub transform: Transform,
    /// The meaning of its inputs and outputs.
    pub data_schema: DataSchema,
    /// Its weights and biases.
    pub parameters: Parameters,
    /// The networks that predict together with it, if there are any.
    pub ensemble: Option<Ensemble>,
    /// How it was trained, if its file records it.
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
        self.to_bytes_with(&[])
    }

    /// As [`Model::to_bytes`], with further parameters-shaped tensors under other names.
    ///
    /// # Errors
    /// As [`Model::to_bytes`].
    pub(crate) fn to_bytes_with(&self, states: &[(String, &Parameters)]) -> Result<Vec<u8>> {
        let mut tensors: Vec<Tensor> = Vec::new();
        let states_of = states.iter().map(|(name, state)| (format!("{name}."), &self.network, *state));
        for (name, shape, values) in self
            .networks()
            .chain(states_of)
            .flat_map(|(prefix, network, parameters)| network_entries::tensors(&prefix, network, parameters))
        {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            tensors.push((name, Dtype::F32, shape, bytes));
        }
        for (name, shape, values) in transform_entries::tensors(&self.transform) {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            tensors.push((name.to_owned(), Dtype::F64, shape, bytes));
        }
        let mut metadata: HashMap<String, String> = self.settings.clone().into_iter().collect();
        metadata.insert(FORMAT.to_owned(), "tinytrain".to_owned());
        metadata.extend(
            self.networks().flat_map(|(prefix, network, _)| network_entries::entries(&prefix, network)),
        );
        if let Some(ensemble) = &self.ensemble {
            let picks: Vec<String> = ensemble.picks().map(|picks| picks.to_string()).collect();
            metadata.insert(ENSEMBLE.to_owned(), picks.join(","));
        }
        if !states.is_empty() {
            let names: Vec<&str> = states.iter().map(|(name, _)| name.as_str()).collect();
            metadata.insert(STATES.to_owned(), names.join(","));
        }
        let entries = transform_entries::entries(&self.transform);
        metadata.extend(entries.into_iter().map(|(key, text)| (key.to_owned(), text)));
        metadata.extend(self.data_schema.entries());
        if let Some(Origin { device, schedule }) = &self.origin {
            let entries = [(DEVICE, Some(device)), (SCHEDULE, schedule.as_ref())];
            let known = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.clone())));
            metadata.extend(known);
        }
        tensor_file(&tensors, metadata)
    }

    /// What it is, for people: its network, or how many an ensemble has.
    pub fn description(&self) -> String {
        match &self.ensemble {
            None => format!("{} network", self.network),
            Some(ensemble) => {
                format!("ensemble of {} networks, the first {}", ensemble.networks(), self.network)
            }
        }
    }

    /// The networks with what stands before their names in the file, the model's own one first.
    fn networks(&self) -> impl Iterator<Item = (String, &Network, &Parameters)> {
        let partners = self.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        let partners = partners.map(|member| (&member.network, &member.parameters));
        let all = [(&self.network, &self.parameters)].into_iter().chain(partners);
        (1..).zip(all).map(|(number, (network, parameters))| (prefix(number), network, parameters))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// [`Error::Read`] if there is no such file, [`Error::Data`] if it is no model of ours or not whole.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&input::read(path, u64::MAX)?, path)
    }

    /// Reads the contents of a model file; `path` stands in messages.
    ///
    /// # Errors
    /// [`Error::Data`] if it is no model of ours or not whole.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        Self::from_bytes_with(bytes, path).map(|(model, _)| model)
    }

    /// As [`Model::from_bytes`]; also returns the further tensors of [`Model::to_bytes_with`].
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub(crate) fn from_bytes_with(bytes: &[u8], path: &Path) -> Result<(Self, Vec<(String, Parameters)>)> {
        let bad = |expected: &str, found: String| {
            Error::data(path, Place::default(), excerpt(expected), excerpt(&found))
        };
        if bytes.is_empty() {
            return Err(bad("a model in safetensors format", "an empty file".to_owned()));
        }
        let unread = |error| bad("a whole model in safetensors format", format!("{error}"));
        if bytes.len() > 8 && bytes[8] != b'{' {
            return Err(bad("a whole model in safetensors format", "another kind of file".to_owned()));
        }
        let (length, header) = SafeTensors::read_metadata(bytes).map_err(unread)?;
        if let Some(name) = repeated_key(&bytes[8..8 + length]) {
            return Err(bad("each tensor once", format!("{name} twice")));
        }
        let file = SafeTensors::deserialize(bytes).map_err(unread)?;
        let metadata: BTreeMap<String, String> = header.metadata().clone().into_iter().flatten().collect();
        let fault = |(expected, found): (String, String)| bad(&expected, found);
        let (network, parameters, of_network) = network_entries::read("", &metadata, &file).map_err(fault)?;
        let numbers = |name: &str| {
            let expected = format!("{name} of finite f64");
            let view = file.tensor(name).map_err(|_| (expected.clone(), "none".to_owned()))?;
            let words = view.data().chunks_exact(8).map(|word| word.try_into().map(f64::from_le_bytes));
            let values: Vec<f64> = words.flatten().collect();
            match values.iter().find(|value| !value.is_finite()) {
                _ if view.dtype() != Dtype::F64 => {
                    Err((expected, format!("{:?} {:?}", view.dtype(), view.shape())))
                }
                Some(value) => Err((expected, value.to_string())),
                None => Ok((view.shape().to_vec(), values)),
            }
        };
        let (transform, taken) =
            transform_entries::read(&metadata, network.columns(), numbers).map_err(fault)?;
        let mut expected = of_network + taken;
        let ensemble = match metadata.get(ENSEMBLE) {
            None => None,
            Some(picks) => {
                let (ensemble, count) = ensemble(picks, &metadata, &file, &network).map_err(fault)?;
                expected += count;
                Some(ensemble)
            }
        };
        let partners = ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        for network in [&network].into_iter().chain(partners.map(|member| &member.network)) {
            if !input_entries::fits(network.input_layer(), &transform) {
                return Err(bad("an input layer for the columns of its encoding", network.to_string()));
            }
        }
        let mut states: Vec<(String, Parameters)> = Vec::new();
        for name in metadata.get(STATES).map(|names| names.split(',')).into_iter().flatten() {
            // Their tensors would be counted once more.
            if states.iter().any(|(known, _)| known == name) || name.starts_with("network") {
                return Err(bad("different names of states", format!("{name:?}")));
            }
            let read =
                network_entries::parameters(&format!("{name}."), &network, &file, network_entries::floats);
            let (state, count) = read.map_err(fault)?;
            states.push((name.to_owned(), state));
            expected += count;
        }
        if file.len() != expected {
            return Err(bad(&format!("{expected} tensors"), format!("{}", file.len())));
        }
        let optional = |key: &str| metadata.get(key).cloned();
        let origin = optional(DEVICE).map(|device| Origin { device, schedule: optional(SCHEDULE) });
        let data_schema = DataSchema::read(&metadata, &transform, &network).map_err(|key| {
            let found = metadata.get(key).map_or_else(|| "none".to_owned(), |text| format!("{text:?}"));
            bad(&format!("{key} that match the network"), found)
        })?;
        let known = [FORMAT, ENSEMBLE, STATES, DEVICE, SCHEDULE].into_iter().chain(network_entries::KEYS);
        let known = known.chain(KEYS).chain(transform_entries::KEYS);
        let known: Vec<&str> = known.chain(input_entries::KEYS).collect();
        let networks = ensemble.as_ref().map_or(1, Ensemble::networks);
        let is_of_partner = |key: &str| (2..=networks).any(|number| key.starts_with(&prefix(number)));
        let is_setting = |key: &String| !known.contains(&key.as_str()) && !is_of_partner(key);
        let settings = metadata.into_iter().filter(|(key, _)| is_setting(key)).collect();
        Ok((Self { network, transform, data_schema, parameters, ensemble, origin, settings }, states))
    }
}

/// The other networks of an ensemble that were picked so often, and how many tensors they have.
fn ensemble(
    picks: &str,
    metadata: &BTreeMap<String, String>,
    file: &SafeTensors<'_>,
    first: &Network,
) -> std::result::Result<(Ensemble, usize), Fault> {
    let numbers: Option<Vec<u32>> = picks.split(',').map(|number| number.parse().ok()).collect();
    let numbers =
        numbers.filter(|numbers| numbers.len() < MOST_NETWORKS && numbers.iter().any(|picks| *picks > 0));
    let Some([own, others @ ..]) = numbers.as_deref() else {
        return Err(("how often each network of an ensemble was picked".to_owned(), format!("{picks:?}")));
    };
    let (mut ensemble, mut count) = (Ensemble { picks: *own, partners: Vec::new() }, 0);
    for (number, picks) in (2..).zip(others) {
        let (network, parameters, tensors) = network_entries::read(&prefix(number), metadata, file)?;
        let shape = |network: &Network| (network.columns(), network.outputs(), network.loss().of_classes());
        if shape(&network) != shape(first) {
            let expected = format!("network {number} with the inputs and outputs of the first");
            return Err((expected, network.to_string()));
        }
        ensemble.partners.push(EnsembleMember { picks: *picks, network, parameters });
        count += tensors;
    }
    Ok((ensemble, count))
}

/// A tensor of a file: its name, its numbers' kind, its shape, and its numbers, little endian.
type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

/// A file in safetensors format. The same tensors give the same bytes.
///
/// # Errors
/// [`Error::Config`] if the format cannot hold them.
pub(crate) fn tensor_file(tensors: &[Tensor], metadata: HashMap<String, String>) -> Result<Vec<u8>> {
    let unsaved = |error: &dyn fmt::Display| Error::Config(format!("cannot write safetensors: {error}"));
    let views = tensors
        .iter()
        .map(|(name, kind, shape, bytes)| Ok((name, TensorView::new(*kind, shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(|error| unsaved(&error))?;
    let bytes = serialize(views, Some(metadata).filter(|metadata| !metadata.is_empty()))
        .map_err(|error| unsaved(&error))?;
    with_sorted_header(&bytes).ok_or_else(|| unsaved(&"its header is not what the crate writes"))
}

/// The crate writes metadata in the random order of a hash map; sorted, the same model gives the same bytes. A file is
/// the header's length (8 bytes, little endian), the header (JSON, padded by spaces to whole 8 bytes), the data.
fn with_sorted_header(bytes: &[u8]) -> Option<Vec<u8>> {
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
        let origin = Origin { device: "a \"card\"".to_owned(), schedule: Some("fused".to_owned()) };
        let parameters = Parameters::he_normal(&network, 3);
        let data_schema = DataSchema {
            image: Some(crate::data::ImageForm { height: 1, width: 5, colour: false }),
            ..DataSchema::numbered(4)
        };
        let settings = [("seed".to_owned(), "7".to_owned())].into();
        let (transform, ensemble, origin) = (Transform::Bytes, None, Some(origin));
        Model { parameters, network, transform, data_schema, ensemble, origin, settings }
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
    fn an_ensemble_reads_back_with_all_its_networks() {
        let member = |sizes: &[usize], picks, seed| {
            let network = Network::classifier(sizes).unwrap();
            EnsembleMember { picks, parameters: Parameters::he_normal(&network, seed), network }
        };
        let partners = vec![member(&[5, 4], 1, 4), member(&[5, 2, 3, 4], 7, 5)];
        let model = Model { ensemble: Some(Ensemble { picks: 2, partners }), ..model() };
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
        let broken = |from: &str, to: &str| {
            let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
            let text = String::from_utf8(bytes[8..header].to_vec()).unwrap();
            assert!(text.contains(from), "{from} in {text}");
            let broken = [&bytes[..8], text.replacen(from, to, 1).as_bytes(), &bytes[header..]].concat();
            Model::from_bytes(&broken, Path::new("m")).unwrap_err().to_string()
        };
        for (from, to) in
            [("2,1,7", "2,1,x"), ("2,1,7", "0,0,0"), ("5,2,3,4", "5,2,4,3"), ("network2.w1", "network9.w1")]
        {
            let error = broken(from, to);
            assert!(error.starts_with("m: expected ") && !error.contains('\n'), "{error}");
        }
        // A program that knows no ensembles counts the tensors and refuses them.
        assert!(
            broken("\"ensemble\":\"2,1,7\"", "\"ensembla\":\"2,1,7\"")
                .contains("expected 4 tensors, found 12")
        );
    }

    #[test]
    fn a_file_that_does_not_say_where_it_comes_from_is_read() {
        let model = Model {
            origin: None,
            data_schema: DataSchema::numbered(4),
            settings: BTreeMap::new(),
            ..model()
        };
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
