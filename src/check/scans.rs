//! scan, compact, radix_sort, order_keys.

use ndarray::Array1;

use super::{Cases, Figures, vector, wide};
use crate::data::order;
use crate::error::Result;
use crate::kernels::{
    Compute, compact, epoch_order, exclusive_scan, inclusive_scan, positions_where, sort_by_key,
};
use crate::random::{Purpose, words};
use crate::reference::ops;

const LENGTH: usize = 300_007;

/// Words of no pattern.
fn numbers(length: usize) -> Vec<u32> {
    (0..length as u32).map(|i| words(1, Purpose::Order, [i, 77])[0]).collect()
}

pub(super) fn run(cases: &mut Cases<'_>) {
    let shape = LENGTH.to_string();
    for inclusive in [false, true] {
        let name = if inclusive { "inclusive" } else { "exclusive" };
        cases.case(&format!("scan + scan_add, {name}"), &shape, |compute| sums(compute, inclusive));
    }
    cases.case("scan + scan_add, u32", &shape, |compute| {
        let x = numbers(LENGTH);
        let got = exclusive_scan(compute, &compute.vector(&x)?)?.read(compute)?;
        Ok(Figures::exact(got, ops::scan(&x, false, u32::wrapping_add)))
    });
    cases.case("compact", &shape, |compute| {
        let values = numbers(LENGTH);
        let keep: Vec<u32> = values.iter().map(|value| value % 3).collect();
        let (on_values, on_keep) = (compute.vector(&values)?, compute.vector(&keep)?);
        let got = compact(compute, &on_values, &on_keep)?.read(compute)?;
        let figures = Figures::exact(got, ops::compact(&values, &keep));
        let positions: Vec<u32> = (0..LENGTH as u32).collect();
        let got = positions_where(compute, &on_keep)?.read(compute)?;
        Ok(figures.and(Figures::exact(got, ops::compact(&positions, &keep))))
    });
    cases.case("radix_sort", &shape, |compute| {
        // Every key occurs some times, so that the order of equal keys shows.
        let keys: Vec<u32> = numbers(LENGTH).iter().map(|word| word % 50_021 * 85_003).collect();
        let payload: Vec<u32> = (0..LENGTH as u32).collect();
        let (sorted, moved) = sort_by_key(compute, &compute.vector(&keys)?, &compute.vector(&payload)?)?;
        let (want, places) = ops::radix_sort(&keys, &payload);
        let figures = Figures::exact(sorted.read(compute)?, want);
        Ok(figures.and(Figures::exact(moved.read(compute)?, places)))
    });
    cases.case("order_keys + radix_sort", "epoch of 60000 rows", |compute| {
        let got = epoch_order(compute, 1 << 40, 2, 0..60_000)?.read(compute)?;
        Ok(Figures::exact(got, order(1 << 40, 2, 0..60_000)))
    });
}

fn sums(compute: &Compute, inclusive: bool) -> Result<Figures> {
    let x = vector(LENGTH, 1);
    let on_device = compute.vector(&x.to_vec())?;
    let got =
        if inclusive { inclusive_scan(compute, &on_device)? } else { exclusive_scan(compute, &on_device)? };
    let scanned = |x: Vec<f64>| Array1::from(ops::scan(&x, inclusive, |a, b| a + b));
    let x = wide(&x);
    let (want, magnitude) = (scanned(x.to_vec()), scanned(x.mapv(f64::abs).to_vec()));
    // Up and down a tree, and two additions a level of blocks.
    let units = 2.0 * (LENGTH as f64).log2().ceil() + 8.0;
    Ok(Figures::relative(&got.read(compute)?, &want, &magnitude, units))
}
