//! What is said of an engine.

use std::fmt;

use crate::model::Origin;
#[cfg(feature = "gpu")]
use crate::schedule::SelectedPlan;

/// What computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// The processor, without a driver.
    Cpu,
    /// An adapter of wgpu, real or software.
    Gpu,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineKind::Cpu => "cpu",
            EngineKind::Gpu => "gpu",
        })
    }
}

/// What computes, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The kind of engine.
    pub engine: EngineKind,
    /// The device, for people.
    pub device: String,
    /// How a step is divided into dispatches, where it is.
    #[cfg(feature = "gpu")]
    pub schedule: Option<SelectedPlan>,
    /// The dispatches of a step in words, where there are any.
    pub dispatches: Vec<String>,
}

impl Description {
    /// What a model's file says of it.
    pub fn origin(&self) -> Origin {
        #[cfg(feature = "gpu")]
        let schedule = self.schedule.as_ref().map(|selected| selected.kind.to_string());
        #[cfg(not(feature = "gpu"))]
        let schedule = None;
        Origin { device: self.device.clone(), schedule }
    }
}
