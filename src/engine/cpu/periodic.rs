//! Periodic columns of an input layer: inputs from cosines of a number, and gradients with respect to the
//! weights. All rows of a column are computed in sequence, so its weights stay cached.

use crate::model::{FREQUENCIES, MIXED, PERIODIC_BLOCKS};
use crate::step::sine_and_cosine;
use crate::vectors::vectorized_loops;

/// Rows computed together, as whole vectors.
const LANES: usize = 16;

/// Rows of weights of a column: its frequencies, its phases, and the mixing weights of each input.
const ROWS: usize = 2 + MIXED;

/// A row's number, and the gradients with respect to its inputs.
pub type RowGradient = [f32; 1 + MIXED];

/// Splits weights into their rows and the bias of each input.
fn rows(weights: &[f32]) -> (&[[f32; FREQUENCIES]; ROWS], &[f32]) {
    let (rows, bias) = weights[..4 * PERIODIC_BLOCKS].split_at(ROWS * FREQUENCIES);
    (rows.as_chunks().0.first_chunk().expect("as many numbers as all rows have"), bias)
}

/// Each output for some rows.
type Mixed = [[f32; LANES]; MIXED];

/// Computes the inputs `e` of each row from its number: the number itself, followed by the mixed cosines. The
/// products of the cosines are summed as a tree, by adjacent halves.
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

/// Sums the products of every fourth frequency from `k` on.
#[inline(always)]
fn add_four(rows: &[[f32; FREQUENCIES]; ROWS], x: &[f32; LANES], k: usize) -> Mixed {
    let first = add(products(rows, x, k), products(rows, x, k + 8));
    add(first, add(products(rows, x, k + 4), products(rows, x, k + 12)))
}

/// Multiplies the cosines of frequency `k` by the mixing weights of each output.
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

/// Adds the gradients with respect to the weights of a column to `to`, row by row.
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
