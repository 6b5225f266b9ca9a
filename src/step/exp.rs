//! Exponentials of numbers up to 0, for smooth activations and softmax, and logarithms, for its loss. They
//! are plain arithmetic without branches, so that the compiler vectorizes loops over them; `f32::exp` is a
//! call per number.

/// Below this, exp(x) is treated as 0: it is less than the smallest normal number, 2^-126.
const LOWEST: f32 = -87.336_54;
/// Adding this to a small number rounds it to an integer, in the last bits of the sum.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 as two numbers; products of the first by integers up to 126 are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// Returns 2^n and exp(r) - 1 with x = n ln 2 + r and |r| <= ln 2 / 2, for x from [`LOWEST`] to 0. NaN gives
/// NaN; numbers above 0 give an arbitrary number.
#[inline(always)]
fn parts(x: f32) -> (f32, f32) {
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = x - n * LN_2[0] - n * LN_2[1];
    // The Taylor series up to r^7; the next term is below 2^-25 of the sum.
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    let rest = r + r * r * (0.5 + r * (1.0 / 6.0 + r * tail));
    (f32::from_bits(shifted.to_bits().wrapping_add(127) << 23), rest)
}

/// Returns exp(x) for x <= 0.
#[inline(always)]
pub(in crate::step) fn exp(x: f32) -> f32 {
    let (power, rest) = parts(if x < LOWEST { LOWEST } else { x });
    if x < LOWEST { 0.0 } else { power + power * rest }
}

/// Below this, exp(x) is treated as 0: it is less than the smallest normal number, 2^-1022.
const LOWEST_WIDE: f64 = -708.396_418_532_264_1;
/// ln 2 as two numbers; products of the first by integers up to 2^20 are exact.
const LN_2_WIDE: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// Returns exp(x) for x <= 0 in f64, computed the same way.
#[inline(always)]
pub(crate) fn exp_wide(x: f64) -> f64 {
    let bounded = if x < LOWEST_WIDE { LOWEST_WIDE } else { x };
    let shifted = bounded * std::f64::consts::LOG2_E + INTEGERS;
    let n = shifted - INTEGERS;
    let r = bounded - n * LN_2_WIDE[0] - n * LN_2_WIDE[1];
    // The Taylor series up to r^13; the next term is below 2^-57 of the sum.
    let term = |factorial: f64, rest: f64| 1.0 / factorial + r * rest;
    let tail = term(39_916_800.0, term(479_001_600.0, 1.0 / 6_227_020_800.0));
    let tail = term(5_040.0, term(40_320.0, term(362_880.0, term(3_628_800.0, tail))));
    let rest = r + r * r * term(2.0, term(6.0, term(24.0, term(120.0, term(720.0, tail)))));
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x < LOWEST_WIDE { 0.0 } else { power + power * rest }
}

/// Returns exp(x) - 1 for x <= 0, also with a small relative error near 0.
#[inline(always)]
pub(in crate::step) fn exp_m1(x: f32) -> f32 {
    let (power, rest) = parts(if x < LOWEST { LOWEST } else { x });
    power * rest + (power - 1.0)
}

/// Returns 1 / (1 + exp(-x)), for any x.
#[inline(always)]
pub(in crate::step) fn logistic(x: f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// Clamps x to -100 to 100: beyond that, all derivatives have reached their limits in f32. NaN stays NaN.
#[inline(always)]
pub(in crate::step) fn clamped(x: f32) -> f32 {
    let x = if x < -100.0 { -100.0 } else { x };
    if x > 100.0 { 100.0 } else { x }
}

/// sqrt(1/2), the smallest mantissa of [`ln`].
const LEAST_MANTISSA: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Adding the bits of an integer to the bits of this number adds the integer.
const INTEGERS: f64 = 6_755_399_441_055_744.0;

/// Returns the natural logarithm of a normal number above 0; NaN gives NaN. With x = 2^n m, m from sqrt(1/2)
/// to sqrt 2, and s = (m - 1) / (m + 1), it is n ln 2 + 2 (s + s^3/3 + s^5/5 + ...).
#[inline(always)]
pub(in crate::step) fn ln(x: f64) -> f64 {
    let n = ((x.to_bits().wrapping_sub(LEAST_MANTISSA.to_bits())) as i64 >> 52) as u64;
    let m = f64::from_bits(x.to_bits().wrapping_sub(n << 52));
    let n = f64::from_bits(INTEGERS.to_bits().wrapping_add(n)) - INTEGERS;
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    // Up to s^21; as |s| <= 0.1716, the next term is below 2^-59 of the sum.
    let tail = 1.0 / 15.0 + t * (1.0 / 17.0 + t * (1.0 / 19.0 + t * (1.0 / 21.0)));
    let tail = 1.0 / 9.0 + t * (1.0 / 11.0 + t * (1.0 / 13.0 + t * tail));
    let tail = 1.0 / 3.0 + t * (1.0 / 5.0 + t * (1.0 / 7.0 + t * tail));
    let y = n * std::f64::consts::LN_2 + (2.0 * s + 2.0 * s * t * tail);
    if x.is_nan() { x } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two roundings in s and its double, one in the sum; if n is not 0, also the roundings of n ln 2.
    #[test]
    fn logarithms_agree_with_the_standard_library() {
        let near_1 = (-1000..1000).map(|i| 1.0 + f64::from(i) * f64::from(f32::EPSILON));
        let wide = (-1000..1000).map(|i| 1.01f64.powi(69 * i) * 1.3);
        let sums = (0..100_000).map(|i| 1.0 + f64::from(i) / 777.0);
        for x in near_1.chain(wide).chain(sums) {
            let (got, want) = (ln(x), x.ln());
            assert!((got - want).abs() <= 3.0 * f64::EPSILON * want.abs(), "{x}: {got}, not {want}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(f64::NAN).is_nan());
    }

    /// A relative error of 1.5 eps each: two roundings in the sum, and the roundings of r and of the series.
    #[test]
    fn exponentials_agree_with_f64() {
        let bound = 1.5 * f64::from(f32::EPSILON);
        for i in 0..200_000 {
            let x = -(i as f32) * 87.336 / 200_000.0;
            let wide = f64::from(x);
            for (got, want) in [(exp(x), wide.exp()), (exp_m1(x), wide.exp_m1())] {
                assert!((f64::from(got) - want).abs() <= bound * want.abs(), "{x}: {got}, not {want}");
            }
        }
        for x in [-1e-30f32, -1e-10, -1e-5, -0.346, -0.347] {
            let want = f64::from(x).exp_m1();
            assert!((f64::from(exp_m1(x)) - want).abs() <= bound * want.abs(), "{x}");
        }
    }

    /// A relative error of 1.5 eps, as above.
    #[test]
    fn wide_exponentials_agree_with_the_standard_library() {
        let even = (0..200_000).map(|i| -f64::from(i) * 708.39 / 200_000.0);
        let small = (0..1000).map(|i| -0.97f64.powi(i));
        for x in even.chain(small) {
            let (got, want) = (exp_wide(x), x.exp());
            assert!((got - want).abs() <= 1.5 * f64::EPSILON * want, "{x}: {got}, not {want}");
        }
        assert_eq!(
            [0.0, -708.4, -1e10, f64::MIN, f64::NEG_INFINITY].map(exp_wide),
            [1.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert!(exp_wide(f64::NAN).is_nan());
    }

    #[test]
    fn extremes_give_the_limits() {
        for x in [-88.0, -1e10, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!([exp(x), exp_m1(x), logistic(x), logistic(-x)], [0.0, -1.0, 0.0, 1.0], "{x}");
        }
        assert_eq!([exp(0.0), exp_m1(0.0), logistic(0.0)], [1.0, 0.0, 0.5]);
        assert!(
            [exp(f32::NAN), exp_m1(f32::NAN), logistic(f32::NAN), clamped(f32::NAN)]
                .iter()
                .all(|y| y.is_nan())
        );
        assert_eq!([clamped(f32::INFINITY), clamped(f32::MIN), clamped(3.0)], [100.0, -100.0, 3.0]);
    }
}
