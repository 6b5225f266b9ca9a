//! Vector instructions: the longest of the processor, or shorter ones with the number of bits in
//! TINYTRAIN_VECTORS.

use std::env;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};

use crate::error::{Error, Result};

/// Variable with the most bits of a vector: 128, 256 or 512. It is read once; processors other than x86 have
/// only one length. Vectors of 128 bits have no fused multiply-add: with them x86 computes the same bits as a
/// browser, whose vectors have none either. All other rounded operations in training are plain arithmetic of
/// the library, or functions of the standard library in f64 whose results are rounded to f32.
const VARIABLE: &str = "TINYTRAIN_VECTORS";

/// Runs work that is compiled for each kind of processor.
#[inline(always)]
pub(crate) fn vectorized<Work: WithSimd>(work: Work) -> Work::Output {
    longest().dispatch(work)
}

/// A closure with loops; see [`vectorized_loops`].
pub(crate) struct Loops<F>(pub F);

impl<F: FnMut()> WithSimd for Loops<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        (self.0)();
    }
}

/// Evaluates an expression that is compiled for each kind of processor, with vectorized loops. It is always
/// inlined: a large closure passed to [`vectorized`] would become a function for any processor.
macro_rules! vectorized_loops {
    ($work:expr) => {
        $crate::vectors::vectorized($crate::vectors::Loops(
            #[inline(always)]
            || $work,
        ))
    };
}

pub(crate) use vectorized_loops;

/// Returns the longest vectors in use.
#[inline]
pub(crate) fn longest() -> Arch {
    static LONGEST: OnceLock<Arch> = OnceLock::new();
    // `check` reports a wrong length at program start.
    *LONGEST.get_or_init(|| asked().unwrap_or_default())
}

/// Checks the length in TINYTRAIN_VECTORS, if it is set.
///
/// # Errors
/// [`Error::Config`] for a length that vectors do not have.
pub fn check() -> Result<()> {
    asked().map(|_| ())
}

fn asked() -> Result<Arch> {
    let Some(value) = env::var_os(VARIABLE) else { return Ok(Arch::new()) };
    let bits = value.to_str().and_then(|value| value.parse().ok()).unwrap_or(0);
    arch(bits).ok_or_else(|| {
        let value = value.to_string_lossy().escape_debug().to_string();
        Error::Config(format!("{VARIABLE} is `{value}`, not 128, 256 or 512: the most bits of a vector"))
    })
}

/// Returns vectors of at most `longest` bits; `None` for a length that vectors do not have.
fn arch(longest: u32) -> Option<Arch> {
    match longest {
        #[cfg(target_arch = "x86_64")]
        128 => Some(Arch::Scalar),
        #[cfg(target_arch = "x86_64")]
        256 => Some(pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3)),
        _ if [128, 256, 512].contains(&longest) => Some(Arch::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_vectors_do_not_have_are_none() {
        assert!([0, 64, 255, 1024].map(arch).iter().all(Option::is_none));
        assert!([128, 256, 512].map(arch).iter().all(Option::is_some));
    }
}
