//! How long a dispatch takes: the longest of what its waves wait, compute and load.

use serde::Serialize;

use crate::clock::{Clock, Hardware};

/// What a workgroup of a dispatch takes of a unit.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Workgroups of the dispatch.
    pub groups: u64,
    /// Waves of a workgroup.
    pub waves: u64,
    /// Threads of a wave.
    pub lanes: u64,
    /// Vector registers of a thread.
    pub registers: u64,
    /// Bytes of workgroup memory.
    pub memory: u64,
}

impl Footprint {
    /// Workgroups that a unit has room for at the same time; one that needs more than there is counts as one.
    pub fn resident(&self, hardware: &Hardware) -> u64 {
        let threads = self.waves * self.lanes;
        let fit = |room: u64, each: u64| room.checked_div(each).unwrap_or(u64::MAX);
        fit(hardware.registers, self.registers * threads)
            .min(fit(hardware.threads, threads))
            .min(fit(hardware.memory_bytes, self.memory))
            .max(1)
    }
}

/// A time in microseconds and what it is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// Microseconds, without the launch.
    pub microseconds: f64,
    /// What takes the longest: `latency` of a wave by itself, the `vector` units, `shared` memory, or `memory`.
    pub bound: &'static str,
}

/// What a wave costs, in cycles.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// From start to end of the slowest by itself.
    pub slowest: f64,
    /// From start to end, on average.
    pub latency: f64,
    /// Of the vector unit, on average.
    pub vector: f64,
    /// Of workgroup memory, on average.
    pub shared: f64,
    /// Bytes loaded and stored, on average.
    pub bytes: f64,
    /// Whether the waves of a workgroup meet at barriers.
    pub meets: bool,
}

impl Cost {
    /// Of waves that have been clocked.
    pub fn of(clocks: &[&Clock], meets: bool) -> Self {
        let mean =
            |of: fn(&Clock) -> f64| clocks.iter().map(|clock| of(clock)).sum::<f64>() / clocks.len() as f64;
        Self {
            slowest: clocks.iter().map(|clock| clock.now).fold(0.0, f64::max),
            latency: mean(|clock| clock.now),
            vector: mean(|clock| clock.vector),
            shared: mean(|clock| clock.shared),
            bytes: mean(|clock| clock.bytes),
            meets,
        }
    }
}

/// The model's time of a dispatch.
pub fn time(hardware: &Hardware, cost: &Cost, footprint: &Footprint) -> Time {
    let Footprint { groups, waves, .. } = *footprint;
    let of_unit = groups.div_ceil(hardware.units);
    let of_scheduler = (of_unit * waves).div_ceil(hardware.schedulers);
    // Waves that wait for one another compute at the same time.
    let beside = if cost.meets { waves.div_ceil(hardware.schedulers) - 1 } else { 0 };
    let delay = cost.vector * beside as f64;
    let rounds = of_unit.div_ceil(footprint.resident(hardware)) as f64;
    let cycles = [
        ("latency", (cost.slowest + delay).max((cost.latency + delay) * rounds)),
        ("vector", cost.vector * of_scheduler as f64),
        ("shared", cost.shared * (of_unit * waves).div_ceil(hardware.shared_ports) as f64),
        ("memory", cost.bytes * (groups * waves) as f64 / hardware.bandwidth * hardware.clock),
    ];
    let (bound, cycles) =
        cycles.into_iter().fold(("latency", 0.0), |most, each| if each.1 > most.1 { each } else { most });
    Time { microseconds: cycles / hardware.clock, bound }
}
