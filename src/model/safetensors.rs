//! The model file: safetensors with the tensors of its networks (`tensors.rs`), and JSON metadata with everything else
//! (`metadata.rs`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{SafeTensors, serialize};
use serde_json::Value;

use super::checks::Fault;
use super::duplicate_keys::repeated_key;
use super::metadata::{DataSchema, Metadata, Origin};
use super::tensors::{self, Tensor, prefix};
use super::{Ensemble, EnsembleMember, Network, Parameters};
use crate::data::Transform;
use crate::error::{Error, Place, Result, excerpt};
use crate::input;

/// The only entry of a file's metadata: several entries would be in the random order of a hash map.
const ENTRY: &str = "tinytrain";

/// A trained network, with everything needed to use it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The structure of the network.
    pub network: Network,
    /// The conversion of values to inputs.
    pub transform: Transform,
    /// The meaning of inputs and outputs.
    pub data_schema: DataSchema,
    /// The weights and biases.
    pub parameters: Parameters,
    /// The other networks of an ensemble, if the model is one.
    pub ensemble: Option<Ensemble>,
    /// The device and schedule of the training, if the file records them.
    pub origin: Option<Origin>,
    /// The settings of the training: all other entries of the metadata.
    pub settings: BTreeMap<String, String>,
}

/// A model file that may be a checkpoint.
pub(crate) struct Contents {
    pub model: Model,
    /// Further tensors in the shape of the parameters, by name.
    pub states: Vec<(String, Parameters)>,
    /// The progress of an unfinished run.
    pub progress: Option<Value>,
}

impl Model {
    /// The file's contents. The same model gives the same bytes.
    ///
    /// # Errors
    /// [`Error::Config`] if the format cannot hold the model: one with more than 100 MB of names and settings.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with(&[], None)
    }

    /// As [`Model::to_bytes`], with further named tensors in the shape of the parameters, and the progress of a run.
    ///
    /// # Errors
    /// As [`Model::to_bytes`].
    pub(crate) fn to_bytes_with(
        &self,
        states: &[(String, &Parameters)],
        progress: Option<Value>,
    ) -> Result<Vec<u8>> {
        let states_of = states.iter().map(|(name, state)| (format!("{name}."), &self.network, *state));
        let all = self.networks().chain(states_of);
        let mut tensors: Vec<Tensor> = all
            .flat_map(|(prefix, network, parameters)| tensors::write(&prefix, network, parameters))
            .collect();
        tensors.extend(tensors::write_quantiles(&self.transform));
        let networks = self.networks().map(|(_, network, _)| network.clone()).collect();
        let metadata = Metadata {
            picks: self.ensemble.iter().flat_map(Ensemble::picks).collect(),
            origin: self.origin.clone(),
            settings: self.settings.clone(),
            states: states.iter().map(|(name, _)| name.clone()).collect(),
            progress,
            ..Metadata::new(networks, self.transform.clone(), self.data_schema.clone())
        };
        let text = serde_json::to_string(&metadata).map_err(|error| unwritten(&error))?;
        tensor_file(&tensors, Some(text))
    }

    /// A readable description: the network, or the number of networks of an ensemble.
    pub fn description(&self) -> String {
        match &self.ensemble {
            None => format!("{} network", self.network),
            Some(ensemble) => {
                format!("ensemble of {} networks, the first {}", ensemble.networks(), self.network)
            }
        }
    }

    /// The networks with the prefixes of their tensor names in the file, beginning with the model's own network.
    fn networks(&self) -> impl Iterator<Item = (String, &Network, &Parameters)> {
        let partners = self.ensemble.iter().flat_map(|ensemble| &ensemble.partners);
        let partners = partners.map(|member| (&member.network, &member.parameters));
        let all = [(&self.network, &self.parameters)].into_iter().chain(partners);
        (1..).zip(all).map(|(number, (network, parameters))| (prefix(number), network, parameters))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// [`Error::Read`] if there is no such file, [`Error::Data`] if it is not a model of this program or incomplete.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&input::read(path, u64::MAX)?, path)
    }

    /// Reads the contents of a model file; messages show `path` as its path.
    ///
    /// # Errors
    /// [`Error::Data`] if it is not a model of this program or incomplete.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        Self::from_bytes_with(bytes, path).map(|contents| contents.model)
    }

    /// As [`Model::from_bytes`]; also returns the further tensors and the progress of [`Model::to_bytes_with`].
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub(crate) fn from_bytes_with(bytes: &[u8], path: &Path) -> Result<Contents> {
        let bad = |(expected, found): Fault| {
            Error::data(path, Place::default(), excerpt(&expected), excerpt(&found))
        };
        let unread = |found: String| bad(("a whole model in safetensors format".to_owned(), found));
        if bytes.is_empty() {
            return Err(bad(("a model in safetensors format".to_owned(), "an empty file".to_owned())));
        }
        if bytes.len() > 8 && bytes[8] != b'{' {
            return Err(unread("another kind of file".to_owned()));
        }
        let (length, header) =
            SafeTensors::read_metadata(bytes).map_err(|error| unread(error.to_string()))?;
        if let Some(name) = repeated_key(&bytes[8..8 + length]) {
            return Err(bad(("each tensor once".to_owned(), format!("{name} twice"))));
        }
        let file = SafeTensors::deserialize(bytes).map_err(|error| unread(error.to_string()))?;
        let entry = header.metadata().as_ref().and_then(|metadata| metadata.get(ENTRY));
        let foreign =
            || ("a model written by tinytrain".to_owned(), format!("no entry {ENTRY:?} in its metadata"));
        Self::read(entry.ok_or_else(|| bad(foreign()))?, &file).map_err(bad)
    }

    fn read(entry: &str, file: &SafeTensors<'_>) -> std::result::Result<Contents, Fault> {
        let mut metadata = Metadata::read(entry)?;
        let mut count = tensors::read_quantiles(&mut metadata.transform, file)?;
        metadata.check()?;
        let Metadata { networks, picks, transform, data, origin, settings, states, progress, .. } = metadata;
        let first = networks[0].clone();
        let mut read = |prefix: &str, network: &Network| {
            let (parameters, tensors) = tensors::read(prefix, network, file)?;
            count += tensors;
            Ok::<_, Fault>(parameters)
        };
        let mut members = Vec::new();
        for (number, network) in (1..).zip(networks) {
            let parameters = read(&prefix(number), &network)?;
            if !parameters.is_finite() {
                let expected = format!("finite weights and biases of network {number}");
                return Err((expected, "NaN or infinite numbers".to_owned()));
            }
            members.push(EnsembleMember {
                picks: picks.get(number - 1).copied().unwrap_or(1),
                network,
                parameters,
            });
        }
        let read_state = |name: String| Ok((name.clone(), read(&format!("{name}."), &first)?));
        let states = states.into_iter().map(read_state).collect::<std::result::Result<_, Fault>>()?;
        if file.len() != count {
            return Err((format!("{count} tensors"), file.len().to_string()));
        }
        let partners = members.split_off(1);
        // The checks ensure a first network.
        let EnsembleMember { picks: own, network, parameters } = members.remove(0);
        let ensemble = (!picks.is_empty()).then_some(Ensemble { picks: own, partners });
        let model = Self { network, transform, data_schema: data, parameters, ensemble, origin, settings };
        Ok(Contents { model, states, progress })
    }
}

fn unwritten(error: &dyn fmt::Display) -> Error {
    Error::Config(format!("cannot write safetensors: {error}"))
}

/// Makes a file in safetensors format, with this metadata entry, if any. The same tensors and entry give the same
/// bytes.
///
/// # Errors
/// [`Error::Config`] if the format cannot hold the tensors.
pub(crate) fn tensor_file(tensors: &[Tensor], entry: Option<String>) -> Result<Vec<u8>> {
    let views = tensors
        .iter()
        .map(|(name, kind, shape, bytes)| Ok((name, TensorView::new(*kind, shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(|error| unwritten(&error))?;
    let metadata = entry.map(|entry| [(ENTRY.to_owned(), entry)].into());
    serialize(views, metadata).map_err(|error| unwritten(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, ColumnEncoding, Encoding, ImageForm, NumericScaling};
    use crate::model::{InputColumn, InputLayer};

    fn model() -> Model {
        let network = Network::classifier(&[5, 3, 4]).unwrap();
        Model {
            parameters: Parameters::he_normal(&network, 3),
            network,
            transform: Transform::Bytes,
            data_schema: DataSchema {
                image: Some(ImageForm { height: 1, width: 5, colour: false }),
                ..DataSchema::numbered(4)
            },
            ensemble: None,
            origin: Some(Origin { device: "a \"card\"".to_owned(), schedule: Some("fused".to_owned()) }),
            settings: [("seed".to_owned(), "7".to_owned())].into(),
        }
    }

    /// Quantiles, and an input layer of every kind of column.
    fn model_of_columns(scaled: bool) -> Model {
        let number = |map| ColumnEncoding::Number { map, fill: 0.3, has_indicator: false };
        let category =
            |count| ColumnEncoding::Category { categories: Classes::numbered(count), has_missing: false };
        let columns = vec![
            number(NumericScaling::Normal(vec![-1.0, 0.1, 0.1, 7e30])),
            category(9),
            number(NumericScaling::Clipped { center: 0.1, width: 2e-9 }),
            category(3),
            number(NumericScaling::Normal(vec![0.0, 1e-7, 0.1, 0.2])),
        ];
        let layer = vec![
            InputColumn::Number,
            InputColumn::Embedding { categories: 9, size: 5 },
            InputColumn::Number,
            InputColumn::OneHot { categories: 3 },
            InputColumn::Periodic,
        ];
        let layer = InputLayer::new(layer, scaled).unwrap();
        let network = Network::classifier(&[layer.inputs(), 3]).unwrap().with_input_layer(layer).unwrap();
        Model {
            parameters: Parameters::he_normal(&network, 3),
            network,
            transform: Transform::Columns(Encoding { columns, is_numbered: true }),
            data_schema: DataSchema::numbered(3),
            ..model()
        }
    }

    fn ensemble() -> Model {
        let member = |sizes: &[usize], picks, seed| {
            let network = Network::classifier(sizes).unwrap();
            EnsembleMember { picks, parameters: Parameters::he_normal(&network, seed), network }
        };
        let partners = vec![member(&[5, 4], 1, 4), member(&[5, 2, 3, 4], 7, 5)];
        Model { ensemble: Some(Ensemble { picks: 2, partners }), ..model() }
    }

    /// The error of a file after the replacement of a text in its header.
    fn broken(bytes: &[u8], from: &str, to: &str) -> String {
        let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let text = String::from_utf8(bytes[8..header].to_vec()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        let text = text.replacen(from, to, 1);
        let file = [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &bytes[header..]].concat();
        let error = Model::from_bytes(&file, Path::new("m")).expect_err(to);
        assert_eq!(error.exit_code(), 2, "{to}: {error}");
        let error = error.to_string();
        assert!(error.starts_with("m: expected ") && !error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn models_read_back_and_have_always_the_same_bytes() {
        let plain = Model { transform: Transform::None, origin: None, settings: BTreeMap::new(), ..model() };
        for model in [model(), plain, model_of_columns(false), model_of_columns(true), ensemble()] {
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Model::from_bytes(&bytes, Path::new("m")).unwrap(), model);
            assert!((0..20).all(|_| model.to_bytes().unwrap() == bytes));
        }
        let bytes = model().to_bytes().unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("w2").unwrap().shape(), [3, 4]);
    }

    #[test]
    fn every_cut_and_every_other_tensor_is_refused() {
        let bytes = model().to_bytes().unwrap();
        for length in 0..bytes.len() {
            let error = Model::from_bytes(&bytes[..length], Path::new("m")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "cut to {length}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        for (from, to, message) in [
            ("\"w1\":", "\"v1\":", "a tensor w1"),
            ("\"data_offsets\":[0,", "\"data_offsets\":[4,", "a whole model"),
            ("\\\"units\\\":3", "\\\"units\\\":4", "w1 of f32 [5, 4]"),
            ("\\\"units\\\":3", "\\\"units\\\":1000000000000000000", "w1 of f32 [5, 1000000000000000000]"),
            ("{\"tinytrain\"", "{\"tonytrain\"", "a model written by tinytrain"),
        ] {
            let error = broken(&bytes, from, to);
            assert!(error.contains(message), "{error}");
        }
        let bytes = model_of_columns(true).to_bytes().unwrap();
        for (from, to) in [
            ("\"f5\"", "\"f6\""),
            ("\"e2\"", "\"s2\""),
            ("\"s\"", "\"t\""),
            ("\"input_quantiles\"", "\"input_quantilez\""),
        ] {
            broken(&bytes, from, to);
        }
        let bytes = ensemble().to_bytes().unwrap();
        broken(&bytes, "network2.w1", "network9.w1");
        broken(&bytes, "\\\"picks\\\":[2,1,7]", "\\\"picks\\\":[0,0,0]");
        let descending = NumericScaling::Normal(vec![2.0, 1.0]);
        let mut model_of_columns = model_of_columns(false);
        let Transform::Columns(encoding) = &mut model_of_columns.transform else { unreachable!() };
        for index in [0, 4] {
            let map = descending.clone();
            encoding.columns[index] = ColumnEncoding::Number { map, fill: 0.0, has_indicator: false };
        }
        let error = Model::from_bytes(&model_of_columns.to_bytes().unwrap(), Path::new("m")).unwrap_err();
        assert!(error.to_string().contains("ascending order"), "{error}");
    }

    #[test]
    fn weights_that_are_not_finite_are_refused() {
        let mut bytes = model().to_bytes().unwrap();
        let last = bytes.len() - 4;
        bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(Model::from_bytes(&bytes, Path::new("m")).unwrap_err().to_string().contains("finite"));
    }

    #[test]
    fn a_header_that_no_reader_accepts_is_not_written() {
        let settings = [("data".to_owned(), "x".repeat(100_000_000))].into();
        let error = Model { settings, ..model() }.to_bytes().unwrap_err().to_string();
        assert!(error.contains("header too large"), "{error}");
    }
}
