//! Lists of dispatches for a training step, and the choice between them.

mod dispatch_plan;
mod fences;
mod selection;
mod training_step;

pub use crate::step::ScheduleKind;
pub use dispatch_plan::{Buffer, Dispatch, DispatchPlan};
pub use fences::{is_fenced, unfenced};
pub use selection::parameter_layout;
pub use selection::{DeviceLimits, SelectedPlan};
pub use training_step::TrainingStep;
