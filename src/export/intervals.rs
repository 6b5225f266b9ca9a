//! A rank among quantiles as a sum over the intervals between them, a form that every format can express.
//!
//! For ascending q, the rank of x is the sum over i of clip(a_i, 0, 1), with a_i = (x - q_i) / (q_(i+1) - q_i), divided
//! by the number of intervals. For an interval of width 0, a_i is 0 below, 1/2 at and 1 above its value, so that x has
//! the mean rank of the quantiles equal to it. The rank stays 1e-7 away from 0 and 1.

/// At least two quantiles, so that there is at least one interval.
pub(super) fn quantiles(of: &[f64]) -> Vec<f64> {
    match of {
        // Values up to the quantile have rank 0, greater values rank 1.
        [only] => vec![*only, only.next_up()],
        _ => of.to_vec(),
    }
}

/// For each interval (q, 1 / width, c): a = (x - q) / width + c.
pub(super) fn intervals(quantiles: &[f64]) -> impl Iterator<Item = [f64; 3]> {
    // With the maximum factor, every difference of 32-bit floats is outside of 0 to 1.
    quantiles.windows(2).map(|pair| match pair[1] - pair[0] {
        0.0 => [pair[0], 1e300, 0.5],
        width => [pair[0], (1.0 / width).min(1e300), 0.0],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_encoding() {
        let rank = |of: &[f64], x: f64| {
            let all = quantiles(of);
            let of_interval = |[q, factor, added]: [f64; 3]| ((x - q) * factor + added).clamp(0.0, 1.0);
            intervals(&all).map(of_interval).sum::<f64>() / (all.len() - 1) as f64
        };
        let of = [0.0, 1.0, 1.0, 1.0, 4.0];
        for (x, expected) in
            [(-9.0, 0.0), (0.0, 0.0), (0.5, 0.125), (1.0, 0.5), (2.5, 0.875), (4.0, 1.0), (1e30, 1.0)]
        {
            assert!((rank(&of, x) - expected).abs() < 1e-15, "{x}: {}", rank(&of, x));
        }
        assert_eq!([0.5, 1.0, 1.5].map(|x| rank(&[1.0], x)), [0.0, 0.0, 1.0]);
        assert_eq!([0.5, 1.0, 1.5].map(|x| rank(&[1.0, 1.0], x)), [0.0, 0.5, 1.0]);
    }
}
