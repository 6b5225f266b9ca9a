//! A kernel of the step for several networks of one shape at once (`shaders/common/members.wgsl`).

use crate::error::Result;
use crate::kernels::{
    Cost, Description, Kernel, MOST_RECORDS, Piece, Seal, StepRecord, Tuning, shape_error, uniform, vec4s,
    word,
};

/// Most networks of a dispatch, limited by the list of records.
pub const MOST_MEMBERS: usize = MOST_RECORDS;

/// Most bindings of a kernel for several networks; the uniform has a network's share of each.
const BINDINGS: usize = 7;

/// Division of the buffer at a binding among networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All networks use the same data.
    Common,
    /// Each network has this number of vec4s, in sequence.
    Own(usize),
    /// Each slot has the numbers of all trained networks, concatenated: metrics.
    Slots,
}

/// A kernel for several networks of one shape, each a z of the grid. It uses one record per z: record z
/// belongs to the network whose number, from 0, is its `next_rows`. All have the same `first`, `rows` and
/// `slot`.
pub struct Members {
    kernel: Box<dyn Kernel>,
    shares: Vec<Share>,
    numbers: Vec<[u32; 2]>,
}

impl Members {
    /// Creates `kernel` for one network per pair of [`Description::numbers`], at most [`MOST_MEMBERS`], with
    /// a share for each of its bindings.
    pub fn new(kernel: Box<dyn Kernel>, shares: Vec<Share>, numbers: Vec<[u32; 2]>) -> Self {
        Self { kernel, shares, numbers }
    }
}

impl Kernel for Members {
    fn describe(&self, _: Seal) -> Description {
        let (alone, count) = (self.kernel.description(), self.numbers.len());
        let mut lengths = [0; BINDINGS + 1];
        for (length, share) in lengths[1..].iter_mut().zip(&self.shares) {
            *length = if let Share::Own(length) = share { word(*length) } else { 0 };
        }
        let mut words = [&lengths[..], &[word(count), 0, 0, 0]].concat();
        words.extend(self.numbers.iter().flat_map(|[first, second]| [*first, *second, 0, 0]));
        words.resize(BINDINGS + 5 + 4 * MOST_MEMBERS, 0);
        let several = [("member", "members"), ("member_fields", "members_fields")];
        let several = several.map(|(name, piece)| (name, Piece::Named(piece)));
        Description {
            params: [alone.params, uniform(&words)].concat(),
            shape: format!("{count} of {}", alone.shape),
            pieces: [alone.pieces, several.to_vec()].concat(),
            members: count,
            records: MOST_RECORDS,
            ..alone
        }
    }

    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>> {
        let (count, alone) = (self.numbers.len(), self.kernel.extents(tuning, record)?);
        let refused = |expected, found: usize| Err(shape_error(self.shader(), expected, found.to_string()));
        if !(1..=MOST_MEMBERS).contains(&count) {
            return refused(format!("1 to {MOST_MEMBERS} networks"), count);
        }
        if self.shares.len() != alone.len() || alone.len() > BINDINGS {
            return refused(format!("{} shares", alone.len()), self.shares.len());
        }
        let of = |(bytes, share): (u64, &Share)| match share {
            Share::Common => bytes,
            Share::Own(length) => vec4s(&[&[count - 1, *length]]).saturating_add(bytes),
            Share::Slots => bytes.saturating_mul(count as u64),
        };
        Ok(alone.into_iter().zip(&self.shares).map(of).collect())
    }

    fn cost(&self, tuning: &Tuning) -> Cost {
        let alone = self.kernel.cost(tuning);
        Cost { dispatches: alone.dispatches, ..std::iter::repeat_n(alone, self.numbers.len()).sum() }
    }
}
