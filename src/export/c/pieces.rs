//! C functions that models share, one a file; an exported file gets those that it needs.

use std::collections::BTreeSet;

use super::activations;
use crate::data::{NORMAL_QUANTILE, RANK_MARGIN};
use crate::step::Activation;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    Scaled,
    Clipped,
    NormalScore,
    Category,
    Sign,
    OneHot,
    Copy,
    Bytes,
    Periodic,
    Embedding,
    Scale,
    Dense,
    AddSoftmax,
    Add,
    Restore,
}

impl Piece {
    /// Its name in C, and its source.
    fn source(self) -> (&'static str, &'static str) {
        match self {
            Piece::Scaled => ("scaled", include_str!("pieces/scaled.c")),
            Piece::Clipped => ("clipped", include_str!("pieces/clipped.c")),
            Piece::NormalScore => ("normal_score", include_str!("pieces/normal_score.c")),
            Piece::Category => ("category", include_str!("pieces/category.c")),
            Piece::Sign => ("sign", include_str!("pieces/sign.c")),
            Piece::OneHot => ("one_hot", include_str!("pieces/one_hot.c")),
            Piece::Copy => ("copy", include_str!("pieces/copy.c")),
            Piece::Bytes => ("bytes", include_str!("pieces/bytes.c")),
            Piece::Periodic => ("periodic", include_str!("pieces/periodic.c")),
            Piece::Embedding => ("embedding", include_str!("pieces/embedding.c")),
            Piece::Scale => ("scale", include_str!("pieces/scale.c")),
            Piece::Dense => ("dense", include_str!("pieces/dense.c")),
            Piece::AddSoftmax => ("add_softmax", include_str!("pieces/add_softmax.c")),
            Piece::Add => ("add", include_str!("pieces/add.c")),
            Piece::Restore => ("restore", include_str!("pieces/restore.c")),
        }
    }

    fn text(self) -> String {
        let (_, source) = self.source();
        if self != Piece::NormalScore {
            return source.to_owned();
        }
        let lines = ["a", "b", "c", "d"].iter().zip(NORMAL_QUANTILE.factors).map(|(name, factors)| {
            let list: Vec<String> = factors.iter().map(|factor| format!("{factor:?}")).collect();
            format!("    static const double {name}[{}] = {{{}}};", list.len(), list.join(", "))
        });
        let lines: Vec<String> = lines.collect();
        source
            .replace("@FACTORS@", &lines.join("\n"))
            .replace("@MARGIN@", &format!("{RANK_MARGIN:?}"))
            .replace("@TAIL@", &format!("{:?}", NORMAL_QUANTILE.tail))
    }
}

/// The functions that a file needs.
#[derive(Default)]
pub(super) struct Pieces {
    pieces: BTreeSet<Piece>,
    activations: Vec<Activation>,
}

impl Pieces {
    /// Takes a function; gives its name.
    pub(super) fn need(&mut self, piece: Piece) -> &'static str {
        self.pieces.insert(piece);
        piece.source().0
    }

    /// Adds the function of an activation; returns its name.
    pub(super) fn need_activation(&mut self, activation: Activation) -> String {
        if !self.activations.contains(&activation) {
            self.activations.push(activation);
        }
        activations::name(activation)
    }

    /// The source of all of them.
    pub(super) fn text(&self) -> String {
        let pieces = self.pieces.iter().map(|piece| piece.text());
        let activations = self.activations.iter().map(|activation| activations::function(*activation));
        pieces.chain(activations).map(|text| text + "\n").collect()
    }
}
