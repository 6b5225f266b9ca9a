//! What a dispatch waits for: a model of the slowest thread of each kernel, and of the machines on which it runs.

use std::fmt;

use crate::gpu::DeviceKind;
use crate::kernels::{Cost, Kernel, Tuning};
use crate::threads::available;

/// What the slowest thread of a dispatch does one after the other. On a real GPU that is what a small step takes: its
/// workgroups run side by side, and none of them has enough work to hide its waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// Round trips to storage: loads of which each waits for the one before. Independent loads count as one.
    pub round_trips: usize,
    /// Barriers.
    pub barriers: usize,
    /// Vector operations.
    pub operations: usize,
}

impl Latency {
    /// The latency of a kernel whose threads all do the same work: its cost, shared evenly. Eight vec4s
    /// are on their way at a time; a value of workgroup memory is waited for as long as some operations take.
    pub fn even(cost: &Cost, groups: usize, threads: usize) -> Self {
        let each = |all: u64| (all as usize).div_ceil((groups * threads).max(1));
        Self {
            round_trips: each(cost.global_reads).div_ceil(32),
            barriers: (cost.barriers as usize).div_ceil(groups.max(1)),
            operations: EPILOGUE + each(cost.flop) + 4 * each(cost.workgroup_reads),
        }
    }

    /// This with these numbers added.
    pub(crate) fn with(self, round_trips: usize, barriers: usize, operations: usize) -> Self {
        Self {
            round_trips: self.round_trips + round_trips,
            barriers: self.barriers + barriers,
            operations: self.operations + operations,
        }
    }
}

impl std::ops::Add for Latency {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other.round_trips, other.barriers, other.operations)
    }
}

/// Operations of a thread that are no arithmetic of the formula: which thread it is, where it stores what.
pub(crate) const EPILOGUE: usize = 60;

/// A class of devices, as the model takes it. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Machine {
    /// A GPU: threads run side by side until its units are full.
    Parallel {
        /// What people call it.
        name: &'static str,
        /// From a dispatch to the next that depends on it.
        launch: f64,
        /// A load from storage that a thread waits for.
        round_trip: f64,
        /// A barrier of a workgroup.
        barrier: f64,
        /// A vector operation of a thread.
        operation: f64,
        /// Threads whose operations go on at the same time at that rate.
        threads: f64,
        /// Bytes of storage a nanosecond.
        bandwidth: f64,
    },
    /// A software driver: the threads of a workgroup take turns on a processor.
    Serial {
        /// A dispatch.
        launch: f64,
        /// A value loaded or stored.
        element: f64,
        /// A barrier, with the little that stands between two of them, of each thread beyond the sixteen of two subgroups:
        /// these switch for nothing that could be measured.
        barrier: f64,
        /// An operation of the formula.
        flop: f64,
        /// Processors.
        processors: f64,
    },
}

impl Machine {
    /// A discrete GPU of the size of an RX 6800 XT.
    pub const DISCRETE: Machine = Machine::Parallel {
        name: "a discrete GPU",
        launch: 3000.0,
        round_trip: 150.0,
        barrier: 80.0,
        operation: 1.4,
        threads: 14_500.0,
        bandwidth: 1500.0,
    };

    /// A GPU that shares the memory of the processor, with a tenth of the units.
    pub const INTEGRATED: Machine = Machine::Parallel {
        name: "an integrated GPU",
        launch: 5000.0,
        round_trip: 300.0,
        barrier: 120.0,
        operation: 2.0,
        threads: 1024.0,
        bandwidth: 150.0,
    };

    /// Mesa's llvmpipe on two processors, as measured (docs/BENCHMARKS.md).
    pub const SOFTWARE: Machine = Machine::software(2.0);

    const fn software(processors: f64) -> Self {
        Machine::Serial { launch: 60_000.0, element: 1.0, barrier: 280.0, flop: 0.03, processors }
    }

    /// The model of a kind of device.
    pub fn for_kind(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Software => Machine::software(available() as f64),
            DeviceKind::Integrated => Machine::INTEGRATED,
            _ => Machine::DISCRETE,
        }
    }

    /// Microseconds from a dispatch to the next that depends on it, if neither does anything.
    pub fn launch(&self) -> f64 {
        match self {
            Machine::Parallel { launch, .. } | Machine::Serial { launch, .. } => launch / 1e3,
        }
    }

    /// Microseconds that a step takes in a dispatch of this kernel, with its share of the launch.
    pub fn microseconds(&self, kernel: &dyn Kernel, tuning: &Tuning) -> f64 {
        let (cost, it) = (kernel.cost(tuning), kernel.description());
        let groups = (tuning.groups(it.layout) * it.members) as f64;
        let threads = tuning.threads(it.layout) as f64;
        let steps = it.shader.records.max(1) as f64;
        let nanoseconds = match *self {
            Machine::Parallel {
                launch, round_trip, barrier, operation, threads: room, bandwidth, ..
            } => {
                let Latency { round_trips, barriers, operations } = kernel.latency(tuning);
                let waits = round_trips as f64 * round_trip + barriers as f64 * barrier;
                let alone = waits + operations as f64 * operation;
                // Workgroups for which there is no room come behind the others, and hide their waits.
                let all = operations as f64 * operation * groups * threads / room;
                launch / steps + alone.max(all).max(cost.bytes() as f64 / bandwidth)
            }
            Machine::Serial { launch, element, barrier, flop, processors } => {
                let elements = (cost.global_reads + cost.global_writes) as f64;
                let switched = cost.barriers as f64 * (threads - 16.0).max(0.0);
                let all = elements * element + switched * barrier + cost.flop as f64 * flop;
                launch / steps + all / processors.min(groups).max(1.0)
            }
        };
        nanoseconds / 1e3
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Machine::Parallel { name, .. } => name,
            Machine::Serial { .. } => "a software adapter",
        })
    }
}
