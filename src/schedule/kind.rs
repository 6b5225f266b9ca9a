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
    /// One workgroup trains the whole network, many steps in one dispatch.
    Resident,
}

impl ScheduleKind {
    /// All of them.
    pub const ALL: [ScheduleKind; 4] =
        [ScheduleKind::Plain, ScheduleKind::Fused, ScheduleKind::TwoDispatch, ScheduleKind::Resident];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            ScheduleKind::Plain => "plain",
            ScheduleKind::Fused => "fused",
            ScheduleKind::TwoDispatch => "two-dispatch",
            ScheduleKind::Resident => "resident",
        }
    }
}

impl fmt::Display for ScheduleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScheduleKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = ScheduleKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| Error::Setting {
            setting: "schedule",
            expected: "plain, fused, two-dispatch or resident".to_owned(),
            found: format!("{text:?}"),
        })
    }
}
