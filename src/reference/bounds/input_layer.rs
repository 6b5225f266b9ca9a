//! Bounds of an input layer: variances of the rounding errors of its inputs and of its gradients.

use std::f64::consts::TAU;

use ndarray::Array2;

use super::{EPS, TINY};
use crate::model::{FREQUENCIES, InputColumn, MIXED, PlacedColumn, blocks};
use crate::reference::ReferenceInput;

/// Bounds of E and of X [rows, inputs]: sixteen standard deviations.
pub fn inputs(input: &ReferenceInput, rows: &Array2<f64>) -> [Array2<f64>; 2] {
    let (e, of_e) = (input.embedded(rows.view()), embedded(input, rows));
    let of_x = scaled(input, &e, &of_e);
    [of_e, of_x].map(|of| of.mapv(|variance| 16.0 * variance.sqrt() + TINY))
}

/// Bounds of the gradients by the parameters of an input layer, for exact gradients by X.
pub fn input_gradients(input: &ReferenceInput, rows: &Array2<f64>, dx: &Array2<f64>) -> ReferenceInput {
    let e = input.embedded(rows.view());
    gradients(input, rows, [&e, &embedded(input, rows)], [dx, &Array2::zeros(dx.dim())])
}

/// A standard deviation that covers the rounding of cos and sin of the turns x w + b: the rounding of the turns, times
/// 2 pi, and 2 eps for the polynomial.
fn of_wave(x: f64, w: f64, b: f64) -> f64 {
    EPS * (TAU * ((x * w).abs() + b.abs()) + 2.0)
}

/// Variances of E [rows, inputs].
pub fn embedded(input: &ReferenceInput, rows: &Array2<f64>) -> Array2<f64> {
    let mut variances = Array2::zeros((rows.nrows(), input.layer.inputs()));
    for PlacedColumn { number, column, input: first, weights } in input.layer.placed() {
        if column != InputColumn::Periodic {
            continue;
        }
        let w = &input.weights[4 * weights..];
        for ((row, x), o) in
            rows.column(number).indexed_iter().flat_map(|at| (0..MIXED).map(move |o| (at, o)))
        {
            let of = |k: usize| {
                let mixing = w[(2 + o) * FREQUENCIES + k];
                (mixing * (of_wave(*x, w[k], w[FREQUENCIES + k]) + EPS)).powi(2)
            };
            // Sums of 17 numbers round, each by at most the sum of their magnitudes.
            let all: f64 = (0..FREQUENCIES).map(|k| w[(2 + o) * FREQUENCIES + k].powi(2)).sum();
            let sums = 17.0 * EPS * EPS * (all + w[(2 + MIXED) * FREQUENCIES + o].powi(2));
            variances[[row, first + 1 + o]] = (0..FREQUENCIES).map(of).sum::<f64>() + sums;
        }
    }
    variances
}

/// Variances of X = E s from the variances of E.
pub fn scaled(input: &ReferenceInput, embedded: &Array2<f64>, of_embedded: &Array2<f64>) -> Array2<f64> {
    let scale = |j: usize| input.scale.get(j).copied().unwrap_or(1.0);
    Array2::from_shape_fn(embedded.dim(), |(i, j)| {
        let rounding = if input.scale.is_empty() { 0.0 } else { EPS * embedded[[i, j]] * scale(j) };
        scale(j).powi(2) * of_embedded[[i, j]] + rounding.powi(2)
    })
}

/// Bounds of the gradients, sixteen standard deviations, from E, dX and their variances.
pub fn gradients(
    input: &ReferenceInput,
    rows: &Array2<f64>,
    [embedded, of_embedded]: [&Array2<f64>; 2],
    [dx, of_dx]: [&Array2<f64>; 2],
) -> ReferenceInput {
    let mut to = input.zeros();
    // A sum over all rows; each addition rounds once more.
    let walk = 2.0 * (rows.nrows() as f64 + 4.0) * EPS * EPS;
    for (j, of) in to.scale.iter_mut().enumerate() {
        *of = (0..rows.nrows())
            .map(|i| {
                let (e, dx) = (embedded[[i, j]], dx[[i, j]]);
                e.powi(2) * of_dx[[i, j]] + dx.powi(2) * of_embedded[[i, j]] + walk * (e * dx).powi(2)
            })
            .sum();
    }
    let (de, of_de) = (input.scaled(dx), scaled(input, dx, of_dx));
    for PlacedColumn { number, column, input: first, weights } in input.layer.placed() {
        let (w, to) = (&input.weights[4 * weights..], &mut to.weights[4 * weights..]);
        for (i, x) in rows.column(number).indexed_iter() {
            let of = |j: usize| (de[[i, first + j]], of_de[[i, first + j]]);
            match column {
                InputColumn::Number | InputColumn::OneHot { .. } => {}
                InputColumn::Embedding { categories, size } => {
                    let known = *x >= 0.0 && x.fract() == 0.0 && *x < categories as f64;
                    for k in (0..size).filter(|_| known) {
                        let (de, of_de) = of(k);
                        to[4 * *x as usize * blocks(size) + k] += of_de + walk * de.powi(2);
                    }
                }
                InputColumn::Periodic => {
                    for o in 0..MIXED {
                        let (de, of_de) = of(1 + o);
                        to[(2 + MIXED) * FREQUENCIES + o] += of_de + walk * de.powi(2);
                        for k in 0..FREQUENCIES {
                            let (frequency, phase) = (w[k], w[FREQUENCIES + k]);
                            let mixing = w[(2 + o) * FREQUENCIES + k];
                            let (sin, cos) = (TAU * (x * frequency + phase)).sin_cos();
                            let wave = of_wave(*x, frequency, phase).powi(2);
                            let of_product = |wave_value: f64| {
                                wave_value.powi(2) * of_de + de.powi(2) * (wave + walk * wave_value.powi(2))
                            };
                            to[(2 + o) * FREQUENCIES + k] += of_product(cos);
                            // The sum over the three mixtures comes near 0 if they cancel.
                            let of_slope = (TAU * mixing).powi(2) * (of_product(sin) + walk * de.powi(2));
                            to[FREQUENCIES + k] += of_slope;
                            to[k] += x.powi(2) * of_slope;
                        }
                    }
                }
            }
        }
    }
    for of in to.weights.iter_mut().chain(&mut to.scale) {
        *of = 16.0 * of.sqrt() + TINY;
    }
    to
}
