//! A batch with its gradients in a file, for comparison with another framework.

use super::problem::Problem;
use super::tensor_file::TensorFile;
use crate::engine::Device;
use crate::error::Result;
use crate::model::tensor_file;
use crate::threads::block;
use crate::train::Config;

/// Layer sizes of the network in the file, and rows of the batch.
const SIZES: [usize; 5] = [20, 32, 24, 16, 10];
const ROWS: usize = 32;

/// A random ReLU network with four weight layers, a batch, and the gradients of its mean loss computed by a
/// device in f32. No hidden pre-activation is within 1e-4 of 0.
#[derive(Debug, Clone)]
pub struct GradientRecord {
    file: TensorFile,
}

impl GradientRecord {
    /// Computes the gradients on the device.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn from_device(device: &Device) -> Result<Self> {
        let Problem { network, parameters, data, x, .. } = Problem::new(&SIZES, ROWS)?;
        let config = Config { batch_size: ROWS, ..Config::default() };
        let mut engine = device.engine(&parameters, &network, &config.engine_options(ROWS))?;
        let x: Vec<f32> = x.iter().map(|value| *value as f32).collect();
        let mut file = TensorFile::default();
        file.floats("x", &[ROWS, SIZES[0]], &x);
        file.classes("labels", &[ROWS], data.labels());
        file.parameters("", "", &parameters);
        file.parameters("d", "", &block(engine.gradients(&data.view()))?);
        Ok(Self { file })
    }

    /// Returns a safetensors file: x (f32), labels (i64), and for layer n = 1, 2, ... `wn [inputs, outputs]`,
    /// `bn [outputs]`, dwn, dbn (f32).
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) when the format cannot represent them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        tensor_file(&self.file.tensors, None)
    }
}
