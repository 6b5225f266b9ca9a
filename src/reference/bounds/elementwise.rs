//! Bounds of what is computed number by number: activations, and updates of parameters.

use ndarray::{Array2, Zip};

use super::EPS;
use crate::reference::ops;
use crate::step::{Activation, Optimizer};

/// Of the rounding of a value or slope: none of ReLU and of the identity, else 12 eps (1 + |result|). Those are made of
/// exp(-|z|), which WGSL promises within 3 + 2 |z| units in the last place, and |z| exp(-|z|) (3 + 2 |z|) stays below 3.
fn rounding(f: Activation, result: f64) -> f64 {
    match f {
        Activation::Relu | Activation::Identity => 0.0,
        _ => 12.0 * EPS * (1.0 + result.abs()),
    }
}

/// Of f(Z) M, where Z is off by `of_z`: no slope is above 2. The product with the mask M of dropout rounds where that is
/// not 1.
pub fn activation(f: Activation, z: &Array2<f64>, of_z: &Array2<f64>, mask: &Array2<f64>) -> Array2<f64> {
    Zip::from(z).and(of_z).and(mask).map_collect(|z, of_z, mask| {
        let y = ops::activation(f, *z);
        (2.0 * of_z + rounding(f, y) + dropout(y, *mask)) * mask
    })
}

/// Of dY M f'(Z), where dY is off by `of_dy`, and f' may be computed from f(Z) as f32 holds it.
pub fn activation_gradient(f: Activation, [dy, z, of_dy, mask]: [&Array2<f64>; 4]) -> Array2<f64> {
    Zip::from(dy).and(z).and(of_dy).and(mask).map_collect(|dy, z, of_dy, mask| {
        let slope = ops::activation_slope(f, *z);
        (2.0 * of_dy + dy.abs() * (2.0 * rounding(f, slope) + dropout(slope, *mask))) * mask
    })
}

/// Of products with a mask: its own rounding and that of the product.
fn dropout(value: f64, mask: f64) -> f64 {
    if mask == 1.0 { 0.0 } else { 2.0 * EPS * value.abs() }
}

/// What [`ops::optimize`] gives, p and the two numbers of state, and how far each may be off where the gradient is off by
/// `of_g`: twice as far as that moves it, and some roundings at the size of what is added up.
pub fn optimize(
    optimizer: &Optimizer,
    (p, g, of_g): (f64, f64, f64),
    state: [f64; 2],
    settings: [f64; 2],
    t: u64,
) -> [[f64; 2]; 3] {
    let after = |g: f64| {
        let (p, state) = ops::optimize(optimizer, (p, g), state, settings, t);
        [p, state[0], state[1]]
    };
    let [want, above, below] = [g, g + of_g, g - of_g].map(after);
    let linear = g.abs() + p.abs() + state[0].abs();
    let sizes = [p.abs() + (want[0] - p).abs(), linear + want[1].abs(), g * g + p * p + state[1]];
    [0, 1, 2].map(|place| {
        let moved = (above[place] - want[place]).abs().max((below[place] - want[place]).abs());
        [want[place], 2.0 * moved + 16.0 * EPS * sizes[place]]
    })
}
