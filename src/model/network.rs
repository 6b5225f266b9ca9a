//! The shape of a network.

use std::fmt;

use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Sizes of a multi-layer perceptron: inputs, hidden layers, classes. ReLU stands behind every hidden layer, softmax
/// behind the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    sizes: Vec<usize>,
}

impl Network {
    /// A network of these sizes: inputs, hidden..., classes.
    ///
    /// # Errors
    /// [`Error::Config`] for fewer than two sizes, a size of 0, or parameters that memory cannot hold; nothing has
    /// been allocated then.
    pub fn new(sizes: Vec<usize>) -> Result<Self> {
        if sizes.len() < 2 || sizes.contains(&0) {
            return Err(Error::Config(format!(
                "a network needs inputs and classes, and every layer at least one unit; these sizes are {sizes:?}"
            )));
        }
        let spec = Self { sizes };
        let parameters: u128 = spec
            .layers()
            .map(|(inputs, outputs)| (inputs as u128 + 1).saturating_mul(outputs as u128))
            .fold(0, u128::saturating_add);
        // The engine's, and while the model is saved the model's own and three forms of the file's contents.
        check_memory(parameters.saturating_mul(5 * size_of::<f32>() as u128), &format!("a {spec} network"))?;
        Ok(spec)
    }

    /// All sizes: inputs, hidden..., classes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Numbers of a row that goes in.
    pub fn inputs(&self) -> usize {
        self.sizes[0]
    }

    /// Classes to choose from.
    pub fn classes(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// (inputs, outputs) of each layer.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = (usize, usize)> + '_ {
        self.sizes.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Number of weights and biases.
    pub fn parameter_count(&self) -> usize {
        self.layers().map(|(inputs, outputs)| (inputs + 1) * outputs).sum()
    }
}

impl fmt::Display for Network {
    /// As the field writes it: 784-300-100-10.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        f.write_str(&sizes.join("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_weights_and_biases() {
        let spec = Network::new(vec![784, 300, 100, 10]).unwrap();
        assert_eq!(spec.parameter_count(), 266_610);
        assert_eq!(spec.to_string(), "784-300-100-10");
        assert_eq!(spec.layers().collect::<Vec<_>>(), [(784, 300), (300, 100), (100, 10)]);
    }

    #[test]
    fn refuses_what_cannot_be() {
        for sizes in [vec![], vec![3], vec![3, 0, 2]] {
            assert_eq!(Network::new(sizes).unwrap_err().exit_code(), 2);
        }
        let huge = Network::new(vec![784, usize::MAX, usize::MAX, 10]).unwrap_err();
        assert!(huge.to_string().contains("memory"), "{huge}");
    }
}
