//! The text of a disassembled shader, as instructions, labels and loops. It knows the mnemonics of GCN, RDNA2 and RDNA3.

use std::collections::HashMap;

use crate::operations::{Rule, rule};

/// What an instruction asks of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A multiply-add of floats in the vector unit.
    MultiplyAdd,
    /// An exponential, logarithm, reciprocal, root or product of whole words in the vector unit: a quarter of its rate.
    Slow,
    /// Anything else in the vector unit.
    Vector,
    /// A load from a buffer, one address a thread.
    Load,
    /// A store to a buffer.
    Store,
    /// A load for the whole wave.
    ScalarLoad,
    /// An access to workgroup memory.
    Shared,
    /// An access to what has been spilled.
    Scratch,
    /// A wait for loads or stores.
    Wait,
    /// A barrier.
    Barrier,
    /// A branch.
    Branch,
    /// Anything else, which costs a cycle of the scalar unit.
    Scalar,
}

/// Scalar register 106 and the next are the condition mask.
pub const VCC: usize = 106;
/// Scalar register 124 holds offsets of workgroup memory on GCN.
pub const M0: usize = 124;
/// Scalar register 126 and the next are the mask of threads that take part.
pub const EXEC: usize = 126;

/// What an instruction reads or writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    /// So many scalar registers from this one on.
    Scalars(usize, usize),
    /// So many vector registers from this one on.
    Vectors(usize, usize),
    /// The bits of a number.
    Literal(u32),
    /// The scalar condition.
    Condition,
    /// Nothing, or nothing that is known.
    Other,
}

/// An instruction.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// Its name without the suffix of its encoding.
    pub name: String,
    /// Its operands, what it writes first.
    pub operands: Vec<Operand>,
    /// Everything behind its name.
    pub text: String,
    /// What it asks for.
    pub class: Class,
    /// Words of four bytes that each thread (or the wave) loads or stores.
    pub words: usize,
    /// Whether it writes to memory, workgroup memory included.
    pub stores: bool,
    /// What it computes, where that is known.
    pub rule: Option<Rule>,
    /// The line of the text on which it stands, from 0.
    pub line: usize,
}

/// A loop: a branch leads back to its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// Index of its first instruction.
    pub head: usize,
    /// Index of its last instruction.
    pub end: usize,
    /// Index of the last branch to its head: its last instruction, unless that branch leaves a loop within it.
    pub back: usize,
}

impl Loop {
    /// Whether the instruction with this index stands in it.
    pub fn contains(&self, index: usize) -> bool {
        (self.head..=self.end).contains(&index)
    }
}

/// A shader.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Its instructions.
    pub instructions: Vec<Instruction>,
    /// Index of the instruction behind each label.
    pub labels: HashMap<String, usize>,
    /// Its loops, in order of their heads.
    pub loops: Vec<Loop>,
}

impl Assembly {
    /// Reads the text up to the end of the program.
    pub fn parse(text: &str) -> Self {
        let mut assembly = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split(';').next().unwrap_or_default().trim();
            if let Some(label) = line.strip_suffix(':') {
                assembly.labels.insert(label.to_owned(), assembly.instructions.len());
            } else if !line.is_empty() {
                // RDNA3 issues two at once: `v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5`.
                assembly.instructions.extend(line.split(" :: ").map(|text| Instruction::parse(text, number)));
            }
            if line == "s_endpgm" {
                break;
            }
        }
        assembly.find_loops();
        assembly
    }

    /// Where a branch leads.
    pub fn target(&self, branch: &Instruction) -> Option<usize> {
        self.labels.get(branch.text.trim()).copied()
    }

    /// The innermost loop that contains an instruction.
    pub fn innermost(&self, index: usize) -> Option<usize> {
        let around = self.loops.iter().enumerate().filter(|(_, each)| each.contains(index));
        around.min_by_key(|(_, each)| each.end - each.head).map(|(number, _)| number)
    }

    fn find_loops(&mut self) {
        let mut ends: HashMap<usize, usize> = HashMap::new();
        for (index, instruction) in self.instructions.iter().enumerate() {
            let back = (instruction.class == Class::Branch)
                .then(|| self.target(instruction))
                .flatten()
                .filter(|target| *target <= index);
            if let Some(head) = back {
                ends.insert(head, index);
            }
        }
        self.loops = ends.into_iter().map(|(head, end)| Loop { head, end, back: end }).collect();
        self.loops.sort_unstable_by_key(|each| each.head);
        // Where the way out of an inner loop is the way back of the one round it, the rest of the inner one stands behind.
        for outer in (0..self.loops.len()).rev() {
            let inner = self.loops[outer + 1..].iter().filter(|each| self.loops[outer].contains(each.head));
            let end = inner.map(|each| each.end).max();
            self.loops[outer].end = self.loops[outer].end.max(end.unwrap_or(0));
        }
    }
}

impl Instruction {
    fn parse(text: &str, line: usize) -> Self {
        let (name, text) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = name.replacen("v_dual_", "v_", 1);
        let name = ["_e32", "_e64"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
        let operands = text.split(',').map(Operand::parse).collect();
        let text = text.trim().to_owned();
        // What changes operands or results behind the rule's back.
        let modified = ["clamp", "mul:", "div:"].iter().any(|word| text.contains(word));
        let rule = rule(name).filter(|_| !modified);
        let stores = ["store", "write"].iter().any(|word| name.contains(word));
        Self {
            stores,
            operands,
            class: class(name),
            words: words(name),
            rule,
            line,
            name: name.to_owned(),
            text,
        }
    }

    /// Whether it reads workgroup memory.
    pub fn is_shared_read(&self) -> bool {
        self.class == Class::Shared && ["ds_read", "ds_load"].iter().any(|start| self.name.starts_with(start))
    }

    /// The number behind a word of its text, such as `offset:16` or `vmcnt(3)`.
    pub fn number(&self, word: &str) -> Option<u32> {
        let at = self.text.find(word)? + word.len();
        let text = self.text[at..].trim_start_matches([':', '(']);
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(text.len());
        number(&text[..end])
    }
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse::<i64>().ok().map(|value| value as u32),
    }
}

impl Operand {
    fn parse(text: &str) -> Self {
        // Behind the last operand stand modifiers, separated by spaces.
        let text = text.split_whitespace().next().unwrap_or_default();
        let fixed = |register| Operand::Scalars(register, 1);
        match text {
            "vcc" => Operand::Scalars(VCC, 2),
            "vcc_lo" => fixed(VCC),
            "vcc_hi" => fixed(VCC + 1),
            "exec" => Operand::Scalars(EXEC, 2),
            "exec_lo" => fixed(EXEC),
            "exec_hi" => fixed(EXEC + 1),
            "m0" => fixed(M0),
            "null" => Operand::Literal(0),
            "scc" | "src_scc" => Operand::Condition,
            _ => registers(text).or_else(|| literal(text)).unwrap_or(Operand::Other),
        }
    }
}

/// `v12`, `s[4:7]`.
fn registers(text: &str) -> Option<Operand> {
    let make = match text.chars().next()? {
        'v' => Operand::Vectors,
        's' => Operand::Scalars,
        _ => return None,
    };
    match text[1..].strip_prefix('[').and_then(|range| range.strip_suffix(']')) {
        Some(range) => {
            let (first, last) = range.split_once(':').unwrap_or((range, range));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some(make(first, last.checked_sub(first)? + 1))
        }
        None => Some(make(text[1..].parse().ok()?, 1)),
    }
}

/// `-1`, `0x80`, `1.0`.
fn literal(text: &str) -> Option<Operand> {
    number(text).or_else(|| text.parse().ok().map(f32::to_bits)).map(Operand::Literal)
}

fn class(name: &str) -> Class {
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if is(&["v_fma", "v_mac_f", "v_mad_f", "v_pk_fma", "v_dot2"]) {
        Class::MultiplyAdd
    } else if is(&["v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"])
        || is(&["v_mul_lo_u32", "v_mul_hi_", "v_mad_u64", "v_mad_i64"])
    {
        Class::Slow
    } else if is(&["v_"]) {
        Class::Vector
    } else if is(&["scratch_"]) {
        Class::Scratch
    } else if is(&["buffer_load", "global_load", "flat_load", "buffer_atomic", "global_atomic"]) {
        Class::Load
    } else if is(&["buffer_store", "global_store", "flat_store"]) {
        Class::Store
    } else if is(&["s_load", "s_buffer_load"]) {
        Class::ScalarLoad
    } else if is(&["ds_"]) {
        Class::Shared
    } else if is(&["s_waitcnt"]) {
        Class::Wait
    } else if is(&["s_barrier"]) {
        Class::Barrier
    } else if is(&["s_cbranch", "s_branch"]) {
        Class::Branch
    } else {
        Class::Scalar
    }
}

fn words(name: &str) -> usize {
    let sizes =
        [("x16", 16), ("b512", 16), ("x8", 8), ("b256", 8), ("x4", 4), ("b128", 4), ("x3", 3), ("b96", 3)];
    let pairs = [("x2", 2), ("b64", 2)];
    let found = sizes.iter().chain(&pairs).find(|(part, _)| name.contains(part));
    found.map_or(1, |(_, words)| *words) * if is_double(name) { 2 } else { 1 }
}

/// Whether an access to workgroup memory is to two places at once.
pub fn is_double(name: &str) -> bool {
    ["ds_read2", "ds_write2", "ds_load_2addr", "ds_store_2addr"].iter().any(|start| name.starts_with(start))
}
