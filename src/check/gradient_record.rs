//! A batch with its gradients in a file, so that another framework can be asked for its opinion.

use super::problem::Problem;
use super::tensor_file::TensorFile;
use crate::engine::Device;
use crate::error::Result;
use crate::model::{Network, Parameters};
use crate::train::Config;

/// Layer sizes of the network in the file, and rows of the batch.
const SIZES: [usize; 5] = [20, 32, 24, 16, 10];
const ROWS: usize = 32;

/// A random ReLU network with four weight layers, a batch, and the gradients of its mean loss that a device computed
/// in f32. No hidden pre-activation lies within 1e-4 of 0.
#[derive(Debug, Clone)]
pub struct GradientRecord {
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

impl GradientRecord {
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
    /// [`Error::Config`](crate::Error::Config) when the format cannot hold them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let rows = self.labels.len();
        let mut file = TensorFile::default();
        file.floats("x", &[rows, self.network.inputs()], &self.x);
        file.classes("labels", &[rows], &self.labels);
        file.parameters("", "", &self.parameters);
        file.parameters("d", "", &self.gradients);
        file.to_bytes(None)
    }
}
