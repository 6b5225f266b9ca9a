//! Classes and their probabilities from the outputs of a network.

use crate::step::exp_wide;
use crate::vectors::vectorized_loops;

/// Returns the class of a row: the first of the greatest outputs.
#[inline]
pub(super) fn best(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}

/// Returns the logarithm of the sum of exp of the outputs of a row, without overflow: an output minus this
/// value is the logarithm of the class's probability.
#[inline]
pub(super) fn log_sum_exp(row: &[f32]) -> f64 {
    let greatest = f64::from(row[best(row)]);
    greatest + row.iter().map(|output| (f64::from(*output) - greatest).exp()).sum::<f64>().ln()
}

/// Computes the classes of rows of `width` outputs, and their probabilities, the softmax of each row.
pub(super) fn softmax(outputs: &[f32], width: usize, probabilities: &mut [f64], classes: &mut [u32]) {
    vectorized_loops!({
        let rows = outputs.chunks_exact(width).zip(probabilities.chunks_exact_mut(width));
        for ((row, to), class) in rows.zip(classes.iter_mut()) {
            let best = best(row);
            *class = best as u32;
            to.iter_mut().zip(row).for_each(|(to, output)| *to = f64::from(*output) - f64::from(row[best]));
        }
        probabilities.iter_mut().for_each(|power| *power = exp_wide(*power));
        for powers in probabilities.chunks_exact_mut(width) {
            let sum: f64 = powers.iter().sum();
            powers.iter_mut().for_each(|power| *power /= sum);
        }
    });
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;

    use super::*;
    use crate::reference::ops;

    #[test]
    fn rows_become_probabilities() {
        for (rows, width) in [(1, 1), (3, 2), (17, 3), (65, 10), (2, 257)] {
            let outputs: Vec<f32> =
                (0..rows * width).map(|index| (index * 7919 % 1009) as f32 / 20.0 - 25.0).collect();
            let (mut probabilities, mut classes) = (vec![0.0; rows * width], vec![0; rows]);
            softmax(&outputs, width, &mut probabilities, &mut classes);
            let wide: Vec<f64> = outputs.iter().map(|output| f64::from(*output)).collect();
            let expected = ops::softmax(ArrayView2::from_shape((rows, width), &wide).unwrap());
            for (got, want) in probabilities.iter().zip(&expected) {
                assert!((got - want).abs() <= 1e-14 * want, "{width}: {got}, not {want}");
            }
            let found: Vec<u32> = outputs.chunks(width).map(|row| best(row) as u32).collect();
            assert_eq!(classes, found);
        }
    }

    #[test]
    fn the_first_of_equals_is_the_class_and_extremes_are_certain() {
        let outputs = [2.0, 2.0, -3e38, 3e38, 0.0, f32::NEG_INFINITY];
        let (mut probabilities, mut classes) = ([0.5; 6], [9; 3]);
        softmax(&outputs, 2, &mut probabilities, &mut classes);
        assert_eq!((probabilities, classes), ([0.5, 0.5, 0.0, 1.0, 1.0, 0.0], [0, 1, 0]));
        softmax(&[f32::NAN, 0.0], 2, &mut probabilities[..2], &mut classes[..1]);
        assert!(probabilities[..2].iter().all(|probability| probability.is_nan()));
    }
}
