//! A kernel of the step for several networks of one shape at once (`shaders/common/members.wgsl`).

use crate::error::Result;
use crate::kernels::{
    Cost, Kernel, Latency, MOST_RECORDS, Piece, Shader, StepRecord, ThreadLayout, Tuning, shape_error,
    uniform, vec4s, word,
};

/// The most networks of a dispatch: of so many the list of records has room.
pub const MOST_MEMBERS: usize = MOST_RECORDS;

/// Bindings of a kernel of which the uniform says what belongs to a network.
const BINDINGS: usize = 7;

/// How the buffer at a binding is divided among networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All have the same.
    Common,
    /// Each has so many vec4s, network after network.
    Own(usize),
    /// Each slot has the numbers of those that are trained, one behind the other: metrics.
    Slots,
}

/// A kernel for several networks of one shape, each a z of the grid. It takes as many records as the grid has z: record z is
/// that of the network whose number, from 0, is its `next_rows`. All have the same `first`, `rows` and `slot`.
pub struct Members {
    kernel: Box<dyn Kernel>,
    shares: Vec<Share>,
    numbers: Vec<[u32; 2]>,
}

impl Members {
    /// `kernel` for as many networks as there are pairs of [`Kernel::numbers`], at most [`MOST_MEMBERS`], with a share for each
    /// of its bindings.
    pub fn new(kernel: Box<dyn Kernel>, shares: Vec<Share>, numbers: Vec<[u32; 2]>) -> Self {
        Self { kernel, shares, numbers }
    }
}

impl Kernel for Members {
    fn shader(&self) -> &'static Shader {
        self.kernel.shader()
    }

    fn params(&self) -> Vec<u8> {
        let mut lengths = [0; BINDINGS + 1];
        for (length, share) in lengths[1..].iter_mut().zip(&self.shares) {
            *length = if let Share::Own(length) = share { word(*length) } else { 0 };
        }
        let mut words = [&lengths[..], &[word(self.numbers.len()), 0, 0, 0]].concat();
        words.extend(self.numbers.iter().flat_map(|[first, second]| [*first, *second, 0, 0]));
        words.resize(BINDINGS + 5 + 4 * MOST_MEMBERS, 0);
        [self.kernel.params(), uniform(&words)].concat()
    }

    fn layout(&self) -> ThreadLayout {
        self.kernel.layout()
    }

    fn members(&self) -> usize {
        self.numbers.len()
    }

    fn numbers(&self) -> [u32; 2] {
        self.kernel.numbers()
    }

    fn records(&self) -> usize {
        MOST_RECORDS
    }

    fn flags(&self) -> Vec<(&'static str, bool)> {
        self.kernel.flags()
    }

    fn choices(&self) -> Vec<(&'static str, u32)> {
        self.kernel.choices()
    }

    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        let several = [("member", "members"), ("member_fields", "members_fields")];
        let several = several.map(|(name, piece)| (name, Piece::Named(piece)));
        [self.kernel.pieces(), several.to_vec()].concat()
    }

    fn fused(&self) -> Vec<String> {
        self.kernel.fused()
    }

    fn most_rows(&self) -> Option<usize> {
        self.kernel.most_rows()
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (count, bindings) = (self.numbers.len(), self.shader().bindings.len());
        if !(1..=MOST_MEMBERS).contains(&count) {
            return Err(shape_error(
                self.shader(),
                format!("1 to {MOST_MEMBERS} networks"),
                count.to_string(),
            ));
        }
        if self.shares.len() != bindings || bindings > BINDINGS {
            return Err(shape_error(
                self.shader(),
                format!("{bindings} shares"),
                self.shares.len().to_string(),
            ));
        }
        let alone = self.kernel.extents(tuning, record)?;
        Ok(alone
            .into_iter()
            .zip(&self.shares)
            .map(|(bytes, share)| match share {
                Share::Common => bytes,
                Share::Own(length) => vec4s(&[&[count - 1, *length]]).saturating_add(bytes),
                Share::Slots => bytes.saturating_mul(count as u64),
            })
            .collect())
    }

    fn shape(&self) -> String {
        format!("{} of {}", self.numbers.len(), self.kernel.shape())
    }

    fn latency(&self, tuning: &Tuning) -> Latency {
        self.kernel.latency(tuning)
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let alone = self.kernel.cost(tuning);
        Cost { dispatches: alone.dispatches, ..std::iter::repeat_n(alone, self.numbers.len()).sum() }
    }
}
