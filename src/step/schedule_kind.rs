//! Kinds of division of a step into dispatches.

use crate::named::named;

/// Division of a step into dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleKind {
    /// One kernel per operation: easy to read, and keeps gradients.
    Plain,
    /// Forward+ReLU, softmax+loss+delta, input gradient+ReLU mask, weight gradient+update in one kernel each.
    Fused,
    /// One kernel along the rows of the batch, through all layers and back; one along the units, which updates all
    /// weights and begins the next batch.
    TwoDispatch,
}

named!(ScheduleKind { Plain = "plain", Fused = "fused", TwoDispatch = "two-dispatch" });
