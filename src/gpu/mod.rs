//! The GPU as wgpu shows it: adapters, device, pipelines, buffers. Knows nothing of networks.

mod adapters;
mod buffers;
mod cache;
mod carrier;
mod context;
mod limits;
mod opening;
mod pipeline;
mod presence;
mod steps;
mod timestamps;
mod trusted;
mod wait;

pub use adapters::{Adapter, Backend, DeviceKind, adapters, adapters_async};
pub use buffers::{Readback, read_buffer, read_buffer_at};
pub use carrier::Carrier;
pub use context::Context;
pub use opening::Opening;
pub use pipeline::{Access, Pipelines, Prepared, Program};
pub use presence::may_have_gpu;
pub use steps::{StepBinding, StepRecords};
pub use timestamps::Timestamps;
pub use wait::block;
