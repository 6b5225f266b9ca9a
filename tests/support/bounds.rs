//! Comparison of networks with the reference.

#![allow(dead_code, reason = "each test binary uses its part")]

use ndarray::{Array1, Array2};
use tinytrain::data::{Dataset, FeaturesRef};
use tinytrain::model::Parameters;
use tinytrain::reference::ReferenceNetwork;

/// Returns the rows of a data set for the reference.
pub fn inputs(data: &Dataset) -> (Array2<f64>, Vec<usize>) {
    let values: Vec<f64> = match data.view().scaled(0..data.rows()) {
        FeaturesRef::Bytes(bytes) => bytes.iter().map(|value| f64::from(*value) / 255.0).collect(),
        FeaturesRef::Floats(floats) => floats.iter().copied().map(f64::from).collect(),
    };
    let x = Array2::from_shape_vec((data.rows(), data.inputs), values).unwrap();
    (x, data.labels().iter().map(|label| *label as usize).collect())
}

/// Fails at the first number that is further from `want` than its bound.
pub fn assert_within(what: &str, got: &Parameters, want: &ReferenceNetwork, bounds: &ReferenceNetwork) {
    let flat = |network: &ReferenceNetwork| -> Vec<Array1<f64>> {
        let both = network.weights.iter().zip(&network.biases);
        both.flat_map(|(w, b)| [w.iter().copied().collect(), b.clone()]).collect()
    };
    let got = got.layers.iter().flat_map(|layer| [&layer.weights, &layer.bias]);
    for (tensor, ((got, want), bound)) in got.zip(flat(want)).zip(flat(bounds)).enumerate() {
        for (i, value) in got.iter().enumerate() {
            let error = (f64::from(*value) - want[i]).abs();
            // Written so that NaN fails.
            assert!(
                error <= bound[i],
                "{what}: tensor {tensor}, element {i}: got {value}, want {}, {:.1} bounds off",
                want[i],
                error / bound[i]
            );
        }
    }
}
