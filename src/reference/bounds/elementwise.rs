//! Bounds of activations, element by element.

use ndarray::{Array2, Zip};

use super::EPS;
use crate::reference::ops;
use crate::step::Activation;

/// Bound of the rounding of a value or slope: none for ReLU and the identity, otherwise 12 eps (1 + |result|). The
/// other activations are computed from exp(-|z|), which WGSL guarantees within 3 + 2 |z| units in the last place, and
/// |z| exp(-|z|) (3 + 2 |z|) stays below 3.
fn rounding(f: Activation, result: f64) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 0.0,
        _ => 12.0 * EPS * (1.0 + result.abs()),
    }
}

/// An upper bound of the slope.
fn steepest(f: Activation) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 1.0,
        _ => 2.0,
    }
}

/// Bound of f(Z) M for an error `of_z` of Z. The product with the mask M of dropout rounds if the mask value is not 1.
pub fn activation(f: Activation, z: &Array2<f64>, of_z: &Array2<f64>, mask: &Array2<f64>) -> Array2<f64> {
    Zip::from(z).and(of_z).and(mask).map_collect(|z, of_z, mask| {
        let y = ops::activation(f, *z);
        (steepest(f) * of_z + rounding(f, y) + dropout(y, *mask)) * mask
    })
}

/// Bound of dY M f'(Z) for an error `of_dy` of dY; f' may be computed from f(Z) as stored in f32.
pub fn activation_gradient(f: Activation, [dy, z, of_dy, mask]: [&Array2<f64>; 4]) -> Array2<f64> {
    Zip::from(dy).and(z).and(of_dy).and(mask).map_collect(|dy, z, of_dy, mask| {
        let slope = ops::activation_slope(f, *z);
        (steepest(f) * of_dy + dy.abs() * (2.0 * rounding(f, slope) + dropout(slope, *mask))) * mask
    })
}

/// Bound of products with a mask: the rounding of the mask, and the rounding of the product.
fn dropout(value: f64, mask: f64) -> f64 {
    if mask == 1.0 { 0.0 } else { 2.0 * EPS * value.abs() }
}
