//! Rounding bounds for whole networks.

#![allow(dead_code, reason = "each test binary uses its part")]

use ndarray::{Array1, Array2};
use tinytrain::data::{Dataset, FeaturesRef};
use tinytrain::model::Parameters;
use tinytrain::reference::{Network, ops};

/// The rows of a data set as the reference takes them.
pub fn inputs(data: &Dataset) -> (Array2<f64>, Vec<usize>) {
    let values: Vec<f64> = match data.view().scaled(0..data.rows()) {
        FeaturesRef::Bytes(bytes) => bytes.iter().map(|value| f64::from(*value) / 255.0).collect(),
        FeaturesRef::Floats(floats) => floats.iter().copied().map(f64::from).collect(),
    };
    let x = Array2::from_shape_vec((data.rows(), data.inputs), values).unwrap();
    (x, data.labels.iter().map(|label| *label as usize).collect())
}

/// Bounds of the rounding errors of a network's gradients in f32, element by element: eps times the number of
/// roundings on the way times the gradient's magnitude, i.e. the same formulas with the absolute value of every
/// number. An error of the logits d turns into one of p of 2 d p, so the last delta's magnitude is
/// (p (1 + 2 max |Z|) + onehot) / rows.
pub fn gradient_bounds(network: &Network, x: &Array2<f64>, targets: &[usize]) -> Network {
    let magnitude = |w: &Array2<f64>| w.mapv(f64::abs);
    let mut activations = vec![magnitude(x)];
    for (w, b) in network.weights.iter().zip(&network.biases) {
        let below = &activations[activations.len() - 1];
        let above = ops::forward(below.view(), magnitude(w).view(), b.mapv(f64::abs).view());
        activations.push(above);
    }
    let layers = network.weights.len();
    let (largest, rows) = (&activations[layers], targets.len() as f64);
    let mut delta = ops::softmax(network.logits(x.view()).view());
    for (row, target) in targets.iter().enumerate() {
        let most = largest.row(row).fold(0.0f64, |a, b| a.max(*b));
        delta.row_mut(row).mapv_inplace(|p| p * (1.0 + 2.0 * most) / rows);
        delta[[row, *target]] += 1.0 / rows;
    }
    let sizes: usize = network.weights.iter().map(|w| w.nrows() + w.ncols()).sum();
    let roundings = (sizes + targets.len() + 64) as f64 * f64::from(f32::EPSILON);
    let mut bounds = Network { weights: Vec::new(), biases: Vec::new() };
    for layer in (0..layers).rev() {
        let (dw, db) = ops::weight_gradient(activations[layer].view(), delta.view());
        bounds.weights.insert(0, dw * roundings);
        bounds.biases.insert(0, db * roundings);
        delta = ops::input_gradient(delta.view(), magnitude(&network.weights[layer]).view());
    }
    bounds
}

/// Fails with the first number that is further from `want` than its bound.
pub fn assert_within(what: &str, got: &Parameters, want: &Network, bounds: &Network) {
    let got = got.to_reference();
    let flat = |network: &Network| -> Vec<Array1<f64>> {
        let weights = network.weights.iter().map(|w| w.iter().copied().collect());
        weights.chain(network.biases.iter().cloned()).collect()
    };
    for (tensor, ((got, want), bound)) in flat(&got).iter().zip(flat(want)).zip(flat(bounds)).enumerate() {
        for (i, value) in got.indexed_iter() {
            let error = (value - want[i]).abs();
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
