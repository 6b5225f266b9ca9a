//! The registers of one wave. It computes what a program computes from sizes and positions: loop counters, addresses,
//! masks of threads. What comes out of memory, and what no rule here knows, is unknown, and so is all that is computed of it.

mod lanes;
mod scalar;
mod vector;

use std::collections::HashMap;

use crate::assembly::{Class, EXEC, Instruction, Operand, VCC};
pub use lanes::{LANES, Lanes, Mask, Word};

/// What stands in memory that scalar loads can reach and that is known.
pub trait Memory {
    /// The word at an address.
    fn word(&self, address: u64) -> Option<u32>;
    /// A word of the buffer whose descriptor begins with this word.
    fn buffer(&self, descriptor: u32, offset: u32) -> Option<u32>;
}

/// A wave.
pub struct Wave {
    scalars: [Word; 128],
    condition: Option<bool>,
    vectors: Vec<Lanes>,
    /// What has been spilled, by its offset.
    scratch: HashMap<u32, Lanes>,
    /// Whether masks take two scalar registers: a wave of 64 threads.
    wide: bool,
    /// Whether data have decided which threads take part somewhere: there every second is taken to.
    pub assumed: bool,
}

impl Wave {
    /// A wave of `size` threads of which the first `active` take part. Nothing else is known of it.
    pub fn new(size: usize, active: usize) -> Self {
        let mut wave = Self {
            scalars: [Word::default(); 128],
            condition: None,
            vectors: vec![Lanes::UNKNOWN; 512],
            scratch: HashMap::new(),
            wide: size > 32,
            assumed: false,
        };
        wave.set_scalar(EXEC + 1, 0);
        let all = u64::MAX >> (LANES - active.clamp(1, size));
        wave.set_mask(EXEC, Mask { value: all, known: !0 });
        wave
    }

    /// Puts a word into a scalar register.
    pub fn set_scalar(&mut self, register: usize, value: u32) {
        self.scalars[register] = Word::of(value);
    }

    /// Puts a word a thread into a vector register.
    pub fn set_vector(&mut self, register: usize, values: [u32; LANES]) {
        self.vectors[register] = Lanes::of(values);
    }

    /// A scalar register, if it is known.
    #[cfg(test)]
    pub fn scalar_word(&self, register: usize) -> Option<u32> {
        self.scalars[register].whole()
    }

    /// A vector register; 0 where it is not known.
    #[cfg(test)]
    pub fn vector_words(&self, register: usize) -> [u32; LANES] {
        self.vectors[register].values
    }

    /// Threads that take part.
    pub fn active(&self) -> u64 {
        self.mask(EXEC).value
    }

    /// Whether a branch is taken, where that is known.
    pub fn branches(&self, name: &str) -> Option<bool> {
        match name {
            "s_branch" => Some(true),
            "s_cbranch_scc0" => self.condition.map(|condition| !condition),
            "s_cbranch_scc1" => self.condition,
            "s_cbranch_execz" => self.mask(EXEC).is_empty(),
            "s_cbranch_execnz" => self.mask(EXEC).is_empty().map(|empty| !empty),
            "s_cbranch_vccz" => self.mask(VCC).is_empty(),
            "s_cbranch_vccnz" => self.mask(VCC).is_empty().map(|empty| !empty),
            _ => None,
        }
    }

    /// The addresses that an access to workgroup memory begins at, one a thread.
    pub fn addresses(&self, instruction: &Instruction) -> Lanes {
        // What is written comes behind the address, what is read before it.
        self.lanes(instruction.operands.get(usize::from(!instruction.stores)), 0)
    }

    /// Does what an instruction does to the registers.
    pub fn execute(&mut self, instruction: &Instruction, memory: &dyn Memory) {
        match instruction.class {
            Class::MultiplyAdd | Class::Slow | Class::Vector => self.vector(instruction),
            Class::ScalarLoad => self.load(instruction, memory),
            Class::Scalar => self.scalar(instruction),
            Class::Scratch => self.spill(instruction),
            Class::Load | Class::Shared => {
                if let Some(Operand::Vectors(first, count)) = instruction.operands.first()
                    && !instruction.stores
                {
                    (*first..first + count).for_each(|register| self.write(register, &Lanes::UNKNOWN));
                }
            }
            Class::Store | Class::Wait | Class::Barrier | Class::Branch => {}
        }
        let exec = self.mask(EXEC);
        if exec.known != !0 {
            const EVERY_SECOND: u64 = 0x5555_5555_5555_5555;
            self.set_mask(EXEC, Mask { value: exec.value | (!exec.known & EVERY_SECOND), known: !0 });
            self.assumed = true;
        }
    }

    /// Keeps registers in scratch memory, or takes them from there. All accesses are taken to be relative to one address.
    fn spill(&mut self, instruction: &Instruction) {
        let offset = instruction.number("offset:").unwrap_or(0);
        let registers = instruction.operands.get(usize::from(instruction.stores));
        let Some(Operand::Vectors(first, count)) = registers else { return };
        for at in 0..*count {
            let key = offset.wrapping_add(4 * at as u32);
            if instruction.stores {
                let (new, active) = (self.vectors[first + at], self.active());
                self.scratch.entry(key).or_insert(Lanes::UNKNOWN).take(&new, active);
            } else {
                let kept = self.scratch.get(&key).copied().unwrap_or(Lanes::UNKNOWN);
                self.write(first + at, &kept);
            }
        }
    }

    /// The mask that begins with a scalar register.
    fn mask(&self, register: usize) -> Mask {
        let low = self.scalars[register];
        let high = if self.wide { self.scalars[register + 1] } else { Word::of(0) };
        let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Mask { value: join(low.value, high.value), known: join(low.known, high.known) }
    }

    fn set_mask(&mut self, register: usize, mask: Mask) {
        let Mask { value, known } = mask;
        let value = value & known;
        self.scalars[register] = Word { value: value as u32, known: known as u32 };
        if self.wide {
            self.scalars[register + 1] = Word { value: (value >> 32) as u32, known: (known >> 32) as u32 };
        }
    }

    /// A scalar word as an operand gives it; of 64 bits the half that is asked for.
    fn word(&self, operand: Option<&Operand>, half: usize) -> Word {
        match operand {
            Some(Operand::Scalars(register, count)) if half < *count => self.scalars[register + half],
            Some(Operand::Literal(value)) if half == 0 => Word::of(*value),
            // Whole numbers have their sign in the other half.
            Some(Operand::Literal(value)) => Word::of(((*value as i32) >> 31) as u32),
            Some(Operand::Condition) => Word::new(self.condition.map(u32::from)),
            _ => Word::default(),
        }
    }

    fn lanes(&self, operand: Option<&Operand>, half: usize) -> Lanes {
        match operand {
            Some(Operand::Vectors(register, count)) if half < *count => self.vectors[register + half],
            operand => {
                self.word(operand, half).whole().map_or(Lanes::UNKNOWN, |value| Lanes::of([value; LANES]))
            }
        }
    }

    /// Writes a vector register in the threads that take part.
    fn write(&mut self, register: usize, new: &Lanes) {
        let exec = self.active();
        self.vectors[register].take(new, exec);
    }
}
