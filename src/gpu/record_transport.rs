//! Transport of a step's record to the kernels.

/// Transport of a small record to the dispatches of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordTransport {
    /// Immediates: part of the commands themselves.
    Immediates,
    /// Offset into a uniform, at binding 0 of group 1, supported by every device.
    Offsets,
}

impl RecordTransport {
    /// Both transports.
    pub const ALL: [RecordTransport; 2] = [RecordTransport::Immediates, RecordTransport::Offsets];

    /// Returns the best transport of a device for records of `bytes` bytes.
    pub(super) fn choose(device: &wgpu::Device, limits: &wgpu::Limits, bytes: u32) -> Self {
        let able = device.features().contains(wgpu::Features::IMMEDIATES);
        if able && limits.max_immediate_size >= bytes {
            RecordTransport::Immediates
        } else {
            RecordTransport::Offsets
        }
    }
}
