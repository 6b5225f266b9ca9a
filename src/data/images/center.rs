//! The value that the scaling of images subtracts: networks train badly on inputs far from 0.

use crate::data::dataset::Features;

/// Share of the values from which on the most frequent value is a background.
const SHARE: f64 = 0.2;
/// Values below this one are dark; they count as 0.
const DARK: u8 = 32;

/// Returns the center of the values of some images, unless it is dark: their background, which is the most frequent
/// value, or their mean if no value is frequent.
pub fn light_center(features: &Features) -> Option<u8> {
    let Features::Bytes(bytes) = features else { return None };
    // Most images are dark. The compiler vectorises this count, not the next one.
    let dark = bytes.iter().filter(|byte| **byte < DARK).count();
    if dark as f64 > (1.0 - SHARE) * bytes.len() as f64 {
        return None;
    }
    let mut counts = [0usize; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    // The darkest of equally frequent values.
    let frequent = (0..=u8::MAX).rev().max_by_key(|byte| counts[usize::from(*byte)])?;
    let is_background = counts[usize::from(frequent)] as f64 >= SHARE * bytes.len() as f64;
    let mean = || {
        let sum: usize = counts.iter().enumerate().map(|(value, count)| value * count).sum();
        (sum as f64 / bytes.len() as f64).round() as u8
    };
    Some(if is_background { frequent } else { mean() }).filter(|center| *center >= DARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &dyn Fn(u32) -> u8) -> Option<u8> {
        light_center(&Features::Bytes((0..1000).map(values).collect()))
    }

    #[test]
    fn the_most_frequent_value_is_the_background() {
        for background in [DARK, 128, 200, 255] {
            assert_eq!(found(&|at| if at % 3 == 0 { (at / 4) as u8 } else { background }), Some(background));
        }
        for dark in [0, 1, DARK - 1] {
            assert_eq!(found(&|at| if at % 3 == 0 { (at / 4) as u8 } else { dark }), None);
        }
        // Two values are frequent, the darker one as often.
        assert_eq!(found(&|at| if at % 2 == 0 { 255 } else { 0 }), None);
        assert_eq!(light_center(&Features::Bytes(Vec::new())), None);
        assert_eq!(light_center(&Features::Floats(vec![255.0; 9])), None);
    }

    #[test]
    fn images_without_a_background_have_their_mean_as_center() {
        assert_eq!(found(&|at| 100 + (at % 50) as u8), Some(125), "124.5");
        assert_eq!(found(&|at| (at % 250) as u8), Some(125));
        assert_eq!(found(&|at| (at % 40) as u8), None, "19.5 is dark");
    }
}
