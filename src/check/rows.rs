//! softmax and cross-entropy.

use ndarray::{Array1, Array2};

use super::{Cases, Figures, indices, labels, random, wide};
use crate::kernels::{cross_entropy, log_softmax, softmax};
use crate::reference::{bounds, ops};

/// Rows and classes.
const SHAPES: [(usize, usize); 2] = [(64, 10), (700, 257)];

fn logits(rows: usize, classes: usize) -> Array2<f32> {
    let mut z = random(rows, classes, 1) * 3.0;
    // One row that overflows in a naive computation.
    z.row_mut(rows / 2).mapv_inplace(|value| value * 1e3);
    z
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let odd = [(1, 1), (5, 1), (3, 3), (17, 10), (63, 65), (9, 257)];
    for (rows, classes) in cases.shapes(SHAPES, odd) {
        let shape = format!("{rows} x {classes}");
        let z = logits(rows, classes);
        let exact = wide(&z);
        // Errors of logarithms are absolute, of the size of the logits.
        let sizes: Array1<f64> =
            exact.rows().into_iter().map(|row| row.fold(1.0f64, |a, b| a.max(b.abs()))).collect();
        cases.case("softmax", &shape, |compute| {
            let got = softmax(compute, &compute.matrix(&z)?)?.read(compute)?;
            let want = ops::softmax(exact.view());
            // Smaller results may be flushed to 0.
            let magnitude = want.mapv(|p| p.max(f64::from(f32::MIN_POSITIVE)));
            Ok(Figures::near(&got, &want, &magnitude, &bounds::softmax(exact.view())))
        });
        let bound = bounds::log_sum_exp(exact.view());
        cases.case("softmax, logarithm", &shape, |compute| {
            let got = log_softmax(compute, &compute.matrix(&z)?)?.read(compute)?;
            let by_row = |values: &Array1<f64>| Array2::from_shape_fn(z.dim(), |(i, _)| values[i]);
            Ok(Figures::near(&got, &ops::log_softmax(exact.view()), &by_row(&sizes), &by_row(&bound)))
        });
        cases.case("cross_entropy", &shape, |compute| {
            let targets = labels(rows, classes);
            let losses = cross_entropy(compute, &compute.matrix(&z)?, &compute.vector(&targets)?)?;
            let predicted = ops::predictions(exact.view());
            let right = predicted.iter().zip(indices(&targets)).filter(|(a, b)| **a == *b).count();
            let want = ops::cross_entropy(exact.view(), &indices(&targets)).sum();
            let total = Figures::one(losses.total, want, sizes.sum(), 2.0 * bound.sum());
            let got = losses.predictions.read(compute)?.into_iter().chain([losses.correct as u32]);
            let want = predicted.iter().chain([&right]).map(|number| *number as u32);
            Ok(total.and(Figures::exact(got, want)))
        });
    }
}
