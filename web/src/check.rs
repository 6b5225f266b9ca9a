//! Whether the browser's device computes what it should, and how fast.

use serde_json::{Value, json};
use tinytrain::check::{Outcome, cpu_engine, gpu_engine_async, kernels_async};
use tinytrain::kernels::Compute;
use wasm_bindgen::prelude::*;

use crate::errors::{Result, of_library, thrown};
use crate::trainer::best_adapter;

/// Runs every kernel, whole gradients and steps of every schedule against the reference in f64, on `gpu`; on `cpu` the gradients and
/// steps of the CPU engine. `told` is called with each outcome, an object as JSON, as it ends; gives how many were checked and failed.
#[wasm_bindgen]
pub async fn check(device: String, told: js_sys::Function) -> Result<String> {
    let (mut checked, mut failed) = (0u32, 0u32);
    let mut sink = |outcome: Outcome| {
        checked += 1;
        failed += u32::from(!outcome.passed());
        // What a listener throws is its own.
        let _ = told.call1(&JsValue::NULL, &JsValue::from(line(&outcome).to_string()));
    };
    let name = match device.as_str() {
        "cpu" => {
            cpu_engine(&mut sink).map_err(of_library)?;
            "the CPU engine".to_owned()
        }
        "gpu" => {
            let adapter = best_adapter().await?;
            let compute = Compute::open_async(&adapter).await.map_err(of_library)?;
            kernels_async(&compute.guarded(), &mut sink).await.map_err(of_library)?;
            gpu_engine_async(&compute, &mut sink).await.map_err(of_library)?;
            adapter.name
        }
        _ => return Err(thrown("device: expected gpu or cpu")),
    };
    Ok(json!({ "device": name, "checked": checked, "failed": failed }).to_string())
}

/// An outcome as `tinytrain check --format json` prints it.
fn line(outcome: &Outcome) -> Value {
    json!({
        "kernel": outcome.subject,
        "shape": outcome.shape,
        "error": outcome.error,
        "bound": outcome.bound,
        "passed": outcome.passed(),
        "fault": outcome.fault,
    })
}
