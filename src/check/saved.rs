//! A batch with its gradients in a file, so that another framework can be asked for its opinion.

use safetensors::tensor::{Dtype, TensorView};

use super::network::Problem;
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::model::{Network, Parameters};
use crate::train::Config;

/// Layer sizes of the network in the file, and rows of the batch.
const SIZES: [usize; 5] = [20, 32, 24, 16, 10];
const ROWS: usize = 32;

/// A random ReLU network with four weight layers, a batch, and the gradients of its mean loss that a device computed
/// in f32. No hidden pre-activation lies within 1e-4 of 0.
#[derive(Debug, Clone)]
pub struct Witness {
    /// Layer sizes.
    pub network: Network,
    /// Features as the first layer sees them, [rows, inputs], row-major.
    pub x: Vec<f32>,
    /// Classes of the rows.
    pub labels: Vec<u32>,
    /// Weights and biases.
    pub parameters: Parameters,
    /// Their gradients.
    pub gradients: Parameters,
}

impl Witness {
    /// Has the device compute the gradients.
    ///
    /// # Errors
    /// Those of the device.
    pub fn from_device(device: &Device) -> Result<Self> {
        let problem = Problem::new(&SIZES, ROWS)?;
        let config = Config { batch_size: ROWS, ..Config::default() };
        let mut engine =
            device.engine(&problem.parameters, &problem.network, &config.engine_options(ROWS))?;
        let gradients = engine.gradients(&problem.data.view())?;
        let x = problem.x.iter().map(|value| *value as f32).collect();
        let (labels, parameters) = (problem.data.labels().to_vec(), problem.parameters);
        Ok(Self { network: problem.network, x, labels, parameters, gradients })
    }

    /// As a safetensors file: x (f32), labels (i64), and for layer n = 1, 2, ... `wn [inputs, outputs]`,
    /// `bn [outputs]`, dwn, dbn (f32).
    ///
    /// # Errors
    /// [`Error::Config`] when the format cannot hold them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (rows, inputs) = (self.labels.len(), self.network.inputs());
        let labels: Vec<u8> = self.labels.iter().flat_map(|label| i64::from(*label).to_le_bytes()).collect();
        let mut tensors = vec![
            ("x".to_owned(), Dtype::F32, vec![rows, inputs], floats(&self.x)),
            ("labels".to_owned(), Dtype::I64, vec![rows], labels),
        ];
        for (prefix, parameters) in [("", &self.parameters), ("d", &self.gradients)] {
            for (number, layer) in (1..).zip(&parameters.layers) {
                let shape = vec![layer.inputs, layer.outputs];
                tensors.push((format!("{prefix}w{number}"), Dtype::F32, shape, floats(&layer.weights)));
                let shape = vec![layer.outputs];
                tensors.push((format!("{prefix}b{number}"), Dtype::F32, shape, floats(&layer.bias)));
            }
        }
        let unsaved =
            |error: &dyn std::fmt::Display| Error::Config(format!("cannot write safetensors: {error}"));
        let views = tensors
            .iter()
            .map(|(name, dtype, shape, data)| {
                let view = TensorView::new(*dtype, shape.clone(), data).map_err(|error| unsaved(&error))?;
                Ok((name.as_str(), view))
            })
            .collect::<Result<Vec<_>>>()?;
        safetensors::serialize(views, None).map_err(|error| unsaved(&error))
    }
}

/// Numbers as a tensor's bytes.
pub(super) fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
