//! pool, convolve.

use ndarray::{Array2, ArrayView1, Axis as Direction};

use super::{Cases, Figures, ODD, random, vector, wide};
use crate::error::Result;
use crate::kernels::{Compute, MOST_TAPS, Mode, Window, convolve, convolve_separable, pool};
use crate::reference::ops;

const MODES: [Mode; 3] = [Mode::Valid, Mode::Same, Mode::Tail];
/// Widths of windows and numbers of taps, around the lengths of vectors and teams.
const WIDTHS: [usize; 9] = [1, 2, 3, 4, 17, 64, 255, 256, 1000];

pub(super) fn run(cases: &mut Cases<'_>) {
    let odd = ODD.into_iter().flat_map(|columns| WIDTHS.map(|width| (1 + columns % 4, columns, width)));
    for (rows, columns, width) in cases.shapes([3, 100, 1000].map(|width| (17, 5003, width)), odd) {
        for window in [Window::Sum, Window::Mean, Window::Maximum] {
            let name = format!("pool {}, width {width}", format!("{window:?}").to_lowercase());
            let shape = format!("{rows} x {columns}");
            cases.case(&name, &shape, |compute| pooled(compute, window, &random(rows, columns, 1), width));
        }
    }
    let odd = ODD.into_iter().flat_map(|columns| WIDTHS.map(|taps| (1 + columns % 4, columns, taps)));
    for (rows, columns, taps) in cases.shapes([4, 255].map(|taps| (17, 1003, taps)), odd) {
        for mode in MODES.into_iter().filter(|mode| *mode != Mode::Valid || taps <= columns) {
            let name = format!("convolve {}, {taps} taps", format!("{mode:?}").to_lowercase());
            let shape = format!("{rows} x {columns}");
            cases.case(&name, &shape, |compute| convolved(compute, mode, &random(rows, columns, 2), taps));
        }
    }
    let odd = [(1, 1), (17, 9), (63, 65), (300, 21), (9, 270)];
    let odd = odd.into_iter().flat_map(|(rows, columns)| {
        [[1, 1], [2, 3], [5, 4], [9, 9], [1, 7]].map(|taps| (rows, columns, taps))
    });
    for (rows, columns, taps @ [down, across]) in cases.shapes([(65, 257, [5, 9])], odd) {
        let is_valid = down <= rows && across <= columns;
        for mode in MODES.into_iter().filter(|mode| *mode != Mode::Valid || is_valid) {
            let name = format!("convolve {}, separable", format!("{mode:?}").to_lowercase());
            let shape = format!("{rows} x {columns} by {down} x {across}");
            cases.case(&name, &shape, |compute| separable(compute, mode, &random(rows, columns, 4), taps));
        }
    }
    for taps in cases.shapes([], [127, 129, 513, MOST_TAPS]) {
        let shape = format!("1100 x 5 by {taps} x 1");
        cases.case("convolve same, separable", &shape, |compute| {
            separable(compute, Mode::Same, &random(1100, 5, 4), [taps, 1])
        });
    }
}

fn pooled(compute: &Compute, window: Window, x: &Array2<f32>, width: usize) -> Result<Figures> {
    let got = pool(compute, &compute.matrix(x)?, window, width)?.read(compute)?;
    let x = wide(x);
    let operation = match window {
        Window::Sum => |x: ArrayView1<f64>| x.sum(),
        Window::Mean => |x: ArrayView1<f64>| x.sum() / x.len() as f64,
        Window::Maximum => return Ok(Figures::exact(got, ops::pool(x.view(), width, ops::maximum))),
    };
    let [want, magnitude] = [&x, &x.mapv(f64::abs)].map(|x| ops::pool(x.view(), width, operation));
    // An element of a sum passes through at most log2(width) additions in the windows of 1, 2, 4, ...
    // elements, the same number to combine such windows, and one per chunk of a team, each within eps / 2 of
    // the sum (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). WGSL guarantees 2.5 eps
    // for the division of a mean, and the number of elements is rounded, too.
    let reach = width.min(x.ncols()) as f64;
    let division = if window == Window::Mean { 5.0 } else { 1.0 };
    let units = reach.log2() + reach / compute.tuning.team as f64 + division;
    Ok(Figures::relative(&got, &want, &magnitude, units))
}

/// Returns the number of outputs of n elements with k taps, and the tap for element i in output i.
fn extent(mode: Mode, n: usize, k: usize) -> (usize, usize) {
    match mode {
        Mode::Valid => (n - k + 1, 0),
        Mode::Same => (n, k / 2),
        Mode::Tail => (n, 0),
    }
}

fn reference(a: &Array2<f64>, b: &Array2<f64>, mode: Mode) -> Array2<f64> {
    let (rows, down) = extent(mode, a.nrows(), b.nrows());
    let (columns, across) = extent(mode, a.ncols(), b.ncols());
    ops::convolve(a.view(), b.view(), [down, across], [rows, columns])
}

/// Compares with the reference. A sum of k rounded products is within k eps / 2 of the sum of their
/// magnitudes (Higham, section 3.1), two passes of k1 and k2 within (k1 + k2) eps / 2. The bound is twice
/// that plus 3 eps, for less accurate devices.
fn near_reference(got: &Array2<f32>, a: &Array2<f32>, b: &Array2<f64>, mode: Mode) -> Figures {
    let (a, units) = (wide(a), (b.nrows() + b.ncols()) as f64 + 3.0);
    let magnitude = reference(&a.mapv(f64::abs), &b.mapv(f64::abs), mode) + f64::from(f32::MIN_POSITIVE);
    Figures::relative(got, &reference(&a, b, mode), &magnitude, units)
}

fn convolved(compute: &Compute, mode: Mode, a: &Array2<f32>, length: usize) -> Result<Figures> {
    let taps = vector(length, 3);
    let on_taps = compute.vector(&taps.to_vec())?;
    let got = convolve(compute, &compute.matrix(a)?, &on_taps, mode)?.read(compute)?;
    Ok(near_reference(&got, a, &wide(&taps).insert_axis(Direction(0)), mode))
}

/// Compares both passes with the outer product of their taps, as one kernel of two dimensions.
fn separable(compute: &Compute, mode: Mode, a: &Array2<f32>, [down, across]: [usize; 2]) -> Result<Figures> {
    let (rows, columns) = (vector(across, 9), vector(down, 5));
    let (on_rows, on_columns) = (compute.vector(&rows.to_vec())?, compute.vector(&columns.to_vec())?);
    let got = convolve_separable(compute, &compute.matrix(a)?, &on_rows, &on_columns, mode)?;
    let kernel = wide(&columns).insert_axis(Direction(1)).dot(&wide(&rows).insert_axis(Direction(0)));
    Ok(near_reference(&got.read(compute)?, a, &kernel, mode))
}
