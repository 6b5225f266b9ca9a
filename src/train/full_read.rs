//! Why all rows are read before training starts.

use crate::data::{Reader, is_sorted};

/// Why training does not start with the first block of rows, while others are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullReadReason {
    /// Replacements for missing cells, and the categories, depend on all rows.
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
    /// The reason for a reader that has read its first block; `encodes`: columns are encoded by what they hold.
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

    /// Whether it holds whatever rows are still to come; then all rows are shuffled together.
    pub(super) fn is_final(self) -> bool {
        !matches!(
            self,
            Self::Weighted | Self::FoldedLabels | Self::MissingTargets | Self::OneLabel | Self::Sorted
        )
    }
}
