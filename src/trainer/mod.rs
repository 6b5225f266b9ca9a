//! Training: settings, the schedule of a step, the engines that run it, the epoch loop.

mod chosen;
mod config;
mod cpu;
mod device;
mod engine;
mod evaluation;
mod fences;
mod gpu;
mod measured;
mod recorder;
mod run;
mod schedule;
mod tiles;
mod trial;
mod tune;

pub use chosen::{Chosen, Circumstances};
pub use config::{Config, ScheduleKind};
pub use cpu::CpuEngine;
pub use device::{Choice, DeviceRequest, choose};
pub use engine::{BatchMetrics, Engine, EngineKind, Evaluation};
pub use evaluation::{evaluate, evaluate_with_errors};
pub use fences::{is_fenced, unfenced};
pub use gpu::GpuEngine;
pub use measured::{Measurement, Measurements, Workload};
pub use recorder::{Clock, Detail, Listener, Log, Member, Recorder, Stage, Submission, Work};
pub use run::{Epoch, Event, Report, Summary, train, train_timed};
pub use schedule::{Buffer, Dispatch, Schedule, device_parameters, layer_offsets};
pub use tiles::{TileSource, Tiles};
pub use trial::Trial;
pub use tune::{Attempt, Subject, Tuned, TunedSchedule, Verdict, tune};
