//! Classes and their probabilities from the outputs of a network.

/// The class of a row: the first of the greatest outputs.
#[inline]
pub(super) fn best(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}

/// The logarithm of the sum of exp of the outputs of a row, without overflow: an output less this is the logarithm of the
/// probability of its class.
#[inline]
pub(super) fn log_sum_exp(row: &[f32]) -> f64 {
    let greatest = f64::from(row[best(row)]);
    greatest + row.iter().map(|output| (f64::from(*output) - greatest).exp()).sum::<f64>().ln()
}

/// The probabilities of the classes of a row, the softmax of its outputs; gives its class.
#[inline]
pub(super) fn softmax(row: &[f32], probabilities: &mut [f64]) -> usize {
    let best = best(row);
    let greatest = f64::from(row[best]);
    for (power, output) in probabilities.iter_mut().zip(row) {
        *power = (f64::from(*output) - greatest).exp();
    }
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|power| *power /= sum);
    best
}
