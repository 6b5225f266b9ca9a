//! Vector instructions: the longest ones of the processor, or the shorter ones that TINYTRAIN_VECTORS names, in bits.

use std::env;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};

use crate::error::{Error, Result};

/// Names the most bits of a vector: 128, 256 or 512. It is read once; processors other than x86 have but one length. Those of 128 bits
/// have no fused multiply-add: with them x86 computes the same bits as a browser, whose vectors have none either. All else that
/// is rounded in training is plain arithmetic of the library, or a function of the standard library in f64 whose result is rounded to f32.
const VARIABLE: &str = "TINYTRAIN_VECTORS";

/// Does some work that is compiled for each kind of processor.
#[inline(always)]
pub(crate) fn vectorized<Work: WithSimd>(work: Work) -> Work::Output {
    longest().dispatch(work)
}

/// Loops of a closure; see [`vectorized_loops`].
pub(crate) struct Loops<F>(pub F);

impl<F: FnMut()> WithSimd for Loops<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        (self.0)();
    }
}

/// Does what an expression says, compiled for each kind of processor, which turns its loops into vector instructions. Inlined whatever its
/// size: a closure that is given to [`vectorized`] becomes a function for any processor when it is large.
macro_rules! vectorized_loops {
    ($work:expr) => {
        $crate::vectors::vectorized($crate::vectors::Loops(
            #[inline(always)]
            || $work,
        ))
    };
}

pub(crate) use vectorized_loops;

/// The longest vectors that are taken.
#[inline]
pub(crate) fn longest() -> Arch {
    static LONGEST: OnceLock<Arch> = OnceLock::new();
    // Who starts a program hears of a wrong length from `check`.
    *LONGEST.get_or_init(|| asked().unwrap_or_default())
}

/// Checks the length that TINYTRAIN_VECTORS names, if it does.
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

/// Vectors of at most `longest` bits; `None` for a length that vectors do not have.
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
