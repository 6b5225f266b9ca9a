//! Activations and dropout for the tests of several kernels, with their bounds.

use ndarray::Array2;
use tinytrain::kernels::{Nonlinearity, pad_rows};
use tinytrain::reference::{bounds, ops};
use tinytrain::step::{Activation, Dropout};

use crate::lab::{Lab, batch, wide};

/// Layer with dropout.
const LAYER: usize = 2;
/// Dropout rate.
const SHARE: f32 = 0.3;

/// No activation and no dropout.
pub const LINEAR: Nonlinearity = Nonlinearity::LINEAR;
/// ReLU without dropout.
pub const RELU: Nonlinearity = Nonlinearity::RELU;

/// Returns the activation of this number in turn, with dropout in every other turn.
pub fn numbered(number: usize) -> Nonlinearity {
    let activation = Activation::ALL[number % Activation::ALL.len()];
    let dropout = (number / Activation::ALL.len() + number) % 2 == 1;
    Nonlinearity { activation, dropout: Dropout::new(SHARE, LAYER).filter(|_| dropout) }
}

/// Returns all activations, each with dropout and without.
pub fn all() -> impl Iterator<Item = Nonlinearity> {
    (0..2 * Activation::ALL.len()).map(numbered)
}

/// Returns values at and near the saturation of activations, also infinite ones; and the same, finite, in
/// f64.
pub fn far() -> (Array2<f32>, Array2<f64>) {
    let most = (1u128 << 100) as f32;
    let far = [9.0, 15.0, 101.0, 1e9, most, f32::INFINITY];
    let z =
        Array2::from_shape_fn((1, 2 * far.len()), |(_, i)| if i % 2 == 0 { far[i / 2] } else { -far[i / 2] });
    let finite = wide(&z.mapv(|z| z.clamp(-most, most)));
    (z, finite)
}

/// Returns the dropout factors of a batch's outputs, in the step of [`batch`].
pub fn mask(it: &Nonlinearity, dim: (usize, usize)) -> Array2<f64> {
    match it.dropout {
        Some(_) => ops::dropout_mask(f64::from(SHARE), LAYER, dim, &batch(dim.0)),
        None => Array2::ones(dim),
    }
}

/// Returns Y = f(Z), with dropout.
pub fn value(it: &Nonlinearity, z: &Array2<f64>) -> Array2<f64> {
    z.mapv(|z| ops::activation(it.activation, z)) * mask(it, z.dim())
}

/// Returns the bound of Y if Z is off by `bound`.
pub fn value_bound(it: &Nonlinearity, z: &Array2<f64>, bound: &Array2<f64>) -> Array2<f64> {
    bounds::activation(it.activation, z, bound, &mask(it, z.dim()))
}

/// Returns dZ = dY f'(Z), with dropout.
pub fn gradient(it: &Nonlinearity, dy: &Array2<f64>, z: &Array2<f64>) -> Array2<f64> {
    let slope = z.mapv(|z| ops::activation_slope(it.activation, z));
    dy * &slope * mask(it, z.dim())
}

/// Returns the bound of dZ if dY is off by `bound`, and f' may be computed from Y in f32.
pub fn gradient_bound(
    it: &Nonlinearity,
    dy: &Array2<f64>,
    z: &Array2<f64>,
    bound: &Array2<f64>,
) -> Array2<f64> {
    bounds::activation_gradient(it.activation, [dy, z, bound, &mask(it, z.dim())])
}

/// Returns Y in f32, followed by Z if the activation keeps it, on the device.
pub fn kept(lab: &Lab, it: &Nonlinearity, z: &Array2<f32>) -> wgpu::Buffer {
    let flat = |matrix: &Array2<f32>| pad_rows(&matrix.iter().copied().collect::<Vec<_>>(), z.ncols());
    let y = value(it, &wide(z)).mapv(|y| y as f32);
    let behind = if it.keeps_z() { flat(z) } else { Vec::new() };
    lab.upload(&[flat(&y), behind].concat())
}
