//! Records that change from step to step while a kernel's buffers stay bound.

use super::context::Context;
use super::record_transport::RecordTransport;

/// The records of the steps of one submission, all of the same size.
pub struct StepRecords {
    bytes: usize,
    /// Most records of a dispatch.
    together: usize,
    /// The uniform with the records, unless they are immediates.
    uniform: Option<Uniform>,
}

struct Uniform {
    buffer: wgpu::Buffer,
    group: wgpu::BindGroup,
    alignment: usize,
}

/// Record of a step, in the form for a dispatch.
#[derive(Clone, Copy)]
pub enum StepBinding<'a> {
    /// The record itself.
    Immediates(&'a [u8]),
    /// Group 1, and the record's offset in it.
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
    /// Allocates room for `dispatches` dispatches of up to `count` records of `bytes` bytes, a multiple of 4;
    /// each sees a window of `together` records that starts at its first record.
    pub fn new(context: &Context, bytes: usize, dispatches: usize, count: usize, together: usize) -> Self {
        let mut records = Self { bytes, together, uniform: None };
        if together > 1 || context.transport == RecordTransport::Offsets {
            let alignment = context.limits.min_uniform_buffer_offset_alignment as usize;
            let window = bytes * together;
            let room = dispatches * records.stride(alignment, count) + window;
            let buffer = context.uniform("steps", &vec![0; room]);
            let group = step_group(context, &buffer, window as u64);
            records.uniform = Some(Uniform { buffer, group, alignment });
        }
        records
    }

    /// Writes `records` for the next submission, `together` per dispatch. Call this after the previous
    /// submission, and before the next. If a dispatch has fewer records than its window, they are followed by
    /// one of 0.
    pub fn write(&self, context: &Context, records: &[u8], together: usize) {
        if let Some(uniform) = &self.uniform {
            let stride = self.stride(uniform.alignment, together);
            let of_dispatch = self.bytes * together;
            let mut spread = vec![0; records.len().div_ceil(of_dispatch) * stride];
            for (slot, records) in spread.chunks_exact_mut(stride).zip(records.chunks(of_dispatch)) {
                slot[..records.len()].copy_from_slice(records);
            }
            context.queue.write_buffer(&uniform.buffer, 0, &spread);
        }
    }

    /// Returns the bindings of each dispatch, in order, for [`Prepared::record`](super::Prepared::record).
    pub fn each<'a>(&'a self, records: &'a [u8], together: usize) -> impl Iterator<Item = StepBinding<'a>> {
        records.chunks(self.bytes * together).enumerate().map(move |(number, record)| match &self.uniform {
            None => StepBinding::Immediates(record),
            Some(uniform) => StepBinding::Offset(
                &uniform.group,
                (number * self.stride(uniform.alignment, together)) as u32,
            ),
        })
    }

    /// Returns the distance in bytes between dispatches with `count` records each.
    fn stride(&self, alignment: usize, count: usize) -> usize {
        let ended = if count < self.together { count + 1 } else { count };
        (self.bytes * ended).next_multiple_of(alignment)
    }
}

/// Returns the layout entry of a buffer at a binding of a group.
pub(super) fn entry(
    binding: u32,
    ty: wgpu::BufferBindingType,
    dynamic: bool,
    bytes: u64,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: dynamic,
            min_binding_size: wgpu::BufferSize::new(bytes),
        },
        count: None,
    }
}

/// Returns the layout of group 1: one uniform with a dynamic offset.
pub(super) fn step_layout(context: &Context, bytes: u64) -> wgpu::BindGroupLayout {
    context.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("step"),
        entries: &[entry(0, wgpu::BufferBindingType::Uniform, true, bytes)],
    })
}

/// Creates group 1: the uniforms of many steps in one buffer, of which a dispatch sees `bytes` at its offset.
fn step_group(context: &Context, steps: &wgpu::Buffer, bytes: u64) -> wgpu::BindGroup {
    context.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("step"),
        layout: &step_layout(context, bytes),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: steps,
                offset: 0,
                size: wgpu::BufferSize::new(bytes),
            }),
        }],
    })
}
