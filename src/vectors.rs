//! Vector instructions: the longest ones of the processor, or shorter ones.

use std::sync::atomic::{AtomicU32, Ordering};

use pulp::{Arch, WithSimd};

use crate::error::{Error, Result};

/// The lengths that can be asked for, in bits: those of processors without AVX2, with it, and with AVX-512.
pub const LENGTHS: [u32; 3] = [128, 256, 512];

/// The longest vectors that are taken.
static LONGEST: AtomicU32 = AtomicU32::new(LENGTHS[LENGTHS.len() - 1]);

/// Takes no vectors longer than so many bits from now on, in the whole process. Those of other processors than x86 have but one
/// length.
///
/// # Errors
/// [`Error::Config`] for anything but one of [`LENGTHS`].
pub fn limit(bits: u32) -> Result<()> {
    if !LENGTHS.contains(&bits) {
        return Err(Error::Config(format!("vectors of {bits} bits: only 128, 256 or 512 can be asked for")));
    }
    LONGEST.store(bits, Ordering::Relaxed);
    Ok(())
}

/// Does some work that is compiled for each kind of processor.
#[inline(always)]
pub(crate) fn vectorized<Work: WithSimd>(work: Work) -> Work::Output {
    longest().dispatch(work)
}

/// The longest vectors that are taken.
#[inline]
pub(crate) fn longest() -> Arch {
    arch(LONGEST.load(Ordering::Relaxed))
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn arch(longest: u32) -> Arch {
    match longest {
        128 => Arch::Scalar,
        256 => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn arch(_: u32) -> Arch {
    Arch::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lengths_are_refused() {
        for bits in [0, 64, 255, 1024] {
            let error = limit(bits).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(&format!("{bits} bits")), "{error}");
        }
    }
}
