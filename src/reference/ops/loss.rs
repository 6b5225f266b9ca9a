//! Losses of the rows of a batch, and their gradients by the outputs.

use ndarray::{Array1, Array2, ArrayView2};

use super::{activation, log_softmax, softmax};
use crate::reference::ReferenceTargets;
use crate::step::{Activation, Loss};

/// The unweighted loss of each row, from the outputs Z [rows, outputs].
pub fn row_losses(loss: Loss, z: ArrayView2<f64>, targets: &ReferenceTargets<'_>) -> Array1<f64> {
    let t = targets.matrix(z.ncols());
    let mean = |terms: Array2<f64>| terms.sum_axis(ndarray::Axis(1)) / z.ncols() as f64;
    let per_output = |term: &dyn Fn(f64) -> f64| mean((&z - &t).map(|d| term(*d)));
    match loss {
        Loss::CrossEntropy => {
            let logs = log_softmax(z);
            // 0 log 0 is 0.
            let term = |(i, j)| if t[[i, j]] == 0.0 { 0.0 } else { -t[[i, j]] * logs[[i, j]] };
            Array2::from_shape_fn(z.dim(), term).sum_axis(ndarray::Axis(1))
        }
        Loss::Mse => per_output(&|d| d.powi(2)),
        Loss::Mae => per_output(&f64::abs),
        Loss::Huber => per_output(&|d| if d.abs() <= 1.0 { d.powi(2) / 2.0 } else { d.abs() - 0.5 }),
        Loss::Quantile(levels) => mean(Array2::from_shape_fn(z.dim(), |at| {
            let (d, q) = (t[at] - z[at], levels.level(at.1));
            (q * d).max((q - 1.0) * d)
        })),
        Loss::BinaryCrossEntropy => mean(Array2::from_shape_fn(z.dim(), |at| {
            z[at].max(0.0) - z[at] * t[at] + (-z[at].abs()).exp().ln_1p()
        })),
    }
}

/// The loss of the batch: the sum over its rows of weight times loss, divided by the number of rows.
pub fn batch_loss(loss: Loss, z: ArrayView2<f64>, targets: &ReferenceTargets<'_>) -> f64 {
    let losses = row_losses(loss, z, targets);
    losses.indexed_iter().map(|(row, loss)| targets.weight(row) * loss).sum::<f64>() / targets.rows() as f64
}

/// The gradient of the batch's loss by Z; 0 at a kink of |z - t|.
pub fn loss_gradient(loss: Loss, z: ArrayView2<f64>, targets: &ReferenceTargets<'_>) -> Array2<f64> {
    let t = targets.matrix(z.ncols());
    let (outputs, rows) = (z.ncols() as f64, targets.rows() as f64);
    let p = softmax(z);
    Array2::from_shape_fn(z.dim(), |(i, j)| {
        let d = z[[i, j]] - t[[i, j]];
        let sign = if d == 0.0 { 0.0 } else { d.signum() };
        let slope = match loss {
            Loss::CrossEntropy => p[[i, j]] - t[[i, j]],
            Loss::BinaryCrossEntropy => (activation(Activation::Sigmoid, z[[i, j]]) - t[[i, j]]) / outputs,
            Loss::Mse => 2.0 * d / outputs,
            Loss::Mae => sign / outputs,
            Loss::Quantile(_) if d == 0.0 => 0.0,
            Loss::Quantile(levels) => (f64::from(u8::from(d > 0.0)) - levels.level(j)) / outputs,
            Loss::Huber => {
                if d.abs() <= 1.0 {
                    d / outputs
                } else {
                    sign / outputs
                }
            }
        };
        targets.weight(i) * slope / rows
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Levels;
    use ndarray::array;

    #[test]
    fn gradients_agree_with_central_differences() {
        let z = array![[0.3, -1.2, 2.5], [4.0, 0.1, -0.2]];
        let values = array![[0.1, 0.9, 2.4], [0.5, 0.6, 0.7]];
        let weights = [0.5, 3.0];
        let step = 1e-5;
        for loss in Loss::ALL.iter().copied() {
            let classes = ReferenceTargets::classes(&[2, 1]).smoothed(0.1);
            let targets = if loss.of_classes() { classes } else { ReferenceTargets::values(values.view()) };
            let targets = targets.weighted(&weights);
            let got = loss_gradient(loss, z.view(), &targets);
            for (i, j) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
                let moved = |change: f64| {
                    let mut z = z.clone();
                    z[[i, j]] += change;
                    batch_loss(loss, z.view(), &targets)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                // Truncation error step^2 f''' / 6 and cancellation 1e-15 / step.
                assert!(
                    (got[[i, j]] - slope).abs() < 1e-9,
                    "{loss} ({i}, {j}): {}, slope {slope}",
                    got[[i, j]]
                );
            }
        }
    }

    /// Losses of the differences 0.5 and -2, and of the logits log 1 and log 3, computed by hand.
    #[test]
    fn losses_are_as_computed_by_hand() {
        let z = array![[1.5, 1.0]];
        let t = array![[1.0, 3.0]];
        // Of the levels 0.1 and 0.5.
        let quantile = Loss::Quantile(Levels::DEFAULT);
        for (loss, want) in [(Loss::Mse, 2.125), (Loss::Mae, 1.25), (Loss::Huber, 0.8125), (quantile, 0.725)]
        {
            assert_eq!(
                row_losses(loss, z.view(), &ReferenceTargets::values(t.view())),
                array![want],
                "{loss}"
            );
        }
        let z = array![[0.0, 3f64.ln()]];
        let got = batch_loss(Loss::CrossEntropy, z.view(), &ReferenceTargets::classes(&[0]).weighted(&[2.0]));
        assert!((got - 2.0 * 4f64.ln()).abs() < 1e-12);
        // Probabilities of 1 / 2 and 3 / 4.
        let labels = array![[1.0, 0.0]];
        let got = batch_loss(Loss::BinaryCrossEntropy, z.view(), &ReferenceTargets::values(labels.view()));
        assert!((got - 8f64.ln() / 2.0).abs() < 1e-12);
        // 0.6 log 4 + 0.4 log (4 / 3).
        let got = batch_loss(Loss::CrossEntropy, z.view(), &ReferenceTargets::classes(&[0]).smoothed(0.8));
        assert!((got - (0.6 * 4f64.ln() + 0.4 * (4f64 / 3.0).ln())).abs() < 1e-12);
    }
}
