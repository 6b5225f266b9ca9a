//! Readback of buffers to the host.

use super::context::Context;
use super::wait::Arrival;
use crate::error::{Error, Result};
use crate::threads::block;

/// A host-visible copy target whose contents arrive after the submission that fills it.
pub struct Readback {
    buffer: wgpu::Buffer,
    mapped: Arrival<Result<(), wgpu::BufferAsyncError>>,
}

impl Readback {
    /// Creates a target of `bytes` bytes, a multiple of 4.
    pub fn new(context: &Context, bytes: u64) -> Self {
        let buffer = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("readback"),
            size: bytes.max(16),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { buffer, mapped: Arrival::new() }
    }

    /// Returns the capacity in bytes.
    pub fn size(&self) -> u64 {
        self.buffer.size()
    }

    /// Records the copy of `bytes` of `source` from `start` on, both multiples of 4, which is mapped when the
    /// submission has ended.
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder, source: &wgpu::Buffer, start: u64, bytes: u64) {
        encoder.copy_buffer_to_buffer(source, start, &self.buffer, 0, Some(bytes));
        self.record_end(encoder, bytes);
    }

    /// Records the copy of the first `bytes` of `source` to byte `at`, both multiples of 4; [`Readback::record_end`] follows.
    pub fn record_to(&self, encoder: &mut wgpu::CommandEncoder, source: &wgpu::Buffer, bytes: u64, at: u64) {
        encoder.copy_buffer_to_buffer(source, 0, &self.buffer, at, Some(bytes));
    }

    /// Records the end of all copies, of `bytes` in total: they are mapped when the submission has ended.
    pub fn record_end(&self, encoder: &wgpu::CommandEncoder, bytes: u64) {
        let sender = self.mapped.sender();
        encoder.map_buffer_on_submit(&self.buffer, wgpu::MapMode::Read, ..bytes, move |result| {
            sender.send(result)
        });
    }

    /// Returns whether the contents have arrived; never waits.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the mapping failed.
    pub fn is_ready(&self) -> Result<bool> {
        let result = self.mapped.take().transpose();
        Ok(result.map_err(unread)?.is_some())
    }

    /// Waits for the contents of a submission that has [ended](Context::ended): its callback may be running on another
    /// thread's poll.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the mapping failed.
    pub async fn ready(&self) -> Result<()> {
        match self.mapped.taken().await {
            Some(result) => result.map_err(unread),
            None => Err(Error::Gpu("a buffer was not mapped when its submission had ended".to_owned())),
        }
    }

    /// Returns the first `bytes`; only after [`Readback::is_ready`] or [`Readback::ready`]. The target may
    /// then be used again.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the mapping failed.
    pub fn take(&self, bytes: u64) -> Result<Vec<u8>> {
        let view = self.buffer.get_mapped_range(..bytes).map_err(unread)?;
        let contents = view.to_vec();
        drop(view);
        self.buffer.unmap();
        Ok(contents)
    }
}

fn unread(error: impl std::fmt::Display) -> Error {
    Error::Gpu(format!("reading back: {error}"))
}

/// Reads the first `bytes` of a buffer (a multiple of 4). Waits for all earlier submissions.
///
/// # Errors
/// [`Error::Gpu`] when the device fails.
pub fn read_buffer(context: &Context, source: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>> {
    block(read_buffer_at(context, source, 0, bytes))
}

/// Reads `bytes` from `start` on, also a multiple of 4, as [`read_buffer`] does.
///
/// # Errors
/// [`Error::Gpu`] when the device fails.
pub async fn read_buffer_at(
    context: &Context,
    source: &wgpu::Buffer,
    start: u64,
    bytes: u64,
) -> Result<Vec<u8>> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    let target = Readback::new(context, bytes);
    let mut encoder = context.device.create_command_encoder(&Default::default());
    target.record(&mut encoder, source, start, bytes);
    context.ended(context.queue.submit([encoder.finish()])).await?;
    target.ready().await?;
    target.take(bytes)
}
