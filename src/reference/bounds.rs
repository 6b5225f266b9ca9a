//! How far f32 may be from the reference: bounds from rounding theory, element by element.
//!
//! eps is the distance from 1 to the next f32, twice the unit roundoff; the factor 2 is left to devices that round less
//! well than IEEE 754 asks.

use ndarray::{Array1, Array2, ArrayView2};

use super::{ReferenceNetwork, ops};

const EPS: f64 = f32::EPSILON as f64;
/// Results below this may be flushed to 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Of C = A B: |error| <= (k + 4) eps (|A||B|). A sum of k rounded products in any order is within k eps / 2 (|A||B|)
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); the 4 is for a bias and an activation on top.
pub fn matmul(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let k = a.ncols() as f64;
    a.mapv(f64::abs).dot(&b.mapv(f64::abs)) * ((k + 4.0) * EPS) + TINY
}

/// Of a sum by a tree over runs of at most 16 elements, in as many passes as it takes, where the magnitudes of all
/// `elements` add up to `magnitude`: an element goes through the additions of its run and the levels of the tree in
/// each pass, so |error| <= (16 passes + log2 n) eps / 2 (Higham, section 4.2). A pass leaves at most a sixteenth.
pub fn sum(magnitude: f64, elements: usize) -> f64 {
    let levels = (elements.max(2) as f64).log2();
    (16.0 * (1.0 + levels / 4.0) + levels) * EPS * magnitude + TINY
}

/// Of softmax by rows, exp(z - max) / sum, as WGSL promises its parts (accuracy of built-in expressions): subtraction
/// rounds once, which exp turns into a relative error of |z - max| eps; exp itself is within 3 + 2 |x| units in the
/// last place; a sum of n terms within n units; division within 2.5.
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

/// Of a row's log-sum-exp, log-softmax or cross-entropy: the relative error of the sum (see [`softmax`]), that of the
/// logarithm (absolute 2^-21 on [0.5, 2], else 3 units in the last place), and two roundings at the size of the logits.
pub fn log_sum_exp(z: ArrayView2<f64>) -> Array1<f64> {
    z.rows()
        .into_iter()
        .map(|row| {
            let largest = row.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            EPS * (4.0 * largest + 300.0 + row.len() as f64) + 2f64.powi(-21)
        })
        .collect()
}

/// Of (softmax(Z) - onehot) / rows: that of softmax, and a rounding of the difference and of the quotient.
pub fn softmax_cross_entropy(z: ArrayView2<f64>) -> Array2<f64> {
    (softmax(z) + 4.0 * EPS) / z.nrows() as f64
}

/// Of the gradients of a network: sixteen standard deviations of the rounding errors, as if each were independent with
/// a deviation of eps / 2 (N. J. Higham, T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J.
/// Sci. Comput. 41, 2019). Worst cases add up through the layers to bounds that no wrong gradient would exceed.
/// Variances go the way that the numbers go, forward and backward, to first order.
pub fn gradients(network: &ReferenceNetwork, x: &Array2<f64>, targets: &[usize]) -> ReferenceNetwork {
    let square = |values: &Array2<f64>| values.mapv(|value| value * value);
    let activations = network.activations(x.view());
    let layers = network.weights.len();
    let mut variances = vec![Array2::zeros(x.dim())];
    for (layer, w) in network.weights.iter().enumerate() {
        let above = &activations[layer + 1];
        let carried = variances[layer].dot(&square(w));
        let variance = carried + rounding(&activations[layer], &w.view(), above);
        let hidden = layer + 1 < layers;
        // What ReLU sets to 0 is exactly 0.
        let kept = |(i, j)| if hidden && above[[i, j]] <= 0.0 { 0.0 } else { variance[[i, j]] };
        variances.push(Array2::from_shape_fn(above.dim(), kept));
    }
    let (logits, rows) = (&activations[layers], targets.len() as f64);
    // p = softmax z: dp[j] = p[j] (dz[j] - sum of p[c] dz[c]).
    let (p, of_logits) = (ops::softmax(logits.view()), &variances[layers]);
    let common = (square(&p) * of_logits).sum_axis(ndarray::Axis(1));
    let local = softmax_cross_entropy(logits.view());
    let mut of_delta = Array2::from_shape_fn(p.dim(), |(i, j)| {
        p[[i, j]].powi(2) * (of_logits[[i, j]] + common[i]) / rows.powi(2) + local[[i, j]].powi(2)
    });
    let deltas = network.deltas(x.view(), targets);
    let mut bounds = ReferenceNetwork { weights: Vec::new(), biases: Vec::new() };
    let bound = |variance: f64| 16.0 * variance.sqrt() + TINY;
    for layer in (0..layers).rev() {
        let (input, delta) = (&activations[layer], &deltas[layer]);
        let (dw, db) = ops::weight_gradient(input.view(), delta.view());
        let carried = square(input).t().dot(&of_delta) + variances[layer].t().dot(&square(delta));
        let of_dw = carried + rounding(&input.t().to_owned(), &delta.view(), &dw);
        let ones = Array2::ones((1, delta.nrows()));
        let of_db = ones.dot(&of_delta) + rounding(&ones, &delta.view(), &db.insert_axis(ndarray::Axis(0)));
        bounds.weights.insert(0, of_dw.mapv(bound));
        bounds.biases.insert(0, of_db.row(0).mapv(bound));
        let w = &network.weights[layer];
        let dh = ops::input_gradient(delta.view(), w.view());
        let of_dh = of_delta.dot(&square(w).t()) + rounding(delta, &w.t(), &dh);
        let kept = |(i, j)| if input[[i, j]] <= 0.0 { 0.0 } else { of_dh[[i, j]] };
        of_delta = Array2::from_shape_fn(of_dh.dim(), kept);
    }
    bounds
}

/// The variance of the rounding errors of C = A B, where every one of k products and sums rounds: partial sums in any
/// order stay near the way from 0 to C, give or take a random walk of steps as large as the products.
fn rounding(a: &Array2<f64>, b: &ArrayView2<f64>, c: &Array2<f64>) -> Array2<f64> {
    let walk = a.mapv(|value| value * value).dot(&b.mapv(|value| value * value));
    let roundings = 2.0 * (a.ncols() as f64 + 4.0);
    (walk + c.mapv(|value| value * value)) * (roundings * (EPS / 2.0).powi(2))
}
