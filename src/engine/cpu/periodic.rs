//! Periodic columns of an input layer: what the cosines of a number make of it, and the gradients by the weights of that. All rows of a
//! column one after the other, with its weights at hand.

use crate::model::{FREQUENCIES, MIXED, PERIODIC_BLOCKS};
use crate::step::sine_and_cosine;
use crate::vectors::vectorized_loops;

/// Frequencies whose gradients are summed together: with their weights they fill sixteen registers of eight lanes.
const LANES: usize = 8;

/// Weights of a column: its frequencies, its phases, and what mixes them into each input.
const ROWS: usize = 2 + MIXED;

/// What a row has for the gradients: the number, and the gradients by the inputs that are made of it.
pub type RowGradient = [f32; 1 + MIXED];

/// The rows of weights, and the bias of each input.
fn rows(weights: &[f32]) -> (&[[f32; FREQUENCIES]; ROWS], &[f32]) {
    let (rows, bias) = weights[..4 * PERIODIC_BLOCKS].split_at(ROWS * FREQUENCIES);
    (rows.as_chunks().0.first_chunk().expect("as many numbers as all rows have"), bias)
}

/// Makes the inputs `e` of each row from its number: the number itself, and behind it what the cosines make of it.
pub fn mix<'a>(weights: &[f32], mut each: impl Iterator<Item = (f32, &'a mut [f32])>) {
    let ([frequencies, phases, mixing @ ..], bias) = rows(weights);
    vectorized_loops!({
        for (x, e) in each.by_ref() {
            let mut cosines = [0.0; FREQUENCIES];
            for k in 0..FREQUENCIES {
                cosines[k] = sine_and_cosine(x * frequencies[k] + phases[k]).1;
            }
            e[0] = x;
            for ((e, mixing), bias) in e[1..].iter_mut().zip(mixing).zip(bias) {
                let mut products = cosines;
                products.iter_mut().zip(mixing).for_each(|(product, mixing)| *product *= mixing);
                *e = bias + sum(products);
            }
        }
    });
}

/// The sum of all, as a tree: neighbouring halves side by side.
#[inline(always)]
fn sum(mut values: [f32; FREQUENCIES]) -> f32 {
    let mut half = FREQUENCIES / 2;
    while half > 0 {
        for i in 0..half {
            values[i] += values[i + half];
        }
        half /= 2;
    }
    values[0]
}

/// Adds the gradients by the weights of a column to `to`, row by row.
pub fn add_gradient(weights: &[f32], given: &[RowGradient], to: &mut [f32]) {
    let (rows, _) = rows(weights);
    let (to, bias) = to.split_at_mut(ROWS * FREQUENCIES);
    for [_, de @ ..] in given {
        bias.iter_mut().zip(de).for_each(|(to, de)| *to += de);
    }
    let (to, _) = to.as_chunks_mut::<FREQUENCIES>();
    vectorized_loops!({
        for first in (0..FREQUENCIES).step_by(LANES) {
            let place = first..first + LANES;
            let mut held = [[0.0; LANES]; 2 * ROWS];
            for (held, row) in held.iter_mut().zip(rows.iter().chain(&*to)) {
                held.copy_from_slice(&row[place.clone()]);
            }
            let [frequencies, phases, m0, m1, m2, mut df, mut dp, mut dm0, mut dm1, mut dm2] = held;
            for &[x, de0, de1, de2] in given {
                let (mut sines, mut cosines) = ([0.0; LANES], [0.0; LANES]);
                for k in 0..LANES {
                    (sines[k], cosines[k]) = sine_and_cosine(x * frequencies[k] + phases[k]);
                }
                for k in 0..LANES {
                    dm0[k] += cosines[k] * de0;
                    dm1[k] += cosines[k] * de1;
                    dm2[k] += cosines[k] * de2;
                    let by_cosine = m0[k] * de0 + m1[k] * de1 + m2[k] * de2;
                    let slope = -std::f32::consts::TAU * sines[k] * by_cosine;
                    dp[k] += slope;
                    df[k] += slope * x;
                }
            }
            for (to, sums) in to.iter_mut().zip([df, dp, dm0, dm1, dm2]) {
                to[place.clone()].copy_from_slice(&sums);
            }
        }
    });
}
