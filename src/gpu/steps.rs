//! How a kernel hears what changes from step to step while its buffers stay bound.

use super::context::Context;
use super::pipeline::Pipelines;

/// What brings a small record to the dispatches of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Immediates: part of the commands themselves.
    Immediates,
    /// The offset of a uniform, at binding 0 of group 1: every device has these.
    Offsets,
}

impl Carrier {
    /// Both.
    pub const ALL: [Carrier; 2] = [Carrier::Immediates, Carrier::Offsets];

    /// The best that a device has for records of `bytes` bytes.
    pub(super) fn of(device: &wgpu::Device, limits: &wgpu::Limits, bytes: u32) -> Self {
        let able = device.features().contains(wgpu::Features::IMMEDIATES);
        if able && limits.max_immediate_size >= bytes { Carrier::Immediates } else { Carrier::Offsets }
    }
}

/// The records of the steps of one submission, all of the same size.
pub struct StepRecords {
    bytes: usize,
    /// Where they stand, if they are not part of the commands.
    uniform: Option<Uniform>,
}

struct Uniform {
    buffer: wgpu::Buffer,
    group: wgpu::BindGroup,
    stride: usize,
}

/// One of them, as a dispatch takes it.
#[derive(Clone, Copy)]
pub enum StepBinding<'a> {
    /// The record itself.
    Immediates(&'a [u8]),
    /// Group 1, and where the record stands in it.
    Offset(&'a wgpu::BindGroup, u32),
}

impl StepBinding<'_> {
    pub(super) fn set(self, pass: &mut wgpu::ComputePass<'_>) {
        match self {
            StepBinding::Immediates(record) => pass.set_immediates(0, record),
            StepBinding::Offset(group, offset) => pass.set_bind_group(1, group, &[offset]),
        }
    }
}

impl StepRecords {
    /// Room for `most` records of `bytes` bytes, a multiple of 4.
    pub fn new(context: &Context, bytes: usize, most: usize) -> Self {
        let uniform = (context.carrier == Carrier::Offsets).then(|| {
            let stride = bytes.next_multiple_of(context.limits.min_uniform_buffer_offset_alignment as usize);
            let buffer = context.uniform("steps", &vec![0; most * stride]);
            let group = Pipelines::step_group(context, &buffer, bytes as u64);
            Uniform { buffer, group, stride }
        });
        Self { bytes, uniform }
    }

    /// Puts `records` where the next submission looks for them: call it after the submission before, and before this one.
    pub fn write(&self, context: &Context, records: &[u8]) {
        if let Some(Uniform { buffer, stride, .. }) = &self.uniform {
            let mut spread = vec![0; records.len() / self.bytes * stride];
            for (slot, record) in spread.chunks_exact_mut(*stride).zip(records.chunks_exact(self.bytes)) {
                slot[..self.bytes].copy_from_slice(record);
            }
            context.queue.write_buffer(buffer, 0, &spread);
        }
    }

    /// Each of `records`, in their order, for [`Prepared::record`](super::Prepared::record).
    pub fn each<'a>(&'a self, records: &'a [u8]) -> impl Iterator<Item = StepBinding<'a>> {
        records.chunks_exact(self.bytes).enumerate().map(|(number, record)| match &self.uniform {
            None => StepBinding::Immediates(record),
            Some(Uniform { group, stride, .. }) => StepBinding::Offset(group, (number * stride) as u32),
        })
    }
}
