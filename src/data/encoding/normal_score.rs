//! Normal scores: the ranks of values among the training rows, mapped to a normal distribution.

/// Minimum distance of a rank from 0 and 1, where the normal distribution has no quantile.
pub(crate) const RANK_MARGIN: f64 = 1e-7;

/// An approximation of the inverse of the standard normal distribution function, to a relative error of 1.15e-9 (P. J.
/// Acklam, "An algorithm for computing the inverse normal cumulative distribution function", 2003).
pub(crate) struct NormalQuantile {
    /// Coefficients of polynomials, highest power first: numerator and denominator in (rank - 1/2)^2, then both for the
    /// tail.
    pub(crate) factors: [&'static [f64]; 4],
    /// Ranks below this are in the tail.
    pub(crate) tail: f64,
}

pub(crate) const NORMAL_QUANTILE: NormalQuantile = NormalQuantile {
    factors: [
        &[
            -3.969683028665376e1,
            2.209460984245205e2,
            -2.759285104469687e2,
            1.38357751867269e2,
            -3.066479806614716e1,
            2.506628277459239,
        ],
        &[
            -5.447609879822406e1,
            1.615858368580409e2,
            -1.556989798598866e2,
            6.680131188771972e1,
            -1.328068155288572e1,
            1.0,
        ],
        &[
            -7.784894002430293e-3,
            -3.223964580411365e-1,
            -2.400758277161838,
            -2.549732539343734,
            4.374664141464968,
            2.938163982698783,
        ],
        &[7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0],
    ],
    tail: 0.02425,
};

/// The quantile of the standard normal distribution at a value's rank among ascending, evenly spaced quantiles.
pub(crate) fn normal_score(quantiles: &[f64], value: f64) -> f64 {
    normal_quantile(rank(quantiles, value))
}

/// The share of rows below a value, interpolated between quantiles; for quantiles equal to the value, their mean rank.
fn rank(quantiles: &[f64], value: f64) -> f64 {
    let last = quantiles.len().max(2) - 1;
    let below = quantiles.partition_point(|quantile| *quantile < value);
    let up_to = quantiles.partition_point(|quantile| *quantile <= value);
    let place = if below < up_to {
        (below + up_to - 1) as f64 / 2.0
    } else if below == 0 || below == quantiles.len() {
        below as f64
    } else {
        let (lower, upper) = (quantiles[below - 1], quantiles[below]);
        (below - 1) as f64 + (value - lower) / (upper - lower)
    };
    (place / last as f64).clamp(RANK_MARGIN, 1.0 - RANK_MARGIN)
}

/// The inverse of the standard normal distribution function.
fn normal_quantile(rank: f64) -> f64 {
    let NormalQuantile { factors: [a, b, c, d], tail: bound } = NORMAL_QUANTILE;
    let polynomial = |factors: &[f64], x: f64| factors.iter().fold(0.0, |sum, factor| sum * x + factor);
    let tail = |rank: f64| {
        let q = (-2.0 * rank.ln()).sqrt();
        polynomial(c, q) / polynomial(d, q)
    };
    if rank < bound {
        tail(rank)
    } else if rank > 1.0 - bound {
        -tail(1.0 - rank)
    } else {
        let q = rank - 0.5;
        q * polynomial(a, q * q) / polynomial(b, q * q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_among_the_training_rows() {
        let quantiles: Vec<f64> = [0.0, 1.0, 1.0, 1.0, 4.0].to_vec();
        for (value, expected) in [
            (-9.0, RANK_MARGIN),
            (0.0, RANK_MARGIN),
            (0.5, 0.125),
            (1.0, 0.5),
            (2.5, 0.875),
            (4.0, 1.0 - RANK_MARGIN),
        ] {
            assert!(
                (rank(&quantiles, value) - expected).abs() < 1e-12,
                "{value}: {}",
                rank(&quantiles, value)
            );
        }
        // scipy.stats.norm.ppf
        for (rank, expected) in [
            (0.5, 0.0),
            (0.975, 1.959963984540054),
            (0.01, -2.3263478740408408),
            (0.3, -0.5244005127080409),
            (1e-7, -5.199337582192817),
        ] {
            let found = normal_quantile(rank);
            assert!((found - expected).abs() <= 1.2e-9 * expected.abs().max(1.0), "{rank}: {found}");
        }
    }
}
