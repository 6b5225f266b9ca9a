//! Used features of adapters, and limits of buffers.

use crate::error::{Error, Result};

/// Optional features that are enabled if the adapter has them.
pub(super) const USED_FEATURES: wgpu::Features = wgpu::Features::SUBGROUP
    .union(wgpu::Features::IMMEDIATES)
    .union(wgpu::Features::PIPELINE_CACHE)
    .union(wgpu::Features::TIMESTAMP_QUERY);

/// Returns the largest size of a storage buffer within these limits, in bytes.
pub(super) fn largest_storage(limits: &wgpu::Limits) -> u64 {
    // The shaders count words in u32, and threads beyond the end must not wrap around to the start.
    let addressable = 4 * u64::from(u32::MAX - (1 << 24));
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(addressable)
}

/// Returns the size of a storage buffer of at least `bytes`, if the device `name` with these limits has
/// buffers of that size.
pub(super) fn storage_size(name: &str, limits: &wgpu::Limits, label: &str, bytes: u64) -> Result<u64> {
    let (size, largest) = (bytes.next_multiple_of(16).max(16), largest_storage(limits));
    if size <= largest {
        return Ok(size);
    }
    Err(Error::Device(format!(
        "{name} takes buffers of up to {largest} bytes, {label} needs {size}; try smaller batches or a smaller \
         network"
    )))
}
