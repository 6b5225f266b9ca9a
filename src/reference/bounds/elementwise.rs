//! Of activations, number by number.

use ndarray::{Array2, Zip};

use super::EPS;
use crate::reference::ops;
use crate::step::Activation;

/// Of the rounding of a value or slope: none of ReLU and of the identity, else 12 eps (1 + |result|). Those are made of
/// exp(-|z|), which WGSL promises within 3 + 2 |z| units in the last place, and |z| exp(-|z|) (3 + 2 |z|) stays below 3.
fn rounding(f: Activation, result: f64) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 0.0,
        _ => 12.0 * EPS * (1.0 + result.abs()),
    }
}

/// No slope is above this.
fn steepest(f: Activation) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 1.0,
        _ => 2.0,
    }
}

/// Of f(Z) M, where Z is off by `of_z`. The product with the mask M of dropout rounds where that is
/// not 1.
pub fn activation(f: Activation, z: &Array2<f64>, of_z: &Array2<f64>, mask: &Array2<f64>) -> Array2<f64> {
    Zip::from(z).and(of_z).and(mask).map_collect(|z, of_z, mask| {
        let y = ops::activation(f, *z);
        (steepest(f) * of_z + rounding(f, y) + dropout(y, *mask)) * mask
    })
}

/// Of dY M f'(Z), where dY is off by `of_dy`, and f' may be computed from f(Z) as f32 holds it.
pub fn activation_gradient(f: Activation, [dy, z, of_dy, mask]: [&Array2<f64>; 4]) -> Array2<f64> {
    Zip::from(dy).and(z).and(of_dy).and(mask).map_collect(|dy, z, of_dy, mask| {
        let slope = ops::activation_slope(f, *z);
        (steepest(f) * of_dy + dy.abs() * (2.0 * rounding(f, slope) + dropout(slope, *mask))) * mask
    })
}

/// Of products with a mask: its own rounding and that of the product.
fn dropout(value: f64, mask: f64) -> f64 {
    if mask == 1.0 { 0.0 } else { 2.0 * EPS * value.abs() }
}
