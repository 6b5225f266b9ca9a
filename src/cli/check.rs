//! `tinytrain check`: tests whether this machine's driver computes correctly.

use std::path::PathBuf;

use crate::check::{Extent, GradientRecord, Outcome, TrainingRecord, cpu_engine, gpu_engine, kernels};
use crate::engine::{Device, DeviceRequest};
use crate::error::{Error, Result};
use crate::kernels::Compute;
use crate::settings::{LEARNING, NETWORK, TrainSettings};
use clap::Args;
use serde_json::Value;

use super::args::{self, Format};
use super::devices;
use super::output::{Console, Look, object, print_line, print_parts, write};
use super::output_place::destination;
use super::training::only;
use crate::report::text::counted;

/// Name of the gradients' file in the folder of `--save`.
const SAVED: &str = "gradients.safetensors";
const SAVED_STEPS: &str = "training.safetensors";

/// Test whether a device computes correctly.
///
/// Runs every kernel, and the gradients and training steps of whole networks, and compares the results with a
/// reference in f64. Errors are relative to the magnitude of the summands; the bound is what rounding explains.
/// Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(mut_args(only::<TrainSettings>(of_networks)))]
#[command(after_help = "Example:\n  tinytrain check --device vulkan")]
pub struct Options {
    /// Device: auto, cpu, gpu, vulkan, gl, metal, dx12, or a name or index that `tinytrain devices` lists. The
    /// cpu engine has no kernels, only gradients and steps.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    device: DeviceRequest,
    /// Run GPU kernels with bounds checks.
    ///
    /// Slower; shows whether a kernel or driver goes astray.
    #[arg(long)]
    bounds_checks: bool,
    /// Write gradients.safetensors into this folder, to compare with another framework.
    ///
    /// It holds a batch (x, labels), a random ReLU network (w1, b1, ...), and the gradients of its mean loss as
    /// the device computed them (dw1, db1, ...).
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// With --save: also write training.safetensors, N training steps of a random network with the settings
    /// below.
    ///
    /// It holds x, targets, the network before (w1, b1, ...) and after (w1_after, b1_after, ...).
    /// `scripts/compare-pytorch` compares it with PyTorch.
    #[arg(long, value_name = "N", requires = "save", value_parser = args::count, allow_hyphen_values = true)]
    steps: Option<usize>,
    /// Write the files of --save and skip the checks.
    #[arg(long, requires = "steps")]
    only_save: bool,
    #[command(flatten)]
    learning: TrainSettings,
    /// Output format: a table, or one JSON object per line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Returns whether this is an option of a network or its learning.
fn of_networks(heading: Option<&str>, id: &str) -> bool {
    [Some(NETWORK), Some(LEARNING)].contains(&heading) || id == "schedule"
}

/// Runs the checks and prints the results.
///
/// # Errors
/// Errors of the device and the output, and an error when a check has failed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let config = TrainingRecord::config(&options.learning, options.steps.unwrap_or(1))?;
    let record = options.save.as_ref().zip(options.steps);
    let record = record.map(|(folder, steps)| Ok((destination("--save", &folder.join(SAVED_STEPS))?, steps)));
    let record = record.transpose().map_err(|error: Error| error)?;
    let destination =
        options.save.as_ref().map(|folder| destination("--save", &folder.join(SAVED))).transpose()?;
    let choice = devices::find_and_report(&options.device, options.bounds_checks, false)?;
    if let Some((destination, steps)) = record {
        write(&destination, &TrainingRecord::from_device(&choice, &config, steps)?.to_bytes()?)?;
    }
    if options.only_save {
        return Ok(());
    }
    let mut table = Table { format: options.format, checked: 0, failed: 0, unwritable: None };
    let device = match &choice {
        Device::Cpu => {
            if options.device == DeviceRequest::Auto {
                Console::new(false, 0).notice(
                    "No GPU was found: this checks the CPU engine and no GPU kernel. To check a software driver: \
                     tinytrain check --device gpu",
                );
            }
            table.head("the CPU engine")?;
            cpu_engine(&mut |outcome| table.line(&outcome))?;
            "the CPU engine".to_owned()
        }
        Device::Gpu(adapter) => {
            let name = format!("{} ({}, {})", adapter.name, adapter.backend, adapter.driver);
            table.head(&name)?;
            let compute = Compute::open(adapter)?.guarded();
            kernels(&compute, Extent::Quick, &mut |outcome| table.line(&outcome));
            gpu_engine(adapter, &mut |outcome| table.line(&outcome))?;
            name
        }
    };
    table.end()?;
    if let Some(destination) = destination {
        write(&destination, &GradientRecord::from_device(&choice)?.to_bytes()?)?;
    }
    if table.failed > 0 {
        anyhow::bail!("{} failed on {device}", counted(table.failed, "check", "checks"));
    }
    Ok(())
}

/// The table, printed line by line as outcomes arrive.
struct Table {
    format: Format,
    checked: u64,
    failed: u64,
    /// Error of an earlier write, after which nothing more is printed.
    unwritable: Option<Error>,
}

impl Table {
    fn print(&mut self, parts: &[(Look, &str)]) {
        if self.unwritable.is_none() {
            self.unwritable = print_parts(parts).err();
        }
    }

    fn head(&mut self, device: &str) -> Result<()> {
        if self.format == Format::Text {
            print_line(&format!("checking {device}"))?;
            let (kernel, shape) = ("kernel", "shape");
            print_line(&format!("{kernel:<32}  {shape:<21}  max relative error     bound"))?;
        }
        Ok(())
    }

    fn line(&mut self, outcome: &Outcome) {
        let passed = outcome.passed();
        self.checked += 1;
        self.failed += u64::from(!passed);
        let (line, verdict) = match self.format {
            Format::Json => {
                let line = object(&[
                    ("kernel", outcome.subject.as_str().into()),
                    ("shape", outcome.shape.as_str().into()),
                    ("error", outcome.error.into()),
                    ("bound", outcome.bound.into()),
                    ("passed", passed.into()),
                    ("fault", outcome.fault.as_deref().map(Value::from).into()),
                ]);
                (line, "")
            }
            Format::Text => {
                let Outcome { subject, shape, error, bound, fault } = outcome;
                let found = fault.clone().unwrap_or_else(|| format!("{error:>18.1e}  {bound:>8.1e}"));
                let verdict = if passed { "pass" } else { "FAILED" };
                (format!("{subject:<32}  {shape:<21}  {found}  "), verdict)
            }
        };
        self.print(&[(Look::Plain, &line), (if passed { Look::Good } else { Look::Bad }, verdict)]);
    }

    fn end(&mut self) -> Result<()> {
        if self.format == Format::Text {
            let passed = self.checked - self.failed;
            let line = format!("{passed} of {} passed", counted(self.checked, "check", "checks"));
            self.print(&[(if self.failed == 0 { Look::Good } else { Look::Bad }, &line)]);
        }
        self.unwritable.take().map_or(Ok(()), Err)
    }
}
