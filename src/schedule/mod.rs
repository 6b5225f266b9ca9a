//! One step of training as a list of dispatches, and which list with which tile shapes a run takes.

mod dispatches;
mod fences;
mod kind;
mod measured;
mod selection;
mod tiles;

pub use dispatches::{Buffer, Dispatch, Schedule, device_parameters, layer_offsets};
pub use fences::{is_fenced, unfenced};
pub use kind::ScheduleKind;
pub use measured::{Measurement, Measurements, Workload};
pub(crate) use selection::parameter_bytes;
pub use selection::{DeviceLimits, SelectedSchedule};
pub(crate) use tiles::resolve;
pub use tiles::{TileSource, Tiles};
