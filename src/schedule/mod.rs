//! One step of training as a list of dispatches, and which list with which tile shapes a run takes.

mod dispatch_plan;
mod fences;
mod measured;
mod packed;
mod selection;
mod tiles;
mod training_step;

pub use crate::step::ScheduleKind;
pub use dispatch_plan::{Buffer, Dispatch, DispatchPlan};
pub use fences::{is_fenced, unfenced};
pub use measured::{Measurement, Measurements, Workload};
pub(crate) use packed::packed_schedule;
pub use selection::parameter_layout;
pub use selection::{DeviceLimits, SelectedPlan};
pub(crate) use selection::{estimates, refusal};
pub(crate) use tiles::resolve;
pub use tiles::{TileSource, Tiles};
pub use training_step::TrainingStep;
