//! Options for opening a device.

use std::path::PathBuf;

/// Options for opening a device. The default trains fastest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceOptions {
    /// Whether shaders do redundant checks: they clamp every index, count every loop and check every divisor,
    /// and workgroup memory is zeroed before a kernel runs. Otherwise safety depends on the conditions in
    /// `gpu/unchecked_shaders.rs`.
    pub checked: bool,
    /// Whether records of steps are passed by offsets, even if the device has immediates.
    pub offsets: bool,
    /// Folder for compiled pipelines, if the driver exports them. Corrupt files are recompiled.
    pub cache: Option<PathBuf>,
    /// Whether to use the host's clock instead of time stamps, even if the device supports them.
    pub no_timestamps: bool,
    /// Most bytes of all buffers of the device, even if it has more memory, if its driver reports how many
    /// are allocated. A storage buffer beyond the limit fails like one without memory: the device reports it
    /// later.
    pub room: Option<u64>,
}
