//! How a device is opened.

use std::path::PathBuf;

/// What the caller decides before a device is opened. The default is what trains fastest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceOptions {
    /// Shaders check what they need not: every index is clamped, every loop counted and every divisor looked at, and
    /// workgroup memory is 0 before a kernel runs. Else what `gpu/trusted.rs` says of shaders and buffers is.
    pub checked: bool,
    /// What changes from step to step comes by offsets, also where the device has immediates.
    pub offsets: bool,
    /// Folder for compiled pipelines, where the driver hands them out. What is broken there is compiled again.
    pub cache: Option<PathBuf>,
    /// The device writes no time stamps, also where it could: what it does is timed by the host's clock.
    pub no_timestamps: bool,
    /// Bytes that all buffers of the device may take, also where it has more memory, if its driver tells how many they take. A
    /// storage buffer beyond that fails as one for which there is no memory: the device reports it later.
    pub room: Option<u64>,
}
