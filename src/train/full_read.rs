//! Why all rows are read before training starts.

use crate::data::{Reader, is_sorted};

/// Why training does not start with the first block of rows, while others are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReadReason {
    /// What stands for missing cells, and which categories there are, depends on all rows.
    Encoded,
    /// So do the numbers by which columns are scaled.
    Scaled,
    /// A share of the rows is held out.
    HeldOut,
    /// Rows have weights, which are divided by their mean. The order of the rows is the one without weights.
    Weighted,
    /// Labels that differ only in spelling are joined under the most frequent one.
    FoldedLabels,
    /// Rows without a target are left out.
    MissingTargets,
    /// There are values to predict, and no labels that would tell whether the rows are sorted by them.
    Values,
    /// The first rows have a single label.
    OneLabel,
    /// The rows are sorted by label: all labels are known and say so.
    Sorted,
}

impl FullReadReason {
    /// Of a reader that has read its first block, whose columns are encoded by what they hold or are not.
    pub(super) fn for_reader(reader: &Reader, encodes: bool, holds_out: bool) -> Option<Self> {
        match () {
            () if encodes && reader.needs_encoding() => Some(Self::Encoded),
            () if encodes => Some(Self::Scaled),
            () if holds_out => Some(Self::HeldOut),
            () if reader.values() > 0 => Some(Self::Values),
            () if reader.drops_missing_target() => Some(Self::MissingTargets),
            () if reader.folds_labels() => Some(Self::FoldedLabels),
            () if reader.is_weighted() => Some(Self::Weighted),
            () if reader.classes().len() < 2 => Some(Self::OneLabel),
            () if is_sorted(reader.labels()) => Some(Self::Sorted),
            () => None,
        }
    }

    /// Whether it holds whatever the rows are that are still to be read, which then are shuffled over all of them.
    pub(super) fn is_final(self) -> bool {
        !matches!(
            self,
            Self::Weighted | Self::FoldedLabels | Self::MissingTargets | Self::OneLabel | Self::Sorted
        )
    }
}
