//! Pictures as files: what all share, and those that are of no profile.

mod bars;
pub(crate) mod canvas;

pub use bars::{Bar, bars};
pub use canvas::Picture;
