//! Activations and dropout, as the tests of several kernels take them, with their bounds.

use ndarray::Array2;
use tinytrain::kernels::{Nonlinearity, pad_rows};
use tinytrain::reference::{bounds, ops};
use tinytrain::step::{Activation, Dropout};

use crate::lab::{Lab, batch, wide};

/// The layer that has dropout.
const LAYER: usize = 2;
/// The share of its units that is left out.
const SHARE: f32 = 0.3;

/// No activation and no dropout.
pub const LINEAR: Nonlinearity = Nonlinearity::LINEAR;
/// ReLU without dropout.
pub const RELU: Nonlinearity = Nonlinearity::RELU;

/// Number `number`: the activations in turn, with dropout in every other turn.
pub fn numbered(number: usize) -> Nonlinearity {
    let activation = Activation::ALL[number % Activation::ALL.len()];
    let dropout = (number / Activation::ALL.len() + number) % 2 == 1;
    Nonlinearity { activation, dropout: Dropout::new(SHARE, LAYER).filter(|_| dropout) }
}

/// All activations, each with dropout and without.
pub fn all() -> impl Iterator<Item = Nonlinearity> {
    (0..2 * Activation::ALL.len()).map(numbered)
}

/// Values where activations have reached their limits or are about to, infinite ones too; and the same, finite.
pub fn far() -> (Array2<f32>, Array2<f64>) {
    let most = (1u128 << 100) as f32;
    let far = [9.0, 15.0, 101.0, 1e9, most, f32::INFINITY];
    let z =
        Array2::from_shape_fn((1, 2 * far.len()), |(_, i)| if i % 2 == 0 { far[i / 2] } else { -far[i / 2] });
    let finite = wide(&z.mapv(|z| z.clamp(-most, most)));
    (z, finite)
}

/// What dropout multiplies the outputs of a batch by, in the step of [`batch`].
pub fn mask(it: &Nonlinearity, dim: (usize, usize)) -> Array2<f64> {
    match it.dropout {
        Some(_) => ops::dropout_mask(f64::from(SHARE), LAYER, dim, &batch(dim.0)),
        None => Array2::ones(dim),
    }
}

/// Y = f(Z), and what dropout leaves of it.
pub fn value(it: &Nonlinearity, z: &Array2<f64>) -> Array2<f64> {
    z.mapv(|z| ops::activation(it.activation, z)) * mask(it, z.dim())
}

/// Its bound where Z is off by `bound`.
pub fn value_bound(it: &Nonlinearity, z: &Array2<f64>, bound: &Array2<f64>) -> Array2<f64> {
    bounds::activation(it.activation, z, bound, &mask(it, z.dim()))
}

/// dZ = dY f'(Z), where dropout kept Y.
pub fn gradient(it: &Nonlinearity, dy: &Array2<f64>, z: &Array2<f64>) -> Array2<f64> {
    let slope = z.mapv(|z| ops::activation_slope(it.activation, z));
    dy * &slope * mask(it, z.dim())
}

/// Its bound where dY is off by `bound`, and f' may be computed from Y as f32 holds it.
pub fn gradient_bound(
    it: &Nonlinearity,
    dy: &Array2<f64>,
    z: &Array2<f64>,
    bound: &Array2<f64>,
) -> Array2<f64> {
    bounds::activation_gradient(it.activation, [dy, z, bound, &mask(it, z.dim())])
}

/// Y as f32 holds it, and behind it Z where the activation keeps that, on the device.
pub fn kept(lab: &Lab, it: &Nonlinearity, z: &Array2<f32>) -> wgpu::Buffer {
    let flat = |matrix: &Array2<f32>| pad_rows(&matrix.iter().copied().collect::<Vec<_>>(), z.ncols());
    let y = value(it, &wide(z)).mapv(|y| y as f32);
    let behind = if it.keeps_z() { flat(z) } else { Vec::new() };
    lab.upload(&[flat(&y), behind].concat())
}
