//! A wave's way through its program: every instruction that it executes, in order, on the clocks of several GPUs.

use crate::arguments::{Arguments, Dispatch};
use crate::assembly::{Assembly, Class};
use crate::banks::{self, Banks};
use crate::clock::{Clock, Hardware};

/// Instructions after which a loop is taken not to end.
const MOST: u64 = 20_000_000;

/// What a walk has seen of an instruction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    /// How often it was executed.
    pub visits: u64,
    /// How often it led back to an earlier instruction.
    pub returns: u64,
    /// Cycles that it waited.
    pub waited: f64,
    /// How often it waited for a whole round trip to memory.
    pub trips: u64,
    /// Cycles in which workgroup memory served it.
    pub served: u64,
    /// How many they were without conflicts of banks.
    pub ideal: u64,
}

/// What a walk has seen.
#[derive(Debug)]
pub struct Walk {
    /// Of each instruction.
    pub steps: Vec<Step>,
    /// A clock for each GPU that was asked for; the first one counts the round trips and waits.
    pub clocks: Vec<Clock>,
    /// Whether the number of times round every loop is known.
    pub resolved: bool,
    /// Whether data have decided somewhere which threads take part.
    pub assumed: bool,
}

impl Walk {
    /// Instructions of a class that were executed.
    pub fn count(&self, assembly: &Assembly, class: Class) -> u64 {
        let steps = self.steps.iter().zip(&assembly.instructions);
        steps.filter(|(_, instruction)| instruction.class == class).map(|(step, _)| step.visits).sum()
    }

    /// Round trips to memory.
    pub fn round_trips(&self) -> u64 {
        self.steps.iter().map(|step| step.trips).sum()
    }
}

/// Sends a wave, of this workgroup and this number in it, through the program.
pub fn walk(
    assembly: &Assembly,
    arguments: &Arguments,
    dispatch: &Dispatch<'_>,
    which: [u64; 2],
    hardware: &[Hardware],
    stores_apart: bool,
) -> Walk {
    let mut wave = arguments.start(dispatch, which);
    let mut walk = Walk {
        steps: vec![Step::default(); assembly.instructions.len()],
        clocks: hardware.iter().map(|each| Clock::new(*each, stores_apart)).collect(),
        resolved: true,
        assumed: false,
    };
    let mut banks = Banks::default();
    let mut index = 0;
    let mut executed = 0;
    while let Some(instruction) = assembly.instructions.get(index) {
        executed += 1;
        if executed > MOST {
            walk.resolved = false;
            break;
        }
        let active = wave.active();
        let step = &mut walk.steps[index];
        step.visits += 1;
        let mut served = 0;
        if instruction.class == Class::Shared {
            served = banks.cycles(index, instruction, wave.addresses(instruction), active);
            step.served += served;
            step.ideal += banks::ideal(instruction, active);
        }
        for (number, clock) in walk.clocks.iter_mut().enumerate() {
            let before = clock.waits.total();
            let round_trip = clock.step(instruction, active.count_ones(), served);
            if number == 0 {
                step.trips += u64::from(round_trip);
                step.waited += clock.waits.total() - before;
            }
        }
        if instruction.class != Class::Branch {
            wave.execute(instruction, dispatch);
            index += 1;
            continue;
        }
        let Some(target) = assembly.target(instruction) else { break };
        let leaves =
            || assembly.innermost(index).is_some_and(|around| !assembly.loops[around].contains(target));
        let taken = match wave.branches(&instruction.name) {
            Some(taken) => taken,
            // What data decide: once round a loop, and everything of an `if`.
            None if target <= index => {
                walk.resolved = false;
                false
            }
            None if leaves() => {
                walk.resolved = false;
                true
            }
            None => {
                walk.assumed = true;
                false
            }
        };
        if taken {
            if target <= index {
                walk.steps[index].returns += 1;
                walk.clocks.iter_mut().for_each(Clock::jump);
            }
            index = target;
        } else {
            index += 1;
        }
    }
    walk.assumed |= wave.assumed;
    walk
}
