//! In the place of `device.rs` where there is no RADV.

use anyhow::{Result, bail};

use crate::compiled::Compiled;

/// No device: none can be made.
pub enum Device {}

/// No driver.
///
/// # Errors
/// Always.
pub fn find_driver() -> Result<()> {
    bail!("RADV, the driver that compiles, is on Linux alone")
}

impl Device {
    /// Opens no device.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &str) -> Result<Self> {
        find_driver().and_then(|()| bail!("no device"))
    }

    /// As nobody calls it.
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Compiles nothing.
    ///
    /// # Errors
    /// None that could come.
    pub fn compile(&self, _: &[u32], _: &str, _: usize, _: u32, _: bool) -> Result<Compiled> {
        match *self {}
    }
}
