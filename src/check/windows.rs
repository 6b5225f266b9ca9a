//! pool, convolve.

use ndarray::{Array1, Array2, ArrayView1, Axis as Direction};

use super::{Cases, Figures, random, vector, wide};
use crate::error::Result;
use crate::kernels::{Compute, Mode, Window, convolve, convolve_separable, pool};
use crate::reference::ops;

pub(super) fn run(cases: &mut Cases<'_>) {
    for window in [Window::Sum, Window::Mean, Window::Maximum] {
        for width in [3, 100, 1000] {
            let name = format!("pool {}, width {width}", format!("{window:?}").to_lowercase());
            cases.case(&name, "17 x 5003", |compute| pooled(compute, window, width));
        }
    }
    for mode in [Mode::Valid, Mode::Same, Mode::Tail] {
        for taps in [4, 255] {
            let name = format!("convolve {}, {taps} taps", format!("{mode:?}").to_lowercase());
            cases.case(&name, "17 x 1003", |compute| convolved(compute, mode, taps));
        }
    }
    cases.case("convolve, separable", "65 x 257 by 5 x 9", separable);
}

fn pooled(compute: &Compute, window: Window, width: usize) -> Result<Figures> {
    let x = random(17, 5003, 1);
    let got = pool(compute, &compute.matrix(&x)?, window, width)?.read(compute)?;
    let x = wide(&x);
    let operation = match window {
        Window::Sum => |x: ArrayView1<f64>| x.sum(),
        Window::Mean => |x: ArrayView1<f64>| x.sum() / x.len() as f64,
        Window::Maximum => return Ok(Figures::exact(got, ops::pool(x.view(), width, ops::maximum))),
    };
    let [want, magnitude] = [&x, &x.mapv(f64::abs)].map(|x| ops::pool(x.view(), width, operation));
    // Levels of the tree, chunks of a team, and the division.
    let units = (width as f64).log2() + (width as f64 / compute.tuning.team as f64) + 5.0;
    Ok(Figures::relative(&got, &want, &magnitude, units))
}

fn convolved(compute: &Compute, mode: Mode, length: usize) -> Result<Figures> {
    let (a, taps) = (random(17, 1003, 2), vector(length, 3));
    let on_taps = compute.vector(&taps.to_vec())?;
    let got = convolve(compute, &compute.matrix(&a)?, &on_taps, mode)?.read(compute)?;
    let origin = if mode == Mode::Same { length / 2 } else { 0 };
    let outputs = if mode == Mode::Valid { 1003 + 1 - length } else { 1003 };
    let (a, taps) = (wide(&a), wide(&taps).insert_axis(Direction(0)));
    let whole = |a: &Array2<f64>, taps: &Array2<f64>| {
        ops::convolve(a.view(), taps.view(), [0, origin], [17, outputs])
    };
    let magnitude = whole(&a.mapv(f64::abs), &taps.mapv(f64::abs));
    Ok(Figures::relative(&got, &whole(&a, &taps), &magnitude, length as f64 + 4.0))
}

fn separable(compute: &Compute) -> Result<Figures> {
    let a = random(65, 257, 4);
    let [rows, columns] = [9, 5].map(|taps| vector(taps, taps as u32));
    let (on_rows, on_columns) = (compute.vector(&rows.to_vec())?, compute.vector(&columns.to_vec())?);
    let got = convolve_separable(compute, &compute.matrix(&a)?, &on_rows, &on_columns, Mode::Same)?;
    let outer = |columns: &Array1<f32>, rows: &Array1<f32>| {
        Array2::from_shape_fn((5, 9), |(i, j)| f64::from(columns[i]) * f64::from(rows[j]))
    };
    let kernel = outer(&columns, &rows);
    let whole =
        |a: &Array2<f64>, kernel: &Array2<f64>| ops::convolve(a.view(), kernel.view(), [2, 4], [65, 257]);
    let a = wide(&a);
    let magnitude = whole(&a.mapv(f64::abs), &kernel.mapv(f64::abs));
    Ok(Figures::relative(&got.read(compute)?, &whole(&a, &kernel), &magnitude, 17.0))
}
