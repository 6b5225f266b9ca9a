//! What a driver says of a compute pipeline.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// A compute pipeline as machine code.
pub struct Compiled {
    /// Threads of a wave.
    pub wave: u32,
    /// Its statistics, by the names that the driver gives them.
    pub statistics: BTreeMap<String, u64>,
    /// What it was on its way to machine code, and the machine code, disassembled: by the names that the driver gives.
    pub texts: BTreeMap<String, String>,
}

impl Compiled {
    /// The text whose name begins so.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(found, _)| found.starts_with(name)).map(|(_, text)| text.as_str())
    }

    /// The machine code.
    ///
    /// # Errors
    /// Where the driver hands out none.
    pub fn assembly(&self) -> Result<&str> {
        self.text("Assembly").context("the driver hands out no assembly")
    }

    /// The statistic of this name; 0 where the driver gives none.
    pub fn statistic(&self, name: &str) -> u64 {
        self.statistics.get(name).copied().unwrap_or(0)
    }
}
