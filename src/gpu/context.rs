//! An open device, used for the lifetime of the program.

use std::sync::{Arc, Mutex, PoisonError};

use super::adapters::{Adapter, DeviceKind};
use super::cache::Cache;
use super::device_options::DeviceOptions;
use super::fork::opens_device;
use super::limits::{USED_FEATURES, largest_storage, storage_size};
use super::record_transport::RecordTransport;
use super::wait::PATIENCE;
use crate::error::{Error, Result};
use crate::threads::block;

/// Bytes of immediates that a kernel may use, supported by every device with that feature.
const IMMEDIATE_BYTES: u32 = 64;

/// A device, its queue and its limits. Errors that wgpu reports outside a call are stored for
/// [`Context::check`].
pub struct Context {
    /// The device.
    pub device: wgpu::Device,
    /// The device's only queue.
    pub queue: wgpu::Queue,
    /// Limits of the device.
    pub limits: wgpu::Limits,
    /// Name of the adapter.
    pub name: String,
    /// Real or software.
    pub kind: DeviceKind,
    /// Graphics interface.
    pub backend: wgpu::Backend,
    /// Threads of a subgroup, if the device has subgroup operations and a single subgroup size.
    pub subgroup_size: Option<u32>,
    /// Transport of the records of steps to kernels.
    pub transport: RecordTransport,
    /// Options with which it was opened.
    pub device_options: DeviceOptions,
    /// Compiled pipelines, kept between runs.
    pub(super) cache: Option<Cache>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Drop for Context {
    fn drop(&mut self) {
        // Includes pipelines compiled since the last save.
        if let Some(cache) = &self.cache {
            cache.save();
        }
    }
}

impl Context {
    /// Opens an adapter with all its limits.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver rejects it.
    pub fn open(adapter: &Adapter) -> Result<Self> {
        block(Self::open_async(adapter))
    }

    /// Opens an adapter as [`Context::open`] does, as a future. Only the check of a pipeline cache blocks,
    /// which browsers do not have.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver rejects it.
    pub async fn open_async(adapter: &Adapter) -> Result<Self> {
        opens_device();
        let limits = adapter.handle.limits();
        let mut features = adapter.handle.features() & USED_FEATURES;
        features.set(
            wgpu::Features::TIMESTAMP_QUERY,
            features.contains(wgpu::Features::TIMESTAMP_QUERY) && !adapter.device_options.no_timestamps,
        );
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("tinytrain"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = adapter
            .handle
            .request_device(&descriptor)
            .await
            .map_err(|error| Error::Device(format!("cannot open {}: {error}", adapter.name)))?;
        let info = adapter.handle.get_info();
        let subgroup_size = (device.features().contains(wgpu::Features::SUBGROUP)
            && info.subgroup_min_size == info.subgroup_max_size)
            .then_some(info.subgroup_max_size);
        let transport = match adapter.device_options.offsets {
            true => RecordTransport::Offsets,
            false => RecordTransport::choose(&device, &limits, IMMEDIATE_BYTES),
        };
        let failure = Arc::new(Mutex::new(None));
        let keep = |slot: Arc<Mutex<Option<String>>>| {
            move |text: String| {
                slot.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
            }
        };
        let on_error = keep(Arc::clone(&failure));
        device
            .on_uncaptured_error(Arc::new(move |error: wgpu::Error| on_error(one_line(&error.to_string()))));
        let on_lost = keep(Arc::clone(&failure));
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                on_lost(one_line(&format!("device lost: {message}")));
            }
        });
        let cache =
            adapter.device_options.cache.as_ref().and_then(|folder| Cache::open(&device, &info, folder));
        Ok(Self {
            device,
            queue,
            limits,
            name: adapter.name.clone(),
            kind: adapter.kind,
            backend: adapter.backend,
            subgroup_size,
            transport,
            cache,
            device_options: adapter.device_options.clone(),
            failure,
        })
    }

    /// Returns the first error that the device has reported, if any.
    ///
    /// # Errors
    /// [`Error::Gpu`] with that report.
    pub fn check(&self) -> Result<()> {
        match &*self.failure.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(text) => Err(Error::Gpu(text.clone())),
            None => Ok(()),
        }
    }

    /// Clears the error that the device has reported.
    pub(crate) fn forget(&self) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Waits as [`Context::ended`] does, on a thread that may block.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails or hangs.
    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        block(self.ended(submission))
    }

    /// Waits until a submission, and all earlier ones, have ended and their callbacks have run. Outside
    /// browsers, only the caller drives a device, so the first poll of this future blocks. A browser drives
    /// its device itself, so this returns at once and the results of callbacks have to be awaited.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails or hangs.
    pub async fn ended(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        if self.backend == wgpu::Backend::BrowserWebGpu {
            return self.check();
        }
        self.device
            .poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) })
            // Prefer an error that the device has reported before, as the cause.
            .map_err(|error| {
                let waiting = Error::Gpu(format!("waiting for {}: {error}", self.name));
                self.check().err().unwrap_or(waiting)
            })?;
        self.check()
    }

    /// Runs the callbacks of finished work, without waiting.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device fails.
    pub fn poll(&self) -> Result<()> {
        self.device
            .poll(wgpu::PollType::Poll)
            .map_err(|error| Error::Gpu(format!("polling {}: {error}", self.name)))?;
        self.check()
    }

    /// Returns whether the device supports time stamps.
    pub fn has_timestamps(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// Returns the largest size of a storage buffer on this device, in bytes.
    pub fn largest_storage(&self) -> u64 {
        largest_storage(&self.limits)
    }

    /// Creates a storage buffer of at least `bytes` (and at least one vec4), which copies may read and write.
    ///
    /// # Errors
    /// [`Error::Device`] when the device has no buffers of that size.
    pub fn storage(&self, label: &str, bytes: u64) -> Result<wgpu::Buffer> {
        let mut size = storage_size(&self.name, &self.limits, label, bytes)?;
        if !self.has_room(size) {
            // Larger than any buffer, so that the device reports an error.
            size = self.limits.max_buffer_size.saturating_add(16) & !15;
        }
        Ok(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        }))
    }

    /// Returns whether `bytes` more bytes are within the memory limit that the device was opened with.
    fn has_room(&self, bytes: u64) -> bool {
        let Some(room) = self.device_options.room else { return true };
        let report = self.device.generate_allocator_report();
        report.is_none_or(|report| report.total_allocated_bytes.saturating_add(bytes) <= room)
    }

    /// Creates a uniform buffer with these contents; copies may replace them.
    pub fn uniform(&self, label: &str, contents: &[u8]) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: (contents.len() as u64).next_multiple_of(16),
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: true,
        });
        if let Ok(mut view) = buffer.get_mapped_range_mut(..) {
            view.slice(..contents.len()).copy_from_slice(contents);
        }
        buffer.unmap();
        buffer
    }
}

/// Joins lines, since driver messages have many and ours have one.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
