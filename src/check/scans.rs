//! scan, scan_add.

use ndarray::Array1;

use super::{Cases, Figures, vector, wide};
use crate::error::Result;
use crate::kernels::{Compute, exclusive_scan, inclusive_scan};
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
