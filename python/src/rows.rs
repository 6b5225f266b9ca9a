//! Order of training rows by their content, so that a fit does not depend on the order of rows, and
//! repetition of rows by their weights.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum factor by which weights may multiply the number of rows.
const MOST_REPEATED: f64 = 16.0;

/// The training rows, their order, and their weights.
pub(crate) struct Rows {
    /// Rows; a row may occur several times.
    pub rows: Vec<u32>,
    /// Weights of the rows, or empty.
    pub weights: Vec<f32>,
    /// Index of the distinct row of which each row is a copy, if there are copies.
    pub copies: Vec<u32>,
}

/// Properties that distinguish rows of the same content.
pub(crate) struct Ties<'a> {
    /// Weights of the rows, or empty.
    pub weights: &'a [f64],
    /// Groups of the rows, or empty.
    pub groups: &'a [u32],
    /// Times of the rows, or empty.
    pub times: &'a [f64],
}

impl Rows {
    /// Orders rows with these inputs, [rows, inputs], and targets as bits, a fixed number of words per row,
    /// by their content; rows without weight are left out. `repeats` states whether weights are replaced by
    /// repeated rows. A common factor of all weights has no effect.
    pub(crate) fn new(
        values: &[f32],
        (width, answers): (usize, &[u32]),
        ties: &Ties<'_>,
        repeats: bool,
    ) -> Self {
        let Ties { weights, groups, times } = *ties;
        let count = answers.len() / width.max(1);
        let inputs = values.len() / count.max(1);
        let mut keyed: Vec<(u64, u32)> = (0..count)
            .filter(|row| weights.get(*row).is_none_or(|weight| *weight > 0.0))
            .map(|row| {
                // Its keys are fixed, so that the order is the same in every process.
                let mut hasher = DefaultHasher::new();
                let cells = &values[row * inputs..][..inputs];
                // All zeros are equal, and all NaN.
                cells.iter().for_each(|cell| {
                    if cell.is_nan() { u32::MAX } else { (cell + 0.0).to_bits() }.hash(&mut hasher)
                });
                answers[row * width..][..width].hash(&mut hasher);
                (hasher.finish(), row as u32)
            })
            .collect();
        keyed.sort_unstable_by(|a, b| {
            let weight = |row: u32| weights.get(row as usize).copied().unwrap_or(1.0);
            let group = |row: u32| groups.get(row as usize).copied().unwrap_or(0);
            let time = |row: u32| times.get(row as usize).copied().unwrap_or(0.0);
            let of_group = || group(a.1).cmp(&group(b.1)).then(time(a.1).total_cmp(&time(b.1)));
            a.0.cmp(&b.0).then(weight(a.1).total_cmp(&weight(b.1))).then_with(of_group).then(a.1.cmp(&b.1))
        });
        let mut different = 0;
        let mut copies: Vec<u32> = Vec::with_capacity(keyed.len());
        for (place, (key, _)) in keyed.iter().enumerate() {
            different += u32::from(place > 0 && keyed[place - 1].0 != *key);
            copies.push(different);
        }
        let rows: Vec<u32> = keyed.into_iter().map(|(_, row)| row).collect();
        let of_rows: Vec<f64> = if weights.is_empty() {
            Vec::new()
        } else {
            rows.iter().map(|row| weights[*row as usize]).collect()
        };
        let copies_of = |copies| if different as usize + 1 < rows.len() { copies } else { Vec::new() };
        if of_rows.iter().all(|weight| *weight == of_rows[0]) {
            let copies = copies_of(copies);
            return Self { rows, weights: Vec::new(), copies };
        }
        let factor = if repeats { common_factor(&of_rows) } else { None };
        let sum: f64 = of_rows.iter().sum();
        let Some(factor) = factor.filter(|factor| sum / factor <= MOST_REPEATED * rows.len() as f64) else {
            let greatest = of_rows.iter().copied().fold(0.0, f64::max);
            let weights = of_rows.iter().map(|weight| (weight / greatest) as f32).collect();
            let copies = copies_of(copies);
            return Self { rows, weights, copies };
        };
        let repeated = |numbers: &[u32]| {
            let mut repeated = Vec::with_capacity((sum / factor) as usize);
            for (number, weight) in numbers.iter().zip(&of_rows) {
                repeated.extend(std::iter::repeat_n(*number, (weight / factor) as usize));
            }
            repeated
        };
        Self { rows: repeated(&rows), weights: Vec::new(), copies: repeated(&copies) }
    }
}

/// Returns the greatest common divisor of these nonzero numbers; `None` if one of them is not an integer.
fn common_factor(weights: &[f64]) -> Option<f64> {
    let whole = |weight: f64| {
        (weight.fract() == 0.0 && weight < (1u64 << f64::MANTISSA_DIGITS) as f64).then_some(weight as u64)
    };
    let mut factor = 0;
    for weight in weights {
        let mut other = whole(*weight)?;
        while other != 0 {
            (factor, other) = (other, factor % other);
        }
    }
    Some(factor as f64)
}
