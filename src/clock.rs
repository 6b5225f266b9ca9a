//! The clock of spans of time. That of the standard library panics in browsers, whose own has the same names.

#[cfg(not(target_arch = "wasm32"))]
pub use std::time::Instant;
#[cfg(target_arch = "wasm32")]
pub use web_time::Instant;
