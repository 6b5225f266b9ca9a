//! The file of measured tile shapes in the user's folder of caches.

use std::path::PathBuf;

use tinytrain::Result;
use tinytrain::schedule::Measurements;

use super::environment;

/// Its name there.
const NAME: &str = "tuning.json";

/// Where it is, if there is a folder of caches.
pub fn path() -> Option<PathBuf> {
    environment::cache_folder().map(|folder| folder.join(NAME))
}

/// What it holds; nothing where there is none.
///
/// # Errors
/// As [`Measurements::read`].
pub fn read() -> Result<Measurements> {
    path().map_or_else(|| Ok(Measurements::default()), |path| Measurements::read(&path))
}
