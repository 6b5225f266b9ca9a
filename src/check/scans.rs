//! scan, scan_add.

use ndarray::Array1;

use super::{Cases, Figures, vector, wide};
use crate::error::Result;
use crate::kernels::{Compute, exclusive_scan, inclusive_scan};
use crate::random::{Purpose, words};
use crate::reference::ops;

const LENGTH: usize = 300_007;
/// Sizes around the ends of blocks, and of blocks of blocks.
const ODD: [usize; 10] = [1, 3, 17, 63, 65, 257, 511, 512, 513, 512 * 512 + 1];

/// Returns pseudorandom words.
fn numbers(length: usize) -> Vec<u32> {
    (0..length as u32).map(|i| words(1, Purpose::Order, [i, 77])[0]).collect()
}

pub(super) fn run(cases: &mut Cases<'_>) {
    for length in cases.shapes([LENGTH], ODD) {
        let shape = length.to_string();
        for inclusive in [false, true] {
            let name = if inclusive { "inclusive" } else { "exclusive" };
            let name = format!("scan + scan_add, {name}");
            cases.case(&name, &shape, |compute| sums(compute, inclusive, length));
            cases.case(&format!("{name}, u32"), &shape, |compute| {
                let x = numbers(length);
                let on_device = compute.vector(&x)?;
                let got = match inclusive {
                    true => inclusive_scan(compute, &on_device)?,
                    false => exclusive_scan(compute, &on_device)?,
                };
                Ok(Figures::exact(got.read(compute)?, ops::scan(&x, inclusive, u32::wrapping_add)))
            });
        }
    }
}

/// An element passes through at most log2 n additions on the way up the trees, the same number down, and two
/// more in each level, and WGSL allows each an error of eps of its result. So the error is within (2 log2 n +
/// 2 levels + 2) eps times the sum of the magnitudes of its prefix.
fn sums(compute: &Compute, inclusive: bool, length: usize) -> Result<Figures> {
    let x = vector(length, 1);
    let on_device = compute.vector(&x.to_vec())?;
    let got =
        if inclusive { inclusive_scan(compute, &on_device)? } else { exclusive_scan(compute, &on_device)? };
    let scanned = |x: Vec<f64>| Array1::from(ops::scan(&x, inclusive, |a, b| a + b));
    let x = wide(&x);
    let (want, magnitude) = (scanned(x.to_vec()), scanned(x.mapv(f64::abs).to_vec()));
    let length = length.max(2) as f64;
    let levels = length.log(2.0 * compute.tuning.team as f64).ceil();
    let units = 2.0 * length.log2().ceil() + 2.0 * levels + 2.0;
    Ok(Figures::relative(&got.read(compute)?, &want, &magnitude, units))
}
