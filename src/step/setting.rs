//! Errors for settings that are out of range.

use crate::error::{Error, Result};

/// Returns an error that names the setting, unless it `fits`.
pub(crate) fn demand(
    fits: bool,
    setting: &'static str,
    expected: &str,
    found: impl std::fmt::Display,
) -> Result<()> {
    if fits {
        return Ok(());
    }
    Err(Error::setting(setting, expected, found.to_string()))
}
