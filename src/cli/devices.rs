//! `tinytrain devices`: lists the devices that can train.

use crate::engine::{Device, DeviceRequest, find_device_for};
use crate::error::Result;
use crate::gpu::{Adapter, DeviceKind, DeviceOptions, adapters};
use clap::Args;
use serde_json::Value;

use super::args::{self, Format};
use super::output::{note, object, print_line, print_lines};
use crate::report::text::Table;

/// List the devices that can train: GPUs and software drivers.
///
/// --device takes an index or a name from this list.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain devices")]
pub struct Options {
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The device on which a command computes.
#[derive(Debug, Args)]
pub struct DeviceChoice {
    /// Device: auto, cpu, gpu, vulkan, gl, metal, dx12, or a name or index that `tinytrain devices` lists.
    ///
    /// auto is a GPU if there is one, but the CPU where that will be done sooner.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    device: DeviceRequest,
    /// Run GPU kernels with bounds checks.
    ///
    /// Slower; shows whether a kernel or driver goes astray.
    #[arg(long)]
    bounds_checks: bool,
}

impl DeviceChoice {
    /// Finds the device as [`find_and_report`] does.
    ///
    /// # Errors
    /// See [`find_and_report`].
    pub fn find(&self, is_short: bool) -> Result<Device> {
        find_and_report(&self.device, self.bounds_checks, is_short && !self.bounds_checks)
    }
}

/// Finds the requested device, with these options, and returns a notice if it is a software driver that was
/// not named. See [`find_device_for`] for `is_short`.
///
/// # Errors
/// If the device does not exist.
pub fn find(
    request: &DeviceRequest,
    device_options: DeviceOptions,
    is_short: bool,
) -> Result<(Device, Option<String>)> {
    let device = find_device_for(request, is_short)?.with_options(device_options);
    // Users who select a driver by name or index need no notice.
    let picks = matches!(request, DeviceRequest::Gpu | DeviceRequest::Backend(_));
    let notice = match &device {
        Device::Gpu(adapter) if picks && adapter.kind == DeviceKind::Software => Some(format!(
            "{} ({}) is a software driver that computes on the CPU, not a GPU; the CPU engine (--device cpu) is faster",
            adapter.name, adapter.backend
        )),
        _ => None,
    };
    Ok((device, notice))
}

/// Finds the device as [`find`] does and prints the notice.
///
/// # Errors
/// See [`find`].
pub fn find_and_report(request: &DeviceRequest, checked: bool, is_short: bool) -> Result<Device> {
    let (device, notice) = find(request, args::options(checked), is_short)?;
    notice.iter().for_each(|notice| note(notice));
    Ok(device)
}

/// Prints the list of devices.
///
/// # Errors
/// If standard output cannot be written to.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let found = adapters(None);
    match options.format {
        Format::Json => print_line(&format!("[{}]", found.iter().map(json).collect::<Vec<_>>().join(",")))?,
        Format::Text => print_lines(&text(&found))?,
    }
    Ok(())
}

fn json(adapter: &Adapter) -> String {
    object(&[
        ("index", adapter.index.into()),
        ("name", adapter.name.as_str().into()),
        ("type", adapter.kind.to_string().into()),
        ("backend", adapter.backend.to_string().into()),
        ("driver", adapter.driver.as_str().into()),
        ("features", adapter.features().into_iter().map(Value::from).collect::<Vec<_>>().into()),
    ])
}

fn text(found: &[Adapter]) -> Vec<String> {
    let mut lines = Vec::new();
    if found.is_empty() {
        lines.push(
            "No GPU and no software driver was found. A GPU needs its driver; a software driver for Vulkan is, on \
             Debian and Ubuntu, in the package mesa-vulkan-drivers."
                .to_owned(),
        );
    } else {
        let rows = found.iter().map(|adapter| {
            let features = adapter.features();
            vec![
                adapter.index.to_string(),
                adapter.name.clone(),
                adapter.kind.to_string(),
                adapter.backend.to_string(),
                adapter.driver.clone(),
                if features.is_empty() { "-".to_owned() } else { features.join(" ") },
            ]
        });
        lines.extend(Table::new(&[">index", "name", "type", "backend", "driver", "features"], rows).lines());
    }
    lines.push("The CPU engine is always there, without a driver: --device cpu".to_owned());
    lines
}
