//! Words and masks of which some bits are known, and words of all threads of which some are.

use std::array::from_fn;

/// Most threads of a wave.
pub const LANES: usize = 64;

/// A word of which some bits are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Word {
    /// Its bits; those that are not known are 0.
    pub value: u32,
    /// Which are known.
    pub known: u32,
}

impl Word {
    /// A word that is known.
    pub fn of(value: u32) -> Self {
        Self { value, known: !0 }
    }

    /// A word that is known or not.
    pub fn new(value: Option<u32>) -> Self {
        value.map_or(Self::default(), Self::of)
    }

    /// The word, if all of it is known.
    pub fn whole(self) -> Option<u32> {
        (self.known == !0).then_some(self.value)
    }
}

/// A bit for each thread: which take part, and of which that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask {
    /// The bits; those that are not known are 0.
    pub value: u64,
    /// Which are known.
    pub known: u64,
}

impl Mask {
    /// Whether no bit is set.
    pub fn is_empty(self) -> Option<bool> {
        match self.value {
            0 => (self.known == !0).then_some(true),
            _ => Some(false),
        }
    }
}

/// A vector register: a word for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// The words.
    pub values: [u32; LANES],
    /// Of which threads they are known.
    pub known: u64,
}

impl Lanes {
    /// Words of which nothing is known.
    pub const UNKNOWN: Lanes = Lanes { values: [0; LANES], known: 0 };

    /// Words that are known.
    pub fn of(values: [u32; LANES]) -> Self {
        Self { values, known: !0 }
    }

    /// What `rule` makes of the words of each thread.
    pub fn zip<const N: usize>(operands: [Lanes; N], rule: impl Fn([u32; N]) -> u32) -> Lanes {
        let known = operands.iter().fold(!0, |known, lanes| known & lanes.known);
        if known == 0 {
            return Lanes::UNKNOWN;
        }
        Lanes { values: from_fn(|lane| rule(from_fn(|at| operands[at].values[lane]))), known }
    }

    /// Takes the words of some threads from others.
    pub fn take(&mut self, new: &Lanes, threads: u64) {
        if new.known & threads != 0 {
            for lane in (0..LANES).filter(|lane| threads >> lane & 1 == 1) {
                self.values[lane] = new.values[lane];
            }
        }
        self.known = (self.known & !threads) | (new.known & threads);
    }
}
