//! Workers as threads of the module, which share its memory.

use tinytrain::workers;
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library};

/// Makes a pool of so many threads beside the one that calls. Nothing may be trained before as many workers, with the same module and
/// memory, have called `becomeThread`.
#[wasm_bindgen(js_name = makeThreads)]
pub fn make_threads(count: usize) -> Result<()> {
    workers::make(count).map_err(of_library)
}

/// The worker that calls is one of the pool's threads from now on: this does not return.
#[wasm_bindgen(js_name = becomeThread)]
pub fn become_thread() {
    workers::become_thread();
}
