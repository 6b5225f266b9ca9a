//! The only source of randomness: a counter-based generator, so that any number can be computed from its
//! position, on the host and in shaders alike.
//!
//! Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1,
//! 2, 3", SC 2011.

/// Purpose of random numbers: streams of different purposes do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Order of an epoch's rows.
    Order = 1,
    /// Initial weights.
    Weights = 2,
    /// Choice of validation and test rows.
    Split = 3,
    /// Units dropped in a step.
    Dropout = 4,
    /// Rows of a resample.
    Bootstrap = 5,
    /// Shuffling of a column's values.
    Shuffle = 6,
    /// Settings of a member of a sweep.
    Trial = 7,
    /// Networks that an ensemble is picked from.
    Bag = 8,
    /// A sample of the rows of a data set.
    Sample = 9,
    /// Distortions of images.
    Augment = 10,
}

/// Computes ten rounds of Philox4x32: four independent uniform words for each counter and key.
#[inline(always)]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let multiply = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        let (high0, low0) = multiply(0xD251_1F53, counter[0]);
        let (high1, low1) = multiply(0xCD9E_8D57, counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
    }
    counter
}

/// Returns four words at `place` of a purpose's stream.
#[inline(always)]
pub fn words(seed: u64, purpose: Purpose, place: [u32; 2]) -> [u32; 4] {
    philox([place[0], place[1], 0, purpose as u32], [seed as u32, (seed >> 32) as u32])
}

/// Converts a word to a number between 0 and 1, both exclusive.
fn unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// Returns a uniformly distributed number between 0 and 1 at `place` of a purpose's stream.
pub fn uniform(seed: u64, purpose: Purpose, place: [u32; 2]) -> f64 {
    unit(words(seed, purpose, place)[0])
}

/// Returns a standard normal number at `place` of a purpose's stream (Box and Muller, 1958).
pub fn normal(seed: u64, purpose: Purpose, place: [u32; 2]) -> f64 {
    let [a, b, ..] = words(seed, purpose, place);
    (-2.0 * unit(a).ln()).sqrt() * (std::f64::consts::TAU * unit(b)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published known answers (`kat_vectors` of the Random123 library).
    #[test]
    fn philox_gives_the_published_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn normal_numbers_have_the_moments_of_a_normal() {
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|i| normal(7, Purpose::Weights, [i, 0])).collect();
        let moment = |power: i32| values.iter().map(|v| v.powi(power)).sum::<f64>() / f64::from(n);
        // Four standard errors each: sqrt(var(x^p) / n).
        assert!(moment(1).abs() < 4.0 * (1.0 / f64::from(n)).sqrt());
        assert!((moment(2) - 1.0).abs() < 4.0 * (2.0 / f64::from(n)).sqrt());
        assert!(moment(3).abs() < 4.0 * (15.0 / f64::from(n)).sqrt());
        assert!((moment(4) - 3.0).abs() < 4.0 * (96.0 / f64::from(n)).sqrt());
    }
}
