//! What the page calls: the library by wasm-bindgen. Everything runs in a worker. Errors are thrown as `Error` with the library's line, and
//! what to do about it.

#![warn(missing_docs)]

#[cfg(feature = "gpu")]
mod check;
mod errors;
mod images;
mod model;
mod settings;
mod table;
#[cfg(target_feature = "atomics")]
mod threads;
mod trainer;

#[cfg(feature = "gpu")]
use tinytrain::gpu::adapters_async;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(text: &str);
}

/// Runs when the module is there: a panic, which ends the module, is told to the console.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
}

/// The name of the adapter that the browser has for WebGPU; nothing where it has none.
#[cfg(feature = "gpu")]
#[wasm_bindgen(js_name = adapterInfo)]
pub async fn adapter_info() -> Option<String> {
    adapters_async(None).await.first().map(|adapter| adapter.name.clone())
}

/// The settings with their explanations, as JSON: name to `{default, help}`.
#[wasm_bindgen(js_name = settingsHelp)]
pub fn settings_help() -> String {
    settings::HELP.to_owned()
}
