//! What vector instructions do to a wave.

use std::array::from_fn;

use super::{LANES, Lanes, Mask, Wave, Word};
use crate::assembly::{EXEC, Instruction, Operand, VCC};
use crate::operations::{Rule, compare};

impl Wave {
    /// Does what a vector instruction does.
    pub(super) fn vector(&mut self, instruction: &Instruction) {
        let Instruction { name, operands, .. } = instruction;
        let source = |index: usize| self.lanes(operands.get(index), 0);
        let result = match instruction.rule {
            Some(Rule::Unary(rule)) => Lanes::zip([source(1)], |[a]| rule(a)),
            Some(Rule::Binary(rule)) => Lanes::zip([source(1), source(2)], |[a, b]| rule(a, b)),
            Some(Rule::Ternary(rule)) => {
                Lanes::zip([source(1), source(2), source(3)], |[a, b, c]| rule(a, b, c))
            }
            None => match name.as_str() {
                "v_readfirstlane_b32" => return self.read_first(operands),
                "v_readlane_b32" => return self.read_lane(operands),
                "v_writelane_b32" => return self.write_lane(operands),
                "v_swap_b32" => return self.swap(operands),
                "v_lshrrev_b64" | "v_lshlrev_b64" => return self.shift(instruction),
                "v_cndmask_b32" => self.select(operands),
                name => match name.strip_prefix("v_cmp") {
                    Some(rest) => return self.compare(rest, operands),
                    None => Lanes::UNKNOWN,
                },
            },
        };
        self.set_first(operands, &result);
        // Carries, which no rule makes.
        if let Some(Operand::Scalars(register, _)) = operands.get(1)
            && name.contains("_co_")
        {
            self.set_mask(*register, Mask { value: 0, known: 0 });
        }
    }

    /// Writes the first operand; of several registers only the first gets the words, the others become unknown.
    fn set_first(&mut self, operands: &[Operand], result: &Lanes) {
        match operands.first() {
            Some(Operand::Vectors(register, count)) => {
                self.write(*register, result);
                (1..*count).for_each(|other| self.write(register + other, &Lanes::UNKNOWN));
            }
            Some(Operand::Scalars(register, count)) => {
                self.scalars[*register..register + count].fill(Word::default());
            }
            _ => {}
        }
    }

    fn swap(&mut self, operands: &[Operand]) {
        if let [Operand::Vectors(a, _), Operand::Vectors(b, _)] = operands[..] {
            let [x, y] = [self.vectors[a], self.vectors[b]];
            self.write(a, &y);
            self.write(b, &x);
        }
    }

    fn select(&self, operands: &[Operand]) -> Lanes {
        let condition = match operands.get(3) {
            Some(Operand::Scalars(register, _)) => self.mask(*register),
            _ => self.mask(VCC),
        };
        let [a, b] = [1, 2].map(|at| self.lanes(operands.get(at), 0));
        let chosen = |lane: usize| condition.value >> lane & 1 == 1;
        let values = from_fn(|lane| if chosen(lane) { b.values[lane] } else { a.values[lane] });
        let known = ((condition.value & b.known) | (!condition.value & a.known)) & condition.known;
        Lanes { values, known }
    }

    /// Shifts words of 64 bits.
    fn shift(&mut self, instruction: &Instruction) {
        let [by, low, high] =
            [(1, 0), (2, 0), (2, 1)].map(|(at, half)| self.lanes(instruction.operands.get(at), half));
        let left = instruction.name == "v_lshlrev_b64";
        let rule = |[by, low, high]: [u32; 3]| {
            let value = u64::from(low) | u64::from(high) << 32;
            if left { value << (by & 63) } else { value >> (by & 63) }
        };
        if let Some(Operand::Vectors(register, 2)) = instruction.operands.first() {
            self.write(*register, &Lanes::zip([by, low, high], |words| rule(words) as u32));
            self.write(register + 1, &Lanes::zip([by, low, high], |words| (rule(words) >> 32) as u32));
        }
    }

    fn read_first(&mut self, operands: &[Operand]) {
        let lane = self.active().trailing_zeros() as usize % LANES;
        let source = self.lanes(operands.get(1), 0);
        let known = source.known >> lane & 1 == 1;
        if let Some(Operand::Scalars(register, _)) = operands.first() {
            self.scalars[*register] = Word::new(known.then_some(source.values[lane]));
        }
    }

    fn read_lane(&mut self, operands: &[Operand]) {
        let source = self.lanes(operands.get(1), 0);
        let lane = self.word(operands.get(2), 0).whole().map(|lane| lane as usize % LANES);
        let known = lane.filter(|lane| source.known >> lane & 1 == 1);
        if let Some(Operand::Scalars(register, _)) = operands.first() {
            self.scalars[*register] = Word::new(known.map(|lane| source.values[lane]));
        }
    }

    /// Also in a thread that does not take part.
    fn write_lane(&mut self, operands: &[Operand]) {
        let Some(Operand::Vectors(register, _)) = operands.first() else { return };
        match self.word(operands.get(2), 0).whole() {
            Some(lane) => {
                let source = self.lanes(operands.get(1), 0);
                self.vectors[*register].take(&source, 1 << (lane as usize % LANES));
            }
            None => self.vectors[*register] = Lanes::UNKNOWN,
        }
    }

    /// `rest` is `_gt_u32`, or of `v_cmpx_gt_u32`, which narrows the mask of threads, `x_gt_u32`.
    fn compare(&mut self, rest: &str, operands: &[Operand]) {
        let (narrows, test) = match rest.strip_prefix("x_") {
            Some(test) => (true, test),
            None => (false, rest.trim_start_matches('_')),
        };
        // RDNA's form that narrows writes nothing else.
        let writes = operands.len() == 3;
        let [a, b] = [0, 1].map(|at| self.lanes(operands.get(usize::from(writes) + at), 0));
        let active = self.active();
        let result =
            compare(test).map_or(Lanes::UNKNOWN, |rule| Lanes::zip([a, b], |[a, b]| u32::from(rule(a, b))));
        let bits = (0..LANES).fold(0, |bits, lane| bits | u64::from(result.values[lane]) << lane);
        // What does not take part is 0, whatever it compares.
        let mask = Mask { value: bits & active, known: result.known | !active };
        if let Some(Operand::Scalars(register, _)) = operands.first().filter(|_| writes) {
            self.set_mask(*register, mask);
        }
        if narrows {
            self.set_mask(EXEC, mask);
        }
    }
}
