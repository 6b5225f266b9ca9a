//! How long a wave takes by itself: in order, nothing else hides its latencies.

use std::collections::VecDeque;

use serde::Serialize;

use crate::assembly::{Class, Instruction};

/// What the hardware of a GPU costs. Latencies are in cycles, from issue to first use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// A name for people.
    pub name: &'static str,
    /// Cycles in a microsecond.
    pub clock: f64,
    /// Of loads and stores that the second cache serves.
    pub memory: f64,
    /// Of scalar loads that their cache serves.
    pub scalar: f64,
    /// Of workgroup memory.
    pub shared: f64,
    /// Cycles of a vector operation of 64 threads.
    pub vector: f64,
    /// Cycles of any other instruction of a wave.
    pub issue: f64,
    /// Compute units, pairs of them, or multiprocessors: what a workgroup runs on.
    pub units: u64,
    /// Schedulers of a unit that a wave of 64 threads may run on.
    pub schedulers: u64,
    /// Vector registers of a unit, a word each.
    pub registers: u64,
    /// Most threads on a unit.
    pub threads: u64,
    /// Bytes of workgroup memory of a unit.
    pub memory_bytes: u64,
    /// Accesses to it that are served side by side.
    pub shared_ports: u64,
    /// Bytes that the second cache hands out in a microsecond.
    pub bandwidth: f64,
    /// Microseconds of a dispatch and the barrier behind it.
    pub launch: f64,
}

/// Waits of at least so many cycles are round trips; shorter ones are what is left of a load that was begun early.
const ROUND_TRIP: f64 = 100.0;

/// What a wave has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Waits {
    /// Cycles for loads from memory, and stores.
    pub memory: f64,
    /// Cycles for scalar loads.
    pub scalar: f64,
    /// Cycles for workgroup memory.
    pub shared: f64,
}

impl Waits {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.memory + self.scalar + self.shared
    }
}

/// What a wave has done so far.
#[derive(Debug, Clone)]
pub struct Clock {
    hardware: Hardware,
    /// Whether stores are waited for apart from loads, as from RDNA on.
    stores_apart: bool,
    /// Cycles.
    pub now: f64,
    /// Of these, those in which the vector unit was busy.
    pub vector: f64,
    /// Cycles in which workgroup memory was busy with the wave.
    pub shared: f64,
    /// Bytes loaded and stored.
    pub bytes: f64,
    /// What it waited for.
    pub waits: Waits,
    /// When each load and store that is on its way will be done.
    loads: VecDeque<f64>,
    stores: VecDeque<f64>,
    /// The same of scalar loads and of accesses to workgroup memory, and which of these it is.
    others: VecDeque<(f64, Class)>,
    /// When workgroup memory will have served what was asked so far.
    shared_free: f64,
}

impl Clock {
    /// A wave that starts.
    pub fn new(hardware: Hardware, stores_apart: bool) -> Self {
        Self {
            hardware,
            stores_apart,
            now: 0.0,
            vector: 0.0,
            shared: 0.0,
            bytes: 0.0,
            waits: Waits::default(),
            loads: VecDeque::new(),
            stores: VecDeque::new(),
            others: VecDeque::new(),
            shared_free: 0.0,
        }
    }

    /// Takes an instruction in which so many threads take part, and which workgroup memory serves in so many cycles.
    /// Says whether it has waited for a whole round trip to memory.
    pub fn step(&mut self, instruction: &Instruction, threads: u32, served: u64) -> bool {
        let Hardware { memory, scalar, shared, vector, issue, .. } = self.hardware;
        let bytes = 4.0 * instruction.words as f64 * f64::from(threads);
        match instruction.class {
            Class::MultiplyAdd | Class::Vector | Class::Slow => {
                let passes = if instruction.class == Class::Slow { 4.0 } else { 1.0 };
                self.now += passes * vector;
                self.vector += passes * vector;
            }
            // Where no thread takes part the unit has nothing to do.
            Class::Load | Class::Store | Class::Scratch | Class::Shared if threads == 0 => self.now += issue,
            Class::Load | Class::Store | Class::Scratch => {
                self.now += 4.0;
                self.bytes += bytes;
                let apart = instruction.class == Class::Store && self.stores_apart;
                let queue = if apart { &mut self.stores } else { &mut self.loads };
                queue.push_back(self.now + memory);
            }
            Class::ScalarLoad => {
                self.now += issue;
                self.others.push_back((self.now + scalar, Class::ScalarLoad));
            }
            Class::Shared => {
                self.now += issue;
                self.shared += served as f64;
                self.shared_free = self.shared_free.max(self.now) + served as f64;
                self.others.push_back((self.shared_free + shared, Class::Shared));
            }
            Class::Wait => return self.wait(instruction),
            Class::Barrier => self.now += 20.0,
            Class::Branch => self.now += 4.0,
            Class::Scalar => self.now += issue,
        }
        false
    }

    /// A branch was taken: what was fetched behind it is lost.
    pub fn jump(&mut self) {
        self.now += 12.0;
    }

    fn wait(&mut self, instruction: &Instruction) -> bool {
        let most = |queue: usize, word| instruction.number(word).map_or(queue, |left| left as usize);
        let before = self.now;
        let left = most(self.loads.len(), "vmcnt");
        while self.loads.len() > left
            && let Some(done) = self.loads.pop_front()
        {
            self.now = self.now.max(done);
        }
        let round_trip = self.now - before >= ROUND_TRIP;
        if instruction.name == "s_waitcnt_vscnt" {
            self.now = self.stores.drain(..).fold(self.now, f64::max);
        }
        self.waits.memory += self.now - before;
        let left = most(self.others.len(), "lgkmcnt");
        while self.others.len() > left
            && let Some((done, class)) = self.others.pop_front()
        {
            let waited = (done - self.now).max(0.0);
            self.now += waited;
            let kind = if class == Class::Shared { &mut self.waits.shared } else { &mut self.waits.scalar };
            *kind += waited;
        }
        self.now += self.hardware.issue;
        round_trip
    }
}
