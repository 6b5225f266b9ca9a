//! Bounds on the distance of f32 results from the reference: from rounding theory, element by element.
//!
//! eps is the distance from 1 to the next f32, twice the unit roundoff; the factor 2 is a margin for devices that round
//! less accurately than IEEE 754 requires.

mod elementwise;
mod input_layer;
mod step;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::{ReferenceNetwork, ReferencePass, ReferenceTargets, ops};
use crate::step::{Activation, Loss};

pub use elementwise::{activation, activation_gradient};
pub use input_layer::{input_gradients, inputs};
pub use step::{optimize, step};

const EPS: f64 = f32::EPSILON as f64;
/// Results below this bound may be flushed to 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Bound of C = A B: |error| <= (k + 4) eps (|A||B|). A sum of k rounded products in any order is within k eps / 2
/// (|A||B|) (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); the 4 allows for a bias and an
/// activation.
pub fn matmul(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let k = a.ncols() as f64;
    a.mapv(f64::abs).dot(&b.mapv(f64::abs)) * ((k + 4.0) * EPS) + TINY
}

/// Bound of a sum by a tree over runs of at most 16 elements, in several passes, if the magnitudes of all `elements`
/// add up to `magnitude`: in each pass an element takes part in the additions of its run and the levels of the tree, so
/// |error| <= (16 passes + log2 n) eps / 2 (Higham, section 4.2). A pass reduces the elements to at most a sixteenth.
pub fn sum(magnitude: f64, elements: usize) -> f64 {
    let levels = (elements.max(2) as f64).log2();
    (16.0 * (1.0 + levels / 4.0) + levels) * EPS * magnitude + TINY
}

/// Bound of a value of a distorted image of values up to `largest`, with coordinates up to `reach`: a coordinate is a sum of
/// a few products, of weights that are polynomials, and of a sine, all rounded, within 64 eps of the largest; a value
/// changes by at most twice the largest value for each pixel of each of two coordinates; and its own interpolation is
/// rounded some times. Bytes are rounded to multiples of 1 / 255.
pub fn augment(largest: f64, reach: f64, are_bytes: bool) -> f64 {
    let rounded = if are_bytes { 0.5 / 255.0 } else { 0.0 };
    (256.0 * reach + 16.0) * EPS * largest + rounded + TINY
}

/// Bound of softmax by rows, exp(z - max) / sum, from the accuracies that WGSL guarantees (accuracy of built-in
/// expressions): subtraction rounds once, which exp turns into a relative error of |z - max| eps; exp itself is within
/// 3 + 2
/// |x| units in the last place; a sum of n terms within n units; division within 2.5.
pub fn softmax(z: ArrayView2<f64>) -> Array2<f64> {
    let p = ops::softmax(z);
    let classes = z.ncols() as f64;
    Array2::from_shape_fn(z.dim(), |(i, j)| {
        let maximum = z.row(i).fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let spread = (0..z.ncols()).map(|c| (maximum - z[[i, c]]).min(90.0)).fold(0.0, f64::max);
        let units = 3.0 * (maximum - z[[i, j]]).min(110.0) + 3.0 * spread + classes + 10.0;
        p[[i, j]] * units * EPS + TINY
    })
}

/// Bound of a row's log-sum-exp, log-softmax or cross-entropy: the relative error of the sum (see [`softmax`]), the
/// error of the logarithm (absolute 2^-21 on [0.5, 2], else 3 units in the last place), and two roundings at the size
/// of the logits.
pub fn log_sum_exp(z: ArrayView2<f64>) -> Array1<f64> {
    z.rows()
        .into_iter()
        .map(|row| {
            let largest = row.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            EPS * (4.0 * largest + 300.0 + row.len() as f64) + 2f64.powi(-21)
        })
        .collect()
}

/// Bounds of the gradients of a network without dropout: see [`gradients_of`].
pub fn gradients<'a>(
    network: &ReferenceNetwork,
    x: &Array2<f64>,
    targets: impl Into<ReferenceTargets<'a>>,
) -> ReferenceNetwork {
    gradients_of(network, &network.pass(x.view(), None), &targets.into())
}

/// Bounds of the gradients of a forward pass: sixteen standard deviations of the rounding errors, as if each were
/// independent with a deviation of eps / 2 (N. J. Higham, T. Mary, "A new approach to probabilistic rounding error
/// analysis", SIAM J. Sci. Comput. 41, 2019). Worst cases would add up through the layers to bounds that no wrong
/// gradient exceeds. Variances propagate like the numbers, forward and backward, to first order: through an activation
/// f with f'^2, to its slope with f''^2; value and slope have additional rounding errors (`activation_rounding` below),
/// and so has the product with a mask of dropout. The bounds do not hold near a kink of an activation or of a loss,
/// because there a rounding error decides on the slope.
pub fn gradients_of(
    network: &ReferenceNetwork,
    pass: &ReferencePass,
    targets: &ReferenceTargets<'_>,
) -> ReferenceNetwork {
    let ReferencePass { embedded, activations, pre_activations, masks } = pass;
    let layers = network.weights.len();
    // Variances of the inputs of each layer, and of its results.
    let before = network.input.as_ref().zip(embedded.as_ref());
    let of_embedded = before.map(|(input, (rows, _))| input_layer::embedded(input, rows));
    let mut of_inputs = vec![match (before, &of_embedded) {
        (Some((input, (_, embedded))), Some(of)) => input_layer::scaled(input, embedded, of),
        _ => Array2::zeros(activations[0].dim()),
    }];
    let mut of_z = Vec::new();
    for (layer, w) in network.weights.iter().enumerate() {
        let (input, z) = (&activations[layer], &pre_activations[layer]);
        let variance = of_inputs[layer].dot(&square(w)) + rounding(input, &w.view(), z);
        if let Some(hidden) = network.hidden.get(layer) {
            let f = hidden.activation;
            let carried = Array2::from_shape_fn(z.dim(), |at| {
                let slope = ops::activation_slope(f, z[at]);
                slope.powi(2) * variance[at] + activation_rounding(f, ops::activation(f, z[at])).powi(2)
            });
            of_inputs.push(
                carried * square(&masks[layer]) + masked_rounding(&activations[layer + 1], &masks[layer]),
            );
        }
        of_z.push(variance);
    }
    let mut of_delta = of_loss_gradient(network.loss, &activations[layers], &of_z[layers - 1], targets);
    let deltas = network.deltas_of(pass, targets);
    let mut bounds = network.holding(Vec::new(), Vec::new());
    let bound = |variance: f64| 16.0 * variance.sqrt() + TINY;
    for layer in (0..layers).rev() {
        let (input, delta) = (&activations[layer], &deltas[layer]);
        let (dw, db) = ops::weight_gradient(input.view(), delta.view());
        let carried = square(input).t().dot(&of_delta) + of_inputs[layer].t().dot(&square(delta));
        let of_dw = carried + rounding(&input.t().to_owned(), &delta.view(), &dw);
        let ones = Array2::ones((1, delta.nrows()));
        let of_db = ones.dot(&of_delta) + rounding(&ones, &delta.view(), &db.insert_axis(Axis(0)));
        bounds.weights.insert(0, of_dw.mapv(bound));
        bounds.biases.insert(0, of_db.row(0).mapv(bound));
        let w = &network.weights[layer];
        let dh = ops::input_gradient(delta.view(), w.view());
        let of_dh = of_delta.dot(&square(w).t()) + rounding(delta, &w.t(), &dh);
        let Some(below) = layer.checked_sub(1) else {
            bounds.input = before.zip(of_embedded.as_ref()).map(|((input, (rows, embedded)), of)| {
                input_layer::gradients(input, rows, [embedded, of], [&dh, &of_dh])
            });
            break;
        };
        let (f, z) = (network.hidden[below].activation, &pre_activations[below]);
        let masked = masked_rounding(&deltas[below], &masks[below]);
        of_delta = Array2::from_shape_fn(of_dh.dim(), |at| {
            let slope = ops::activation_slope(f, z[at]);
            let of_slope =
                curvature(f, z[at]).powi(2) * of_z[below][at] + activation_rounding(f, slope).powi(2);
            let mask = masks[below][at];
            mask.powi(2) * (slope.powi(2) * of_dh[at] + dh[at].powi(2) * of_slope) + masked[at]
        });
    }
    bounds
}

fn square(values: &Array2<f64>) -> Array2<f64> {
    values.mapv(|value| value * value)
}

/// A standard deviation that covers the rounding of an activation's value or slope `result`: none for ReLU and the
/// identity, one product for leaky ReLU, otherwise 4 eps (1 + |result|). The other activations are computed from e =
/// exp(-|z|), which WGSL guarantees within 3 + 2 |z| units in the last place, and z e (3 + 2 |z|) has its largest value
/// below 3.
fn activation_rounding(f: Activation, result: f64) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 0.0,
        Activation::LeakyRelu => EPS * result.abs(),
        _ => 4.0 * EPS * (1.0 + result.abs()),
    }
}

/// f''(z), as a central difference of the slope; 0 for piecewise linear f.
fn curvature(f: Activation, z: f64) -> f64 {
    let step = 1e-6;
    match f {
        Activation::Relu | Activation::Identity | Activation::LeakyRelu => 0.0,
        _ => (ops::activation_slope(f, z + step) - ops::activation_slope(f, z - step)) / (2.0 * step),
    }
}

/// The variance of the rounding of products with a mask: none for mask values of 0 or 1.
fn masked_rounding(products: &Array2<f64>, mask: &Array2<f64>) -> Array2<f64> {
    Array2::from_shape_fn(mask.dim(), |at| if mask[at] == 1.0 { 0.0 } else { (EPS * products[at]).powi(2) })
}

/// The variance of the gradient by the outputs Z of a network, from the variance of Z.
fn of_loss_gradient(
    loss: Loss,
    z: &Array2<f64>,
    of_z: &Array2<f64>,
    targets: &ReferenceTargets<'_>,
) -> Array2<f64> {
    let share = |row: usize| targets.weight(row) / targets.rows() as f64;
    if loss == Loss::CrossEntropy {
        // p = softmax z: dp[j] = p[j] (dz[j] - sum of p[c] dz[c]).
        let p = ops::softmax(z.view());
        let common = (square(&p) * of_z).sum_axis(Axis(1));
        let local = softmax(z.view()) + 4.0 * EPS;
        return Array2::from_shape_fn(z.dim(), |(i, j)| {
            let carried = p[[i, j]].powi(2) * (of_z[[i, j]] + common[i]);
            share(i).powi(2) * (carried + local[[i, j]].powi(2))
        });
    }
    let (t, gradient) = (targets.matrix(z.ncols()), ops::loss_gradient(loss, z.view(), targets));
    Array2::from_shape_fn(z.dim(), |(i, j)| {
        let second_derivative = match loss {
            Loss::Mse => 2.0,
            Loss::Huber if (z[[i, j]] - t[[i, j]]).abs() <= 1.0 => 1.0,
            Loss::BinaryCrossEntropy => ops::activation_slope(Activation::Sigmoid, z[[i, j]]),
            _ => 0.0,
        };
        let share = share(i) / z.ncols() as f64;
        // The probability of a label has its own rounding errors, as an activation has.
        let own = if loss.of_labels() { 2.0 * share } else { 0.0 };
        let carried = (second_derivative * share).powi(2) * of_z[[i, j]];
        carried + (4.0 * EPS * (own + gradient[[i, j]].abs())).powi(2)
    })
}

/// The variance of the rounding errors of C = A B, in which each of k products and sums rounds: partial sums in any
/// order stay near the path from 0 to C, except for a random walk with steps of the size of the products.
fn rounding(a: &Array2<f64>, b: &ArrayView2<f64>, c: &Array2<f64>) -> Array2<f64> {
    let walk = a.mapv(|value| value * value).dot(&b.mapv(|value| value * value));
    let roundings = 2.0 * (a.ncols() as f64 + 4.0);
    (walk + c.mapv(|value| value * value)) * (roundings * (EPS / 2.0).powi(2))
}
