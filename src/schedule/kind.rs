//! The ways to divide a step into dispatches.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// How the work of a step is divided into dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleKind {
    /// One kernel an operation: the readable one, and the one that keeps gradients.
    Plain,
    /// Forward+ReLU, softmax+loss+delta, input gradient+ReLU mask, weight gradient+update in one kernel each.
    Fused,
    /// One kernel along the rows of the batch, through all layers and back; one along the units, which updates all
    /// weights and begins the next batch.
    TwoDispatch,
}

impl ScheduleKind {
    /// All of them.
    pub const ALL: [ScheduleKind; 3] = [ScheduleKind::Plain, ScheduleKind::Fused, ScheduleKind::TwoDispatch];
}

impl fmt::Display for ScheduleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScheduleKind::Plain => "plain",
            ScheduleKind::Fused => "fused",
            ScheduleKind::TwoDispatch => "two-dispatch",
        })
    }
}

impl FromStr for ScheduleKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "plain" => Ok(ScheduleKind::Plain),
            "fused" => Ok(ScheduleKind::Fused),
            "two-dispatch" => Ok(ScheduleKind::TwoDispatch),
            _ => Err(Error::Setting {
                setting: "schedule",
                expected: "plain, fused or two-dispatch".to_owned(),
                found: format!("{text:?}"),
            }),
        }
    }
}
