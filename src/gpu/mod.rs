//! GPU access through wgpu: adapters, device, pipelines, buffers. Independent of networks.

mod adapters;
mod buffers;
mod cache;
mod context;
mod device_options;
mod fork;
mod gpu_detection;
mod limits;
mod pipeline;
mod record_transport;
mod steps;
mod timestamps;
mod unchecked_shaders;
mod wait;

/// Runs a future to completion, on a thread that may block.
pub use crate::threads::block;
/// A graphics interface used by wgpu.
pub use wgpu::Backend;

pub use adapters::{Adapter, DeviceKind, adapters, adapters_async};
pub(crate) use adapters::{adapters_without_gl, backend_named};
pub use buffers::{Readback, read_buffer, read_buffer_at};
pub use context::Context;
pub use device_options::DeviceOptions;
pub(crate) use fork::is_forked;
pub use gpu_detection::may_have_gpu;
pub(crate) use gpu_detection::{LISTING_LIMIT, within};
pub use pipeline::{Access, Pipelines, Prepared, Program};
pub use record_transport::RecordTransport;
pub use steps::{StepBinding, StepRecords};
pub use timestamps::Timestamps;
