//! Whole networks: gradients, and the weights after one step, of every schedule.

use super::problem::Problem;
use super::{Sink, outcome};
use crate::engine::{CpuEngine, Engine, EngineOptions, GpuEngine};
use crate::error::Result;
use crate::gpu::Adapter;
use crate::model::{Network, Parameters};
use crate::schedule::ScheduleKind;
use crate::step::OptimizerKind;

/// Layer sizes and rows of the batch: odd ones, softmax regression, and the standard reference.
pub(super) const SHAPES: [(&[usize], usize); 3] =
    [(&[17, 63, 33, 5], 33), (&[13, 4], 9), (&[784, 300, 100, 10], 64)];

/// Makes an engine with these parameters.
type Make<'a> = dyn Fn(&Parameters, &Network, &EngineOptions) -> Result<Box<dyn Engine>> + 'a;

/// Gradients and a step under each of the schedules; one with each optimizer, for which they take turns.
fn engine(make: &Make<'_>, schedules: &[Option<ScheduleKind>], sink: &mut Sink<'_>) -> Result<()> {
    let made = |it: &Problem, schedule| make(&it.parameters, &it.network, &it.options(schedule));
    let named = |schedule: Option<ScheduleKind>| schedule.map_or(String::new(), |kind| format!(", {kind}"));
    for (sizes, rows) in SHAPES {
        let problem = Problem::new(sizes, rows)?;
        let shape = format!("{} x {rows}", problem.network);
        let got = made(&problem, None).and_then(|mut engine| problem.gradients(&mut *engine));
        sink(outcome("gradients", &shape, got));
        for schedule in schedules.iter().copied() {
            let got = made(&problem, schedule).and_then(|mut engine| problem.one_step(&mut *engine));
            sink(outcome(&format!("one step{}", named(schedule)), &shape, got));
        }
    }
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let (problem, schedule) = (Problem::mixed(number, *kind)?, schedules[number % schedules.len()]);
        let got = made(&problem, schedule).and_then(|mut engine| problem.one_step(&mut *engine));
        let subject = format!("{}{}", problem.subject(), named(schedule));
        sink(outcome(&subject, &problem.activations(), got));
    }
    Ok(())
}

/// Checks the CPU engine: the gradients of some networks, and their weights after one step; and a step with every activation,
/// loss and optimizer.
///
/// # Errors
/// When no reference can be made; what the engine does wrong is an [`Outcome`](super::Outcome).
pub fn cpu_engine(sink: &mut Sink<'_>) -> Result<()> {
    let make = |parameters: &Parameters, network: &Network, options: &EngineOptions| {
        Ok(Box::new(CpuEngine::new(parameters, network, options)) as Box<dyn Engine>)
    };
    engine(&make, &[None], sink)
}

/// Checks the GPU engine in the same way, for every schedule.
///
/// # Errors
/// As [`cpu_engine`].
pub fn gpu_engine(adapter: &Adapter, sink: &mut Sink<'_>) -> Result<()> {
    let make = |parameters: &Parameters, network: &Network, options: &EngineOptions| {
        Ok(Box::new(GpuEngine::new(adapter, parameters, network, options)?) as Box<dyn Engine>)
    };
    engine(&make, &ScheduleKind::ALL.map(Some), sink)
}
