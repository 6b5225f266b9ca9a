//! Adapters of the machine.

use std::fmt;

use wgpu::Backend;

use super::device_options::DeviceOptions;
use super::limits::{USED_FEATURES, largest_storage, storage_size};
use crate::error::Result;
use crate::threads::block;

/// Returns the graphics interface of this name, as in messages. wgpu's dummy for tests has none.
pub(crate) fn backend_named(text: &str) -> Option<Backend> {
    Backend::ALL.into_iter().find(|backend| *backend != Backend::Noop && backend.to_str() == text)
}

/// Kind of an adapter's device, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    /// A GPU with separate memory.
    Discrete,
    /// A GPU that shares the processor's memory.
    Integrated,
    /// A GPU inside a virtual machine.
    Virtual,
    /// Unknown to wgpu.
    Unknown,
    /// A driver that computes on the processor.
    Software,
}

impl DeviceKind {
    fn from_info(info: &wgpu::AdapterInfo) -> Self {
        match info.device_type {
            wgpu::DeviceType::DiscreteGpu => DeviceKind::Discrete,
            wgpu::DeviceType::IntegratedGpu => DeviceKind::Integrated,
            wgpu::DeviceType::VirtualGpu => DeviceKind::Virtual,
            wgpu::DeviceType::Cpu => DeviceKind::Software,
            wgpu::DeviceType::Other => DeviceKind::Unknown,
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Discrete => "discrete",
            DeviceKind::Integrated => "integrated",
            DeviceKind::Virtual => "virtual",
            DeviceKind::Unknown => "unknown",
            DeviceKind::Software => "software",
        })
    }
}

/// One adapter: a GPU, or a software driver, of one back end.
#[derive(Debug, Clone)]
pub struct Adapter {
    /// Index in the list of all adapters.
    pub index: usize,
    /// Name reported by the driver.
    pub name: String,
    /// Real or software.
    pub kind: DeviceKind,
    /// Graphics interface.
    pub backend: Backend,
    /// Driver and its version.
    pub driver: String,
    /// Options for opening it.
    pub device_options: DeviceOptions,
    pub(super) handle: wgpu::Adapter,
}

impl Adapter {
    /// Returns the same adapter with these options for opening it.
    #[must_use]
    pub fn with_options(self, device_options: DeviceOptions) -> Self {
        Self { device_options, ..self }
    }

    /// Returns the number of storage buffers that a kernel may bind.
    pub fn storage_buffers(&self) -> usize {
        self.handle.limits().max_storage_buffers_per_shader_stage as usize
    }

    /// Returns the largest size of a storage buffer, in bytes.
    pub fn largest_storage(&self) -> u64 {
        largest_storage(&self.handle.limits())
    }

    /// Checks whether a storage buffer may have `bytes` bytes, before the adapter is opened.
    ///
    /// # Errors
    /// [`Error::Device`](crate::error::Error::Device) when the adapter has no buffers of that size.
    pub fn check_storage(&self, label: &str, bytes: u64) -> Result<()> {
        storage_size(&self.name, &self.handle.limits(), label, bytes).map(|_| ())
    }

    /// Returns the optional features that this program uses, by their wgpu names.
    pub fn features(&self) -> Vec<String> {
        let used = self.handle.features() & USED_FEATURES;
        used.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-")).collect()
    }
}

/// Returns all adapters that can compute, of all back ends or of one. The order, and with it the index, is
/// the same for each call: back ends in the order of [`Backend`], each with real GPUs first.
pub fn adapters(only: Option<Backend>) -> Vec<Adapter> {
    block(adapters_async(only))
}

/// Returns the same as [`adapters`], as a future.
pub async fn adapters_async(only: Option<Backend>) -> Vec<Adapter> {
    through(only.map_or_else(wgpu::Backends::all, wgpu::Backends::from)).await
}

/// Returns the adapters of all back ends except OpenGL, which come first in [`adapters`]: loading its driver
/// takes a while.
pub(crate) fn adapters_without_gl() -> Vec<Adapter> {
    block(through(wgpu::Backends::all() - wgpu::Backends::GL))
}

async fn through(wanted: wgpu::Backends) -> Vec<Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wanted;
    // Debug builds would enable the validation layers, which only driver developers have.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    let mut found: Vec<Adapter> = instance
        .enumerate_adapters(wanted)
        .await
        .into_iter()
        .filter(|handle| {
            handle.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        })
        .filter_map(|handle| {
            let info = handle.get_info();
            if info.backend == Backend::Gl && is_old_opengl(&info.driver_info) {
                return None;
            }
            Some(Adapter {
                index: 0,
                backend: info.backend,
                kind: DeviceKind::from_info(&info),
                driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
                // A browser may report no name.
                name: if info.name.is_empty() { "GPU".to_owned() } else { info.name },
                device_options: DeviceOptions::default(),
                handle,
            })
        })
        .collect();
    found.sort_by_key(|adapter| (adapter.backend as u8, adapter.kind));
    for (index, adapter) in found.iter_mut().enumerate() {
        adapter.index = index;
    }
    found
}

/// Returns whether a driver of OpenGL, whose name begins with its version, is too old for kernels. wgpu
/// accepts extensions instead, but compiles for the version: it requests 3.3, and NVIDIA's drivers provide no
/// more (https://github.com/gfx-rs/wgpu/issues/4751). Names of OpenGL ES drivers begin with that name.
fn is_old_opengl(driver: &str) -> bool {
    let mut numbers = driver.split(['.', ' ']).map_while(|number| number.parse::<u32>().ok());
    numbers.next().is_some_and(|major| (major, numbers.next().unwrap_or(0)) < (4, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opengl_below_4_3_runs_no_kernels() {
        let drivers = ["3.3.0 NVIDIA 580.159.04", "4.2 (Core Profile) Mesa 10.0", "4 unheard of"];
        assert_eq!(drivers.map(is_old_opengl), [true; 3]);
        let drivers =
            ["4.5 (Core Profile) Mesa 22.3.6", "4.6.0 NVIDIA 545.29.06", "OpenGL ES 3.1 Mesa 22.3.6", ""];
        assert_eq!(drivers.map(is_old_opengl), [false; 4]);
    }
}
