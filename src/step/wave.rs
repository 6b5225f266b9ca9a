//! Sine and cosine of angles in turns: plain arithmetic without branches, so that the compiler vectorizes
//! loops over them. Turns are reduced exactly, for any number; `shaders/common/wave.wgsl` does the same.

/// The minimax polynomial of sin(2 pi a) / a in a^2 for |a| <= 1/4, off by 3.4e-9 at most.
#[expect(clippy::approx_constant, reason = "the first is fitted, and not 2 pi")]
const SINE: [f32; 5] = [6.283_185, -41.341_656, 81.601_006, -76.549_78, 39.536_705];

/// Returns sin(2 pi a) for |a| <= 1/4.
#[inline(always)]
fn quarter(a: f32) -> f32 {
    let square = a * a;
    a * (SINE[0] + square * (SINE[1] + square * (SINE[2] + square * (SINE[3] + square * SINE[4]))))
}

/// Returns (sin(2 pi t), cos(2 pi t)), each within 2 eps. NaN and infinities give NaN.
#[inline(always)]
pub fn sine_and_cosine(t: f32) -> (f32, f32) {
    let rest = t - t.round_ties_even();
    let distance = rest.abs();
    let sine = quarter(0.25 - (0.25 - distance).abs());
    (if rest < 0.0 { -sine } else { sine }, quarter(0.25 - distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn waves_agree_with_f64() {
        let bound = 2.0 * f64::from(f32::EPSILON);
        for i in -400_000..400_000 {
            for step in [1.3e-6f32, 0.000_123, 0.037] {
                let t = i as f32 * step;
                let (sine, cosine) = sine_and_cosine(t);
                // The remainder of a division by 1 is exact.
                let angle = TAU * (f64::from(t) % 1.0);
                assert!((f64::from(sine) - angle.sin()).abs() <= bound, "sin of {t} turns: {sine}");
                assert!((f64::from(cosine) - angle.cos()).abs() <= bound, "cos of {t} turns: {cosine}");
            }
        }
        let (sine, cosine) = sine_and_cosine(1e30);
        assert!(sine == 0.0 && (f64::from(cosine) - 1.0).abs() <= bound);
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(sine_and_cosine(wrong).1.is_nan());
        }
    }
}
