//! Ceilings of an adapter: measured, not taken from data sheets.

use std::time::Duration;

use crate::error::Result;
use crate::kernels::{Activate, Compute, Kernel, MultiplyAdd, Nonlinearity, StepRecord};
use crate::timing::Ceilings;

/// Bytes read by the copy: more than the caches of most machines.
const COPY_BYTES: usize = 64 << 20;

/// Measures the ceilings of the adapter, in about half a second.
///
/// # Errors
/// See [`Compute::run`].
pub fn measure_ceilings(compute: &Compute) -> Result<Ceilings> {
    let bytes = (compute.context.largest_storage() as usize).min(COPY_BYTES);
    let [from, to] = [(); 2].map(|()| compute.context.storage("copy", bytes as u64));
    let copy = Activate { rows: 1, columns: bytes / 4, nonlinearity: Nonlinearity::LINEAR };
    let copied = compute.time(&copy, &[&from?, &to?], StepRecord::all(1), Duration::from_millis(100))?;

    let threads = 1 << 14;
    let output = compute.context.storage("multiply-adds", 16 * threads as u64)?;
    let mut arithmetic = MultiplyAdd { threads, rounds: 64, a: 0.999, b: 0.001 };
    loop {
        let took =
            compute.time(&arithmetic, &[&output], StepRecord::default(), Duration::from_millis(100))?;
        // The chains are too short while the launch dominates the time.
        if took > Duration::from_millis(2) || arithmetic.rounds >= 1 << 16 {
            return Ok(Ceilings {
                bytes_per_second: copy.cost(&compute.tuning).bytes() as f64 / copied.as_secs_f64(),
                flop_per_second: arithmetic.cost(&compute.tuning).flop as f64 / took.as_secs_f64(),
            });
        }
        arithmetic.rounds *= 4;
    }
}
