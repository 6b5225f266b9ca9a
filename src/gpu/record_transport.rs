//! What brings the record of a step to the kernels.

/// How a small record is passed to the dispatches of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordTransport {
    /// Immediates: part of the commands themselves.
    Immediates,
    /// The offset of a uniform, at binding 0 of group 1: every device has these.
    Offsets,
}

impl RecordTransport {
    /// Both.
    pub const ALL: [RecordTransport; 2] = [RecordTransport::Immediates, RecordTransport::Offsets];

    /// The best that a device has for records of `bytes` bytes.
    pub(super) fn choose(device: &wgpu::Device, limits: &wgpu::Limits, bytes: u32) -> Self {
        let able = device.features().contains(wgpu::Features::IMMEDIATES);
        if able && limits.max_immediate_size >= bytes {
            RecordTransport::Immediates
        } else {
            RecordTransport::Offsets
        }
    }
}
