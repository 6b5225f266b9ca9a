//! Descriptions of engines.

use std::fmt;

use crate::model::Origin;
#[cfg(feature = "gpu")]
use crate::schedule::SelectedPlan;

/// Kind of engine.
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

/// An engine and how it computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The kind of engine.
    pub engine: EngineKind,
    /// Readable name of the device.
    pub device: String,
    /// Division of a step into dispatches, if any.
    #[cfg(feature = "gpu")]
    pub schedule: Option<SelectedPlan>,
    /// Readable descriptions of the dispatches of a step, if any.
    pub dispatches: Vec<String>,
}

impl Description {
    /// Returns the engine's entry in a model file.
    pub fn origin(&self) -> Origin {
        #[cfg(feature = "gpu")]
        let schedule = self.schedule.as_ref().map(|selected| selected.kind.to_string());
        #[cfg(not(feature = "gpu"))]
        let schedule = None;
        Origin { device: self.device.clone(), schedule }
    }
}
