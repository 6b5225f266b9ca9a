//! Whole networks: gradients, and weights after one step, with every schedule.

use super::problem::Problem;
use super::{Sink, outcome};
use crate::engine::{CpuEngine, Engine, GpuEngine};
use crate::error::Result;
use crate::gpu::Adapter;
use crate::kernels::Compute;
use crate::schedule::ScheduleKind;
use crate::step::OptimizerKind;
use crate::threads::block;

/// Layer sizes and rows of the batch: odd ones, softmax regression, and the standard benchmark.
pub(super) const SHAPES: [(&[usize], usize); 3] =
    [(&[17, 63, 33, 5], 33), (&[13, 4], 9), (&[784, 300, 100, 10], 64)];

/// Creates the engine of a problem on this device, or the CPU engine.
fn made(compute: Option<&Compute>, it: &Problem, schedule: Option<ScheduleKind>) -> Result<Box<dyn Engine>> {
    let options = it.options(schedule);
    Ok(match compute {
        None => Box::new(CpuEngine::new(&it.parameters, &it.network, &options)),
        Some(compute) => {
            let (parameters, network) = (&it.parameters, &it.network);
            Box::new(GpuEngine::with_tuning(compute.clone(), compute.tuning, parameters, network, &options)?)
        }
    })
}

/// Checks gradients and a step with each of the schedules, and one step with each optimizer, for which the
/// schedules take turns.
async fn engine(
    compute: Option<&Compute>,
    schedules: &[Option<ScheduleKind>],
    sink: &mut Sink<'_>,
) -> Result<()> {
    let named = |schedule: Option<ScheduleKind>| schedule.map_or(String::new(), |kind| format!(", {kind}"));
    for (sizes, rows) in SHAPES {
        let problem = Problem::new(sizes, rows)?;
        let shape = format!("{} x {rows}", problem.network);
        let got = match made(compute, &problem, None) {
            Ok(mut engine) => problem.gradients(&mut *engine).await,
            Err(error) => Err(error),
        };
        sink(outcome("gradients", &shape, got));
        for schedule in schedules.iter().copied() {
            let got = match made(compute, &problem, schedule) {
                Ok(mut engine) => problem.one_step(&mut *engine).await,
                Err(error) => Err(error),
            };
            sink(outcome(&format!("one step{}", named(schedule)), &shape, got));
        }
    }
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let (problem, schedule) = (Problem::mixed(number, *kind)?, schedules[number % schedules.len()]);
        let got = match made(compute, &problem, schedule) {
            Ok(mut engine) => problem.one_step(&mut *engine).await,
            Err(error) => Err(error),
        };
        let subject = format!("{}{}", problem.subject(), named(schedule));
        sink(outcome(&subject, &problem.activations(), got));
    }
    Ok(())
}

/// Checks the CPU engine: the gradients of some networks, and their weights after one step; and a step with
/// every activation, loss and optimizer.
///
/// # Errors
/// When the reference cannot be computed; errors of the engine's numbers are an [`Outcome`](super::Outcome).
pub fn cpu_engine(sink: &mut Sink<'_>) -> Result<()> {
    block(engine(None, &[None], sink))
}

/// Checks the GPU engine in the same way, with every schedule.
///
/// # Errors
/// See [`cpu_engine`].
pub fn gpu_engine(adapter: &Adapter, sink: &mut Sink<'_>) -> Result<()> {
    block(gpu_engine_async(&Compute::open(adapter)?, sink))
}

/// Checks as [`gpu_engine`] does on an open device, for threads that must not block.
///
/// # Errors
/// See [`cpu_engine`].
pub async fn gpu_engine_async(compute: &Compute, sink: &mut Sink<'_>) -> Result<()> {
    engine(Some(compute), &ScheduleKind::ALL.map(Some), sink).await
}
