//! What is said of an engine.

use std::fmt;

use crate::model::Origin;
#[cfg(feature = "gpu")]
use crate::schedule::{SelectedPlan, Tiles};

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
    /// Tile shapes, where there are any.
    #[cfg(feature = "gpu")]
    pub tiles: Option<Tiles>,
    /// The dispatches of a step in words, where there are any.
    pub dispatches: Vec<String>,
}

impl Description {
    /// What a model's file says of it.
    pub fn origin(&self) -> Origin {
        let origin = Origin { device: self.device.clone(), schedule: None, tuning: None };
        #[cfg(feature = "gpu")]
        let origin = Origin {
            schedule: self.schedule.as_ref().map(|selected| selected.kind.to_string()),
            tuning: self.tiles.map(|tiles| tiles.tuning.to_string()),
            ..origin
        };
        origin
    }
}
