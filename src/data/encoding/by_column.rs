//! Work on the columns of a table, on several threads.

use std::sync::{Mutex, PoisonError};

use crate::data::dataset::Features;
use crate::threads::{available, each};

/// Minimum number of values of a table for which starting threads is worthwhile.
const LEAST_VALUES: usize = 1 << 16;

/// Columns copied at a time: more need fewer passes over the rows, but more memory.
const COPIED: usize = 2;

/// The results of `work` for each column of rows of `width` values, in column order; `work` takes the index of the
/// column and its values from the first row to the last. Uses at most `threads` threads, by default one per core. The
/// copies that threads work on take at most a quarter of the memory of the table, or one column.
pub(crate) fn by_column<T: Send>(
    features: &Features,
    width: usize,
    threads: Option<usize>,
    work: impl Fn(usize, Vec<f32>) -> T + Sync,
) -> Vec<T> {
    let threads = match threads {
        _ if features.len() < LEAST_VALUES => 1,
        Some(threads) => threads,
        None => available(),
    };
    let threads = threads.clamp(1, (width / 4).max(1));
    let copied = (width / 4 / threads).clamp(1, COPIED);
    let done = Mutex::new(Vec::with_capacity(width));
    let all_done = || done.lock().unwrap_or_else(PoisonError::into_inner);
    each(threads, (0..width).step_by(copied), |first| {
        for (column, values) in (first..).zip(columns(features, width, first, copied.min(width - first))) {
            let result = work(column, values);
            all_done().push((column, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(column, _)| *column);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Copies the values of `count` columns from `first` on.
fn columns(features: &Features, width: usize, first: usize, count: usize) -> Vec<Vec<f32>> {
    fn copy<T: Copy + Into<f32>>(values: &[T], width: usize, first: usize, columns: &mut [Vec<f32>]) {
        for row in values.chunks_exact(width) {
            for (column, value) in columns.iter_mut().zip(&row[first..]) {
                column.push((*value).into());
            }
        }
    }
    let mut columns = vec![Vec::new(); count];
    columns.iter_mut().for_each(|column| column.reserve_exact(features.len() / width));
    match features {
        Features::Bytes(values) => copy(values, width, first, &mut columns),
        Features::Floats(values) => copy(values, width, first, &mut columns),
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_same_on_any_number_of_threads() {
        for (width, rows) in [(1, 3), (3, 65), (17, 5000), (257, 300)] {
            let values: Vec<u8> = (0..width * rows).map(|value| (value * 7 % 251) as u8).collect();
            let floats = values.iter().map(|value| f32::from(*value)).collect();
            let expected: Vec<(usize, Vec<f32>)> = (0..width)
                .map(|column| {
                    (column, values[column..].iter().step_by(width).map(|value| f32::from(*value)).collect())
                })
                .collect();
            for features in [Features::Bytes(values), Features::Floats(floats)] {
                for threads in [Some(1), Some(3), None] {
                    let found = by_column(&features, width, threads, |column, values| (column, values));
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
