//! Upper bounds of the processor's throughput on the engine's threads, measured with a copy and with
//! multiply-adds.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use pulp::{Simd, WithSimd};

use crate::clock::Instant;
use crate::timing::Ceilings;
use crate::vectors::vectorized;

/// Bytes read by the copy: more than the caches of most machines.
const COPY_BYTES: usize = 64 << 20;

/// Vector multiply-adds per thread, in sequence in each of [`CHAINS`] chains.
const ROUNDS: usize = 1 << 19;

/// Independent chains: more than the vectors that a core's units have in flight.
const CHAINS: usize = 12;

/// Number of measurements; the best counts, since no disturbance makes one too fast. They are short, so that
/// one of them has all cores even on a busy machine.
const RUNS: usize = 20;

/// Measures the ceilings, in about half a second.
pub fn measure(threads: usize) -> Ceilings {
    let part = COPY_BYTES / size_of::<f32>() / threads;
    let mut buffers: Vec<(Vec<f32>, Vec<f32>)> =
        (0..threads).map(|_| (vec![1.0; part], vec![0.0; part])).collect();
    let copy = best(|| {
        thread::scope(|scope| {
            for (from, to) in &mut buffers {
                scope.spawn(|| to.copy_from_slice(black_box(from)));
            }
        });
    });
    let mut lanes = 0;
    let arithmetic = best(|| {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| vectorized(MultiplyAdds))).collect();
            for thread in threads {
                lanes = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    });
    let bytes = 2 * size_of::<f32>() * part * threads;
    let flop = 2 * lanes * CHAINS * ROUNDS * threads;
    Ceilings {
        bytes_per_second: bytes as f64 / copy.as_secs_f64(),
        flop_per_second: flop as f64 / arithmetic.as_secs_f64(),
    }
}

fn best(mut work: impl FnMut()) -> Duration {
    let run = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..RUNS).map(run).min().unwrap_or(Duration::MAX)
}

/// A loop of x = x a + b; returns the lanes of a vector.
struct MultiplyAdds;

impl WithSimd for MultiplyAdds {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (a, b) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(0.001)));
        let mut values = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..ROUNDS {
            for value in &mut values {
                *value = simd.mul_add_e_f32s(*value, a, b);
            }
        }
        black_box(values);
        S::F32_LANES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_those_of_a_processor() {
        let Ceilings { bytes_per_second, flop_per_second } = measure(1);
        assert!((1e8..1e13).contains(&bytes_per_second), "{bytes_per_second}");
        assert!((1e8..1e13).contains(&flop_per_second), "{flop_per_second}");
    }
}
