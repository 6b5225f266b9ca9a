//! How long workgroup memory is busy with an access, from the addresses of its threads.

use std::collections::HashMap;

use crate::assembly::{Instruction, is_double};
use crate::wave::{LANES, Lanes};

/// What the accesses of a walk took when they were last made: in a loop most ask for the same again.
#[derive(Default)]
pub struct Banks {
    last: HashMap<usize, (Lanes, u64, u64)>,
}

impl Banks {
    /// As [`cycles`], of the instruction with this index.
    pub fn cycles(&mut self, index: usize, instruction: &Instruction, addresses: Lanes, active: u64) -> u64 {
        match self.last.get(&index) {
            Some((same, threads, taken)) if *threads == active && *same == addresses => *taken,
            _ => {
                let taken = cycles(instruction, &addresses, active);
                self.last.insert(index, (addresses, active, taken));
                taken
            }
        }
    }
}

/// Banks of workgroup memory; one hands out a word of four bytes in a cycle.
const BANKS: usize = 32;

/// Threads that are served at once: as many as their words are no more than the banks.
fn abreast(instruction: &Instruction) -> usize {
    (BANKS / instruction.words).max(1)
}

/// Cycles of an access by the threads of `active` without conflicts.
pub fn ideal(instruction: &Instruction, active: u64) -> u64 {
    (active.count_ones() as usize).div_ceil(abreast(instruction)) as u64
}

/// Cycles of an access by the threads of `active`: of those that are served at once and ask one bank for different
/// words, each takes a cycle. Where an address is not known no conflict is taken to be.
pub fn cycles(instruction: &Instruction, addresses: &Lanes, active: u64) -> u64 {
    let words = instruction.words;
    let number = |word: &str| instruction.number(word).unwrap_or(0);
    let places = if is_double(&instruction.name) {
        let size = 2 * words as u32 * if instruction.name.contains("st64") { 64 } else { 1 };
        vec![(number("offset0:") * size, words / 2), (number("offset1:") * size, words / 2)]
    } else {
        vec![(number("offset:"), words)]
    };
    let threads: Vec<usize> = (0..LANES).filter(|lane| active >> lane & 1 == 1).collect();
    let known = addresses.known & active == active;
    let served = threads.chunks(abreast(instruction));
    served.map(|threads| if known { busiest(threads, addresses, &places) } else { 1 }).sum()
}

/// Different words that the busiest bank is asked for.
fn busiest(threads: &[usize], addresses: &Lanes, places: &[(u32, usize)]) -> u64 {
    let mut asked = [0; BANKS];
    let mut count = 0;
    let mut of_bank = [0; BANKS];
    for lane in threads {
        for (offset, words) in places {
            let first = addresses.values[*lane].wrapping_add(*offset) / 4;
            for word in first..first + *words as u32 {
                if !asked[..count].contains(&word) {
                    asked[count] = word;
                    count += 1;
                    of_bank[word as usize % BANKS] += 1;
                }
            }
        }
    }
    of_bank.into_iter().max().unwrap_or(0)
}
