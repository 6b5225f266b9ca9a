//! Checks that buffers are as large as a kernel's accesses: kernels run without run-time checks, so nothing
//! is dispatched before this check.

use crate::error::{Error, Result};
use crate::gpu::Context;
use crate::kernels::{Kernel, Shader, StepRecord, Tuning, blocks, shape_error};

/// Least size that wgpu binds; all of our buffers have it.
const LEAST: u64 = 16;

/// Most rows of a batch: shaders count them in u32, by steps of a grid.
const MOST_ROWS: usize = 1 << 31;

/// Returns the bytes of a number of words, the sum of these products. Saturates, so that no size wraps around
/// to a small one.
pub(crate) fn words(terms: &[&[usize]]) -> u64 {
    let product = |term: &&[usize]| term.iter().fold(1u64, |all, factor| all.saturating_mul(*factor as u64));
    terms.iter().map(product).fold(0, u64::saturating_add).saturating_mul(4)
}

/// Returns the bytes of a number of vec4s, as [`words`] does.
pub(crate) fn vec4s(terms: &[&[usize]]) -> u64 {
    words(terms).saturating_mul(4)
}

/// Returns the bytes of a matrix.
pub(crate) fn matrix(rows: usize, columns: usize) -> u64 {
    vec4s(&[&[rows, blocks(columns)]])
}

/// Returns the bytes of a layer's parameters that begin at vec4 `offset`.
pub(crate) fn layer(offset: usize, inputs: usize, outputs: usize) -> u64 {
    vec4s(&[&[offset], &[inputs.saturating_add(1), blocks(outputs)]])
}

/// Returns the live rows of a kernel that has room for `most`.
///
/// # Errors
/// [`Error::Shape`] when this batch or the next has more.
pub(crate) fn live_rows(record: &StepRecord, shader: &'static Shader, most: usize) -> Result<usize> {
    let most = most.min(MOST_ROWS);
    match [record.rows, record.next_rows].into_iter().find(|rows| *rows as usize > most) {
        Some(rows) => Err(shape_error(shader, format!("at most {most} rows of a batch"), rows.to_string())),
        None => Ok(record.rows as usize),
    }
}

/// Returns the bytes of the order up to the last row of the batch, and of the next.
pub(crate) fn order_bytes(record: &StepRecord, next: bool) -> u64 {
    let next = if next { record.next_rows as usize } else { 0 };
    words(&[&[record.first as usize], &[record.rows as usize], &[next]])
}

/// Returns the bytes of the metrics up to this step, if a step has `groups` pairs.
pub(crate) fn metrics_bytes(record: &StepRecord, groups: usize) -> u64 {
    words(&[&[2, record.slot as usize + 1, groups]])
}
/// Checks that the device can run such tile shapes, that every buffer is at least as large as the kernel's
/// accesses in the step of `record`, and that the kernel has room for its rows.
///
/// # Errors
/// [`Error::Device`] for the tile shapes, else [`Error::Shape`].
pub(crate) fn check_extents(
    context: &Context,
    kernel: &dyn Kernel,
    tuning: &Tuning,
    buffers: &[&wgpu::Buffer],
    record: &StepRecord,
) -> Result<()> {
    if !tuning.runs_on(context) {
        return Err(Error::Device(format!("{} cannot run the tile shapes {tuning:?}", context.name)));
    }
    let extents = kernel.extents(tuning, record)?;
    let shape = |expected, found| Err(shape_error(kernel.shader(), expected, found));
    if buffers.len() != extents.len() {
        return shape(format!("{} buffers", extents.len()), buffers.len().to_string());
    }
    for (binding, (extent, buffer)) in (1..).zip(extents.into_iter().zip(buffers)) {
        let needed = extent.max(LEAST);
        if buffer.size() < needed {
            let expected = format!("at least {needed} bytes at binding {binding}");
            return shape(expected, format!("{} bytes", buffer.size()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_saturate() {
        assert_eq!(words(&[&[2, 3], &[5]]), 44);
        assert_eq!(vec4s(&[&[2, 3], &[5]]), 176);
        assert_eq!(words(&[&[usize::MAX, 2], &[1]]), u64::MAX);
        assert_eq!(layer(1, usize::MAX, 4), u64::MAX);
        assert_eq!(matrix(3, 5), 96);
    }
}
