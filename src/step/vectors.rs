//! Loops over numbers in the longest vectors of the processor, chosen at run time. They compute the same bits as without.

use pulp::Arch;

/// Does some work that is compiled for each kind of processor.
#[inline(always)]
pub(in crate::step) fn vectorized(work: impl FnOnce()) {
    Arch::new().dispatch(work);
}
