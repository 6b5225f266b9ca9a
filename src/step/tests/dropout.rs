//! Dropout: its shares, and the same units for any division of the work.

use crate::random::philox;
use crate::reference::ops;
use crate::step::{Dropout, StepRecord};

fn record(step: u32) -> StepRecord {
    StepRecord { step, seed: [7, 1], ..StepRecord::default() }
}

/// Rows of ones of a batch after dropout.
fn dropped(share: f32, layer: usize, record: &StepRecord, rows: usize, units: usize) -> Vec<Vec<f32>> {
    let dropout = Dropout::new(share, layer).unwrap();
    let row = |row| {
        let mut values = vec![1.0; units];
        dropout.apply(record, row, 0, &mut values);
        values
    };
    (0..rows).map(row).collect()
}

/// Five standard deviations of the binomial distribution, which one draw in a million exceeds; kept values
/// are scaled so that the mean stays 1 within the same bound.
#[test]
fn shares_are_as_asked_for_and_the_expectation_stays() {
    for share in [0.01f32, 0.2, 0.5, 0.9] {
        let values = dropped(share, 1, &record(3), 300, 101);
        let n = 300.0 * 101.0;
        let zeros = values.iter().flatten().filter(|value| **value == 0.0).count() as f64;
        let p = f64::from(share);
        let deviation = (p * (1.0 - p) / n).sqrt();
        assert!((zeros / n - p).abs() < 5.0 * deviation, "{share}: {zeros} of {n}");
        let mean = values.iter().flatten().copied().map(f64::from).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 5.0 * deviation / (1.0 - p), "{share}: mean {mean}");
        let scale = 1.0 / (1.0 - share);
        assert!(values.iter().flatten().all(|value| *value == 0.0 || *value == scale));
    }
}

#[test]
fn masks_agree_with_the_reference() {
    for (share, layer, units) in [(0.5f32, 0, 16), (0.1, 2, 13), (0.75, 5, 3)] {
        let record = record(1_000_000);
        let want = ops::dropout_mask(f64::from(share), layer, (9, units), &record);
        for (row, got) in dropped(share, layer, &record, 9, units).iter().enumerate() {
            for (unit, got) in got.iter().enumerate() {
                // The scale is rounded twice.
                let (got, want) = (f64::from(*got), want[[row, unit]]);
                assert!(
                    (got - want).abs() <= f64::from(f32::EPSILON) * want,
                    "{row} {unit}: {got}, not {want}"
                );
            }
        }
    }
}

#[test]
fn the_same_units_are_left_out_whichever_columns_are_asked_for() {
    let record = record(11);
    let dropout = Dropout::new(0.5, 2).unwrap();
    let whole: Vec<f32> = (0..37).map(|unit| 1.0 + unit as f32).collect();
    for row in 0..5 {
        let mut want = whole.clone();
        dropout.apply(&record, row, 0, &mut want);
        for first in (0..37).step_by(4) {
            for end in first..=37 {
                let mut got = whole[first..end].to_vec();
                dropout.apply(&record, row, first, &mut got);
                assert_eq!(got, want[first..end], "row {row}, columns {first} to {end}");
            }
        }
    }
}

#[test]
fn layers_rows_steps_and_seeds_have_their_own() {
    let base = dropped(0.5, 0, &record(0), 2, 64);
    let seed = StepRecord { seed: [8, 1], ..record(0) };
    let high = StepRecord { seed: [7, 2], ..record(0) };
    assert_eq!(base, dropped(0.5, 0, &record(0), 2, 64));
    assert_ne!(base[0], base[1]);
    for other in [dropped(0.5, 1, &record(0), 1, 64), dropped(0.5, 0, &record(1), 1, 64)] {
        assert_ne!(base[0], other[0]);
    }
    assert_ne!(base[0], dropped(0.5, 0, &seed, 1, 64)[0]);
    assert_ne!(base[0], dropped(0.5, 0, &high, 1, 64)[0]);
}

/// The words of the documentation: counter (row, block, step, purpose + 256 layer).
#[test]
fn a_word_below_the_threshold_leaves_out() {
    let dropout = Dropout::new(0.25, 3).unwrap();
    assert_eq!((dropout.threshold(), dropout.scale()), (1 << 30, 4.0 / 3.0));
    let words = philox([6, 2, 5, 4 + 256 * 3], [7, 1]);
    let mut values = [3.0; 4];
    dropout.apply(&record(5), 6, 8, &mut values);
    assert_eq!(values, words.map(|word| if word < 1 << 30 { 0.0 } else { 3.0 * (4.0f32 / 3.0) }));
}

#[test]
fn no_share_is_no_dropout() {
    assert_eq!(Dropout::new(0.0, 0), None);
}
