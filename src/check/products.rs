//! matmul, naive_matmul.

use ndarray::{Array2, Axis, concatenate, s};

use super::{Cases, Figures, ODD, random, wide};
use crate::error::Result;
use crate::kernels::{Compute, Epilogue, Grid, Operand, batched_matmul, matmul, naive_matmul};
use crate::reference::{bounds, ops};

/// Rows, inner dimension, columns: odd ones, and the first layer of the standard network.
const SHAPES: [[usize; 3]; 2] = [[65, 33, 70], [64, 784, 300]];

/// Returns X with a column of ones, for a bias.
pub(super) fn with_ones(x: &Array2<f64>) -> Array2<f64> {
    concatenate![Axis(1), *x, Array2::ones((x.nrows(), 1))]
}

/// Compares C = A B with the reference.
pub(super) fn product(got: &Array2<f32>, a: &Array2<f64>, b: &Array2<f64>) -> Figures {
    let want = ops::matmul(a.view(), b.view());
    let magnitude = ops::matmul(a.mapv(f64::abs).view(), b.mapv(f64::abs).view());
    Figures::near(got, &want, &magnitude, &bounds::matmul(a.view(), b.view()))
}

pub(super) fn run(cases: &mut Cases<'_>) {
    // Every pair of odd numbers of rows and columns, and an empty inner dimension.
    let odd = (0..36).map(|at| [ODD[at / 6], ODD[(at / 6 + 2 * (at % 6)) % 6], ODD[at % 6]]);
    for [m, k, n] in cases.shapes(SHAPES, odd.chain([[5, 0, 7]])) {
        let shape = format!("{m} x {k} x {n}");
        for grid in [Grid::Line, Grid::Plane] {
            let name = format!("naive_matmul, {}", format!("{grid:?}").to_lowercase());
            cases.case(&name, &shape, |compute| {
                let (a, b) = (random(m, k, 1), random(k, n, 2));
                let c = naive_matmul(compute, grid, &compute.matrix(&a)?, &compute.matrix(&b)?)?;
                Ok(product(&c.read(compute)?, &wide(&a), &wide(&b)))
            });
        }
        for (name, transpose) in [
            ("matmul A B", [false, false]),
            ("matmul A' B", [true, false]),
            ("matmul A B'", [false, true]),
            ("matmul A' B'", [true, true]),
        ] {
            cases.case(name, &shape, |compute| transposed(compute, [m, k, n], transpose));
        }
        cases.case("matmul + bias, relu", &shape, |compute| epilogue(compute, [m, k, n]));
    }
    for [m, k, n] in cases.shapes([[65, 33, 70]], [[1, 1, 1], [3, 17, 5], [7, 257, 3]]) {
        cases.case("matmul, 3 at once", &format!("3 of {m} x {k} x {n}"), |compute| {
            let (a, b) = (random(3 * m, k, 3), random(3 * k, n, 4));
            let (on_a, on_b) = (compute.matrix(&a)?, compute.matrix(&b)?);
            let c = batched_matmul(compute, 3, &on_a, &on_b, Epilogue::default())?.read(compute)?;
            let part = |x: &Array2<f32>, i, rows| x.slice(s![i * rows..(i + 1) * rows, ..]).to_owned();
            let one = |i| product(&part(&c, i, m), &wide(&part(&a, i, m)), &wide(&part(&b, i, k)));
            Ok(one(0).and(one(1)).and(one(2)))
        });
    }
}

fn transposed(compute: &Compute, [m, k, n]: [usize; 3], [of_a, of_b]: [bool; 2]) -> Result<Figures> {
    let (a, b) = (random(m, k, 1), random(k, n, 2));
    let stored = |x: &Array2<f32>, flip| compute.matrix(&if flip { x.t().to_owned() } else { x.clone() });
    let (on_a, on_b) = (stored(&a, of_a)?, stored(&b, of_b)?);
    let operand = |x, flip| if flip { Operand::Transposed(x) } else { Operand::Plain(x) };
    let c = matmul(compute, operand(&on_a, of_a), operand(&on_b, of_b), Epilogue::default())?;
    Ok(product(&c.read(compute)?, &wide(&a), &wide(&b)))
}

fn epilogue(compute: &Compute, [m, k, n]: [usize; 3]) -> Result<Figures> {
    let (a, b, bias) = (random(m, k, 1), random(k, n, 2), random(1, n, 3));
    let on_bias = compute.vector(&bias.row(0).to_vec())?;
    let (on_a, on_b) = (compute.matrix(&a)?, compute.matrix(&b)?);
    let c = matmul(compute, (&on_a).into(), (&on_b).into(), Epilogue { bias: Some(&on_bias), relu: true })?;
    // A bias is one more row of B, under a column of ones in A.
    let mut figures =
        product(&c.read(compute)?, &with_ones(&wide(&a)), &wide(&concatenate![Axis(0), b, bias]));
    figures.want.iter_mut().for_each(|value| *value = value.max(0.0));
    Ok(figures)
}
