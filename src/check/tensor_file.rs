//! Named tensors in a safetensors file.

use safetensors::tensor::Dtype;

use crate::model::{Parameters, Tensor};

/// Tensors in the order of their addition.
#[derive(Debug, Clone, Default)]
pub(super) struct TensorFile {
    pub(super) tensors: Vec<Tensor>,
}

impl TensorFile {
    /// Adds f32.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensors.push((name.to_owned(), Dtype::F32, shape.to_vec(), bytes));
    }

    /// Adds classes as i64.
    pub(super) fn classes(&mut self, name: &str, shape: &[usize], classes: &[u32]) {
        let bytes = classes.iter().flat_map(|class| i64::from(*class).to_le_bytes()).collect();
        self.tensors.push((name.to_owned(), Dtype::I64, shape.to_vec(), bytes));
    }

    /// Adds `wn [inputs, outputs]` and `bn [outputs]` of each layer n = 1, 2, ..., between a prefix and a suffix.
    pub(super) fn parameters(&mut self, prefix: &str, suffix: &str, parameters: &Parameters) {
        for (number, layer) in (1..).zip(&parameters.layers) {
            let shape = [layer.inputs, layer.outputs];
            self.floats(&format!("{prefix}w{number}{suffix}"), &shape, &layer.weights);
            self.floats(&format!("{prefix}b{number}{suffix}"), &shape[1..], &layer.bias);
        }
    }
}
