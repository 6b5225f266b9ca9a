//! Detects files whose row order depends on the labels.

use crate::data::dataset::BLOCK_ROWS;

/// Minimum distance of the statistic above its mean, in standard deviations.
const DEVIATIONS: f64 = 10.0;

/// Whether the labels of blocks of [`BLOCK_ROWS`] rows differ more than chance explains: training on such blocks one
/// after another would mislead a network.
///
/// Pearson's chi-squared test of homogeneity over blocks and classes: under chance the statistic has mean d and
/// variance about 2 d, with d = (blocks - 1) (classes - 1) (K. Pearson, 1900).
pub fn is_sorted(labels: &[u32]) -> bool {
    is_sorted_in(labels, BLOCK_ROWS)
}

/// As [`is_sorted`], with blocks of `rows` rows.
pub(crate) fn is_sorted_in(labels: &[u32], rows: usize) -> bool {
    let classes = labels.iter().max().map_or(0, |greatest| *greatest as usize + 1);
    let blocks: Vec<&[u32]> = labels.chunks(rows).collect();
    let mut all = vec![0u64; classes];
    labels.iter().for_each(|label| all[*label as usize] += 1);
    let present = all.iter().filter(|count| **count > 0).count();
    if blocks.len() < 2 || present < 2 {
        return false;
    }
    let mut statistic = 0.0;
    let mut counts = vec![0u64; classes];
    for block in &blocks {
        counts.fill(0);
        block.iter().for_each(|label| counts[*label as usize] += 1);
        let share = block.len() as f64 / labels.len() as f64;
        for (count, all) in counts.iter().zip(&all).filter(|(_, all)| **all > 0) {
            let expected = share * *all as f64;
            statistic += (*count as f64 - expected).powi(2) / expected;
        }
    }
    let freedom = ((blocks.len() - 1) * (present - 1)) as f64;
    statistic > freedom + DEVIATIONS * (2.0 * freedom).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, words};

    #[test]
    fn only_an_order_by_label_is_found() {
        let rows = 5 * BLOCK_ROWS as u32 + 100;
        let random = |classes: u32| -> Vec<u32> {
            (0..rows).map(|row| words(3, Purpose::Split, [row, classes])[0] % classes).collect()
        };
        for classes in [2, 10, 1000] {
            let mut labels = random(classes);
            assert!(!is_sorted(&labels), "{classes} classes in random order");
            labels.sort_unstable();
            assert!(is_sorted(&labels), "{classes} classes in order");
        }
        // One class in every hundredth row: too even is not an order either.
        let rare: Vec<u32> = (0..rows).map(|row| u32::from(row % 100 == 0)).collect();
        assert!(!is_sorted(&rare));
        let halves: Vec<u32> = (0..rows).map(|row| if row < rows / 2 { row % 10 } else { row % 5 }).collect();
        assert!(is_sorted(&halves));
        assert!(!is_sorted(&random(10)[..BLOCK_ROWS]));
        assert!(!is_sorted(&[]));
    }
}
