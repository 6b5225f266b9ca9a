//! Detection of the background of images, which their scaling subtracts: networks train badly on inputs far from 0.

use crate::data::dataset::Features;

/// Share of the values from which on the most frequent value is a background.
const SHARE: f64 = 0.2;
/// Backgrounds below this value are dark, and not subtracted.
const DARK: u8 = 32;

/// Returns the background of some images if it is not dark: the most frequent of their values.
pub fn light_background(features: &Features) -> Option<u8> {
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
    (is_background && frequent >= DARK).then_some(frequent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_value_is_the_background() {
        let found =
            |values: &dyn Fn(u32) -> u8| light_background(&Features::Bytes((0..1000).map(values).collect()));
        for background in [DARK, 128, 200, 255] {
            assert_eq!(found(&|at| if at % 3 == 0 { (at / 4) as u8 } else { background }), Some(background));
        }
        for dark in [0, 1, DARK - 1] {
            assert_eq!(found(&|at| if at % 3 == 0 { (at / 4) as u8 } else { dark }), None);
        }
        // No value is frequent; two values are, the darker one as often.
        assert_eq!(found(&|at| (at % 251) as u8), None);
        assert_eq!(found(&|at| if at % 2 == 0 { 255 } else { 0 }), None);
        assert_eq!(light_background(&Features::Bytes(Vec::new())), None);
        assert_eq!(light_background(&Features::Floats(vec![255.0; 9])), None);
    }
}
