//! Periodic columns of an input layer: what the cosines of a number make of it, and the gradients by the weights of that. All rows of a
//! column one after the other, with its weights at hand.

use crate::model::{FREQUENCIES, MIXED, PERIODIC_BLOCKS};
use crate::step::sine_and_cosine;
use crate::vectors::vectorized_loops;

/// Rows that are worked on together, in the place of whole vectors.
const LANES: usize = 16;

/// Weights of a column: its frequencies, its phases, and what mixes them into each input.
const ROWS: usize = 2 + MIXED;

/// What a row has for the gradients: the number, and the gradients by the inputs that are made of it.
pub type RowGradient = [f32; 1 + MIXED];

/// The rows of weights, and the bias of each input.
fn rows(weights: &[f32]) -> (&[[f32; FREQUENCIES]; ROWS], &[f32]) {
    let (rows, bias) = weights[..4 * PERIODIC_BLOCKS].split_at(ROWS * FREQUENCIES);
    (rows.as_chunks().0.first_chunk().expect("as many numbers as all rows have"), bias)
}

/// What some rows have of each output.
type Mixed = [[f32; LANES]; MIXED];

/// Makes the inputs `e` of each row from its number: the number itself, and behind it what the cosines make of it. The products of the
/// cosines are summed as a tree, neighbouring halves side by side.
pub fn mix<'a>(
    weights: &[f32],
    mut numbers: impl Iterator<Item = f32>,
    mut e: impl Iterator<Item = &'a mut [f32]>,
) {
    let (rows, bias) = rows(weights);
    vectorized_loops!({
        loop {
            let mut x = [0.0; LANES];
            let count = x.iter_mut().zip(numbers.by_ref()).map(|(x, number)| *x = number).count();
            if count == 0 {
                break;
            }
            let even = add(add_four(rows, &x, 0), add_four(rows, &x, 2));
            let sums = add(even, add(add_four(rows, &x, 1), add_four(rows, &x, 3)));
            for (row, e) in (0..count).zip(e.by_ref()) {
                e[0] = x[row];
                for ((e, bias), sums) in e[1..].iter_mut().zip(bias).zip(&sums) {
                    *e = bias + sums[row];
                }
            }
        }
    });
}

/// The products of every fourth frequency from `k` on, summed.
#[inline(always)]
fn add_four(rows: &[[f32; FREQUENCIES]; ROWS], x: &[f32; LANES], k: usize) -> Mixed {
    let first = add(products(rows, x, k), products(rows, x, k + 8));
    add(first, add(products(rows, x, k + 4), products(rows, x, k + 12)))
}

/// The cosines of frequency `k`, times what mixes them into each output.
#[inline(always)]
fn products(
    [frequencies, phases, mixing @ ..]: &[[f32; FREQUENCIES]; ROWS],
    x: &[f32; LANES],
    k: usize,
) -> Mixed {
    let mut cosines = *x;
    cosines.iter_mut().for_each(|x| *x = sine_and_cosine(*x * frequencies[k] + phases[k]).1);
    let mut products = [cosines; MIXED];
    for (products, mixing) in products.iter_mut().zip(mixing) {
        products.iter_mut().for_each(|product| *product *= mixing[k]);
    }
    products
}

#[inline(always)]
fn add(mut sums: Mixed, others: Mixed) -> Mixed {
    sums.as_flattened_mut().iter_mut().zip(others.as_flattened()).for_each(|(sum, other)| *sum += other);
    sums
}

/// Adds the gradients by the weights of a column to `to`, row by row.
pub fn add_gradient(weights: &[f32], given: &[RowGradient], to: &mut [f32]) {
    let (rows, _) = rows(weights);
    let (to, bias) = to.split_at_mut(ROWS * FREQUENCIES);
    for [_, de @ ..] in given {
        bias.iter_mut().zip(de).for_each(|(to, de)| *to += de);
    }
    let to: &mut [[f32; FREQUENCIES]; ROWS] =
        to.as_chunks_mut().0.first_chunk_mut().expect("as many numbers as all rows have");
    vectorized_loops!({
        let [frequencies, phases, m0, m1, m2] = *rows;
        let [mut df, mut dp, mut dm0, mut dm1, mut dm2] = *to;
        for &[x, de0, de1, de2] in given {
            let (mut sines, mut cosines) = ([0.0; FREQUENCIES], [0.0; FREQUENCIES]);
            for k in 0..FREQUENCIES {
                (sines[k], cosines[k]) = sine_and_cosine(x * frequencies[k] + phases[k]);
            }
            for k in 0..FREQUENCIES {
                dm0[k] += cosines[k] * de0;
                dm1[k] += cosines[k] * de1;
                dm2[k] += cosines[k] * de2;
                let by_cosine = m0[k] * de0 + m1[k] * de1 + m2[k] * de2;
                let slope = -std::f32::consts::TAU * sines[k] * by_cosine;
                dp[k] += slope;
                df[k] += slope * x;
            }
        }
        *to = [df, dp, dm0, dm1, dm2];
    });
}
