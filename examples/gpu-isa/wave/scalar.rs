//! What scalar instructions do to a wave.

use super::{Memory, Wave, Word};
use crate::assembly::{EXEC, Instruction, Operand};
use crate::operations::{compare, scalar};

impl Wave {
    /// Does what a scalar load does.
    pub(super) fn load(&mut self, instruction: &Instruction, memory: &dyn Memory) {
        let Instruction { name, operands, words, .. } = instruction;
        let base = self.word(operands.get(1), 0).whole();
        let high = self.word(operands.get(1), 1).whole();
        let offset = self.word(operands.get(2), 0).whole();
        let extra = instruction.number("offset:").unwrap_or(0);
        let Some(Operand::Scalars(first, _)) = operands.first() else { return };
        for at in 0..*words {
            let value = offset.and_then(|offset| {
                let offset = offset.wrapping_add(extra).wrapping_add(4 * at as u32);
                if name.starts_with("s_buffer") {
                    memory.buffer(base?, offset)
                } else {
                    memory.word((u64::from(base?) | u64::from(high?) << 32) + u64::from(offset))
                }
            });
            self.scalars[first + at] = Word::new(value);
        }
    }

    /// Does what any other scalar instruction does.
    pub(super) fn scalar(&mut self, instruction: &Instruction) {
        let Instruction { name, operands, .. } = instruction;
        let wide = name.ends_with("64");
        let halves = if wide { 2 } else { 1 };
        let operation = name.strip_suffix("_b64").or(name.strip_suffix("_b32")).unwrap_or(name);
        if let Some(operation) = operation.strip_suffix("_saveexec") {
            // s_and_saveexec_b64 D, S: D = exec; exec = S & exec.
            for half in 0..halves {
                let (old, other) = (self.scalars[EXEC + half], self.word(operands.get(1), half));
                self.scalars[EXEC + half] = bitwise(operation, other, old).unwrap_or_default();
                self.set(operands, half, old);
            }
            self.condition = self.mask(EXEC).is_empty().map(|empty| !empty);
            return;
        }
        let sources = |half| [1, 2].map(|at| self.word(operands.get(at), half));
        let results = [0, 1].map(|half| {
            let [a, b] = sources(half);
            bitwise(operation, a, b)
        });
        let [Some(low), Some(high)] = results else { return self.arithmetic(instruction, halves) };
        let high = if wide { high } else { Word::of(0) };
        self.set(operands, 0, low);
        if wide {
            self.set(operands, 1, high);
        }
        let known = low.known & high.known == !0;
        self.condition = if low.value | high.value != 0 { Some(true) } else { known.then_some(false) };
    }

    /// Writes a half of the first operand.
    fn set(&mut self, operands: &[Operand], half: usize, word: Word) {
        if let Some(Operand::Scalars(register, count)) = operands.first()
            && half < *count
        {
            self.scalars[register + half] = word;
        }
    }

    fn arithmetic(&mut self, instruction: &Instruction, halves: usize) {
        let Instruction { name, operands, .. } = instruction;
        if name.starts_with("s_mov_b") || name.starts_with("s_cselect_b") {
            let chosen = if name.starts_with("s_mov") {
                Some(1)
            } else {
                self.condition.map(|first| if first { 1 } else { 2 })
            };
            for half in 0..halves {
                let word = chosen.map_or_else(Word::default, |at| self.word(operands.get(at), half));
                self.set(operands, half, word);
            }
            return;
        }
        let [first, a, b] = [0, 1, 2].map(|at| self.word(operands.get(at), 0).whole());
        if let Some(test) = name.strip_prefix("s_cmp_").or(name.strip_prefix("s_cmpk_")) {
            self.condition = match test {
                "eq_u64" | "lg_u64" => {
                    let [x, y] =
                        [0, 1].map(|at| [0, 1].map(|half| self.word(operands.get(at), half).whole()));
                    let known = x.iter().chain(&y).all(Option::is_some);
                    known.then_some((x == y) == (test == "eq_u64"))
                }
                _ => first.zip(a).and_then(|(a, b)| compare(test).map(|rule| rule(a, b))),
            };
            return;
        }
        if let Some(bit) = name.strip_prefix("s_bitcmp") {
            self.condition =
                first.zip(a).map(|(word, at)| (word >> (at & 31) & 1 == 1) == bit.starts_with('1'));
            return;
        }
        // A few read what they write; of the others that is no matter.
        let reads_first = ["s_addk", "s_mulk", "s_cmov"].iter().any(|start| name.starts_with(start));
        let old = if reads_first { first } else { Some(0) };
        let b = if operands.len() > 2 { b } else { Some(0) };
        let result = old.zip(a).zip(b).and_then(|((old, a), b)| scalar(name, old, a, b, self.condition));
        if let Some(Operand::Scalars(register, count)) = operands.first() {
            self.scalars[*register..register + count].fill(Word::default());
        }
        self.set(operands, 0, Word::new(result.map(|(value, _)| value)));
        match result {
            // It leaves the condition as it was.
            Some((_, None)) => {}
            Some((_, condition)) => self.condition = condition,
            None if name.starts_with("s_mul") => {}
            None => self.condition = None,
        }
    }
}

/// A bitwise operation of words of which some bits are known.
fn bitwise(operation: &str, a: Word, b: Word) -> Option<Word> {
    let not = |word: Word| Word { value: !word.value & word.known, known: word.known };
    let and = |a: Word, b: Word| Word {
        value: a.value & b.value,
        // A 0 that is known makes the other bit no matter.
        known: (a.known & b.known) | (a.known & !a.value) | (b.known & !b.value),
    };
    let or = |a: Word, b: Word| not(and(not(a), not(b)));
    let xor = |a: Word, b: Word| {
        let known = a.known & b.known;
        Word { value: (a.value ^ b.value) & known, known }
    };
    Some(match operation {
        "s_and" => and(a, b),
        "s_or" => or(a, b),
        "s_xor" => xor(a, b),
        "s_andn2" | "s_and_not1" => and(a, not(b)),
        "s_orn2" | "s_or_not1" => or(a, not(b)),
        "s_nand" => not(and(a, b)),
        "s_nor" => not(or(a, b)),
        "s_xnor" => not(xor(a, b)),
        "s_not" => not(a),
        _ => return None,
    })
}
