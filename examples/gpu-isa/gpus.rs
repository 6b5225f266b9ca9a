//! The GPUs whose machine code is looked at, and what the model takes their hardware to cost.

use crate::clock::Hardware;

/// A generation of AMD's instruction sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Vega.
    Gcn,
    /// RX 6000.
    Rdna2,
    /// RX 7000.
    Rdna3,
}

impl Generation {
    /// Whether waves count their stores apart from their loads.
    pub fn stores_apart(self) -> bool {
        self != Self::Gcn
    }

    /// Waves of a SIMD from RADV's statistic, which from RDNA on counts those of 32 threads.
    pub fn waves(self, statistic: u64, wave: u32) -> u64 {
        if self == Self::Gcn { statistic } else { statistic * 32 / u64::from(wave.max(32)) }
    }

    /// Registers that RADV gives to the offset of a wave's scratch memory.
    pub fn scratch_registers(self) -> usize {
        if self == Self::Rdna3 { 0 } else { 1 }
    }

    /// Registers that RADV gives to the number of workgroups: the number, or its address.
    pub fn grid_registers(self) -> usize {
        if self == Self::Gcn { 2 } else { 3 }
    }
}

/// A GPU that RADV can be made to compile for.
#[derive(Debug)]
pub struct Gpu {
    /// RADV's name for it.
    pub name: &'static str,
    /// Its instruction set.
    pub generation: Generation,
    /// A card that has it, as the model takes it.
    pub hardware: Hardware,
}

/// Those that the table knows.
pub const GPUS: [Gpu; 3] = [
    Gpu {
        name: "navi21",
        generation: Generation::Rdna2,
        hardware: Hardware {
            name: "RX 6800 XT",
            clock: 2250.0,
            memory: 300.0,
            scalar: 55.0,
            shared: 70.0,
            vector: 2.0,
            issue: 1.0,
            // Pairs of compute units, over which RADV spreads a workgroup.
            units: 36,
            schedulers: 4,
            registers: 131_072,
            threads: 4096,
            memory_bytes: 131_072,
            shared_ports: 2,
            // 16 slices of 64 bytes a cycle.
            bandwidth: 2.3e6,
            launch: 4.0,
        },
    },
    Gpu {
        name: "gfx1100",
        generation: Generation::Rdna3,
        hardware: Hardware {
            name: "RX 7900 XTX",
            clock: 2400.0,
            memory: 300.0,
            scalar: 55.0,
            shared: 70.0,
            vector: 2.0,
            issue: 1.0,
            units: 48,
            schedulers: 4,
            registers: 196_608,
            threads: 4096,
            memory_bytes: 131_072,
            shared_ports: 2,
            // 24 slices of 64 bytes a cycle.
            bandwidth: 3.7e6,
            launch: 4.0,
        },
    },
    Gpu {
        name: "vega20",
        generation: Generation::Gcn,
        hardware: Hardware {
            name: "Radeon VII",
            clock: 1750.0,
            memory: 300.0,
            scalar: 55.0,
            shared: 70.0,
            vector: 4.0,
            issue: 4.0,
            units: 60,
            schedulers: 4,
            registers: 65_536,
            threads: 2560,
            memory_bytes: 65_536,
            shared_ports: 1,
            // 16 slices of 64 bytes a cycle.
            bandwidth: 1.8e6,
            launch: 4.0,
        },
    },
];

/// What the same instructions would cost a large GPU of NVIDIA's: no machine code of theirs is looked at.
pub const HOPPER: Hardware = Hardware {
    name: "H100",
    clock: 1755.0,
    // 140 ns.
    memory: 246.0,
    scalar: 40.0,
    shared: 30.0,
    // 64 threads are two warps, on two of four schedulers.
    vector: 1.0,
    issue: 1.0,
    units: 132,
    schedulers: 2,
    registers: 65_536,
    threads: 2048,
    memory_bytes: 233_472,
    shared_ports: 1,
    bandwidth: 5.5e6,
    launch: 2.0,
};
