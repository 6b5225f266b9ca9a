//! Training: settings, the schedule of a step, the engines that run it, the epoch loop.

mod chosen;
mod config;
mod cpu;
mod device;
mod engine;
mod gpu;
mod measured;
mod run;
mod schedule;
mod tiles;
mod tune;

pub use chosen::{Chosen, Circumstances};
pub use config::{Config, ScheduleKind};
pub use cpu::CpuEngine;
pub use device::{Choice, DeviceRequest, choose};
pub use engine::{BatchMetrics, Engine, EngineKind, Evaluation};
pub use gpu::GpuEngine;
pub use measured::{Measurement, Measurements, Workload};
pub use run::{Epoch, Event, Report, Summary, evaluate, evaluate_with_errors, train};
pub use schedule::{Buffer, Dispatch, Schedule, device_parameters, layer_offsets};
pub use tiles::{TileSource, Tiles};
pub use tune::{Subject, Trial, Tuned, TunedSchedule, Verdict, tune};
