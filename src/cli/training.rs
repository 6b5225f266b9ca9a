//! Options shared by all commands that train.

use std::path::PathBuf;

use crate::data::ReadOptions;
use crate::engine::{Device, DeviceRequest, leaves_gpu};
use crate::error::Result;
use crate::gpu::DeviceOptions;
use crate::settings::{DatasetInfo, ENDS, HELD_OUT, TrainSettings, text};
use clap::{Arg, Args, Command, Id};
use serde::{Deserialize, Serialize};

use super::args;
use super::devices;
use super::table_options::Columns;

/// Data, device and settings of a training.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Training {
    /// Training data: a CSV or NPZ table, a folder with MNIST's files, an IDX file, or a folder of images for each
    /// class. [default: MNIST]
    ///
    /// Files may be packed by gzip or zstd; `-` is a table on standard input. Several files, or a folder of
    /// part*.csv, are one table.
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    #[serde(with = "text::texts")]
    pub data: Vec<PathBuf>,
    /// Device: auto, cpu, gpu, vulkan, gl, metal, dx12, or a name or index that `tinytrain devices` lists. [default:
    /// auto]
    ///
    /// auto is a GPU if there is one, but the CPU where that will be done sooner.
    #[arg(long, value_parser = args::device, allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub device: Option<DeviceRequest>,
    // First, so that the help on tables begins with the target.
    #[command(flatten)]
    #[serde(flatten)]
    pub columns: Columns,
    #[command(flatten)]
    #[serde(flatten)]
    pub settings: TrainSettings,
}

impl Training {
    /// Returns the requested device.
    pub fn device(&self) -> DeviceRequest {
        self.device.clone().unwrap_or_default()
    }

    /// Checks the options as far as possible before anything is read.
    ///
    /// # Errors
    /// For the first conflict.
    pub fn check(&self, info: DatasetInfo) -> Result<()> {
        self.settings.check_early(info)?;
        self.columns.check(self.settings.loss)
    }

    /// Returns options to read a training table.
    ///
    /// # Errors
    /// [`crate::error::Error::Config`] if the task and the loss contradict one another.
    pub fn read_options(&self) -> Result<ReadOptions> {
        let options = self.columns.read_options(self.columns.task(self.settings.loss)?)?;
        Ok(ReadOptions { threads: self.settings.threads, ..options })
    }
}

/// Parses only the value of a flag that was not given.
fn refused(text: &str) -> std::result::Result<bool, String> {
    if text == "false" { Ok(false) } else { Err("this command does not use it".to_owned()) }
}

/// Selects some of the options `T`, by their headings and names, for `mut_args` of a command.
pub fn only<T: Args>(is_wanted: fn(Option<&str>, &str) -> bool) -> impl FnMut(Arg) -> Arg {
    let all = T::augment_args(Command::new("all"));
    let others =
        all.get_arguments().filter(move |it| !is_wanted(it.get_help_heading(), it.get_id().as_str()));
    let others: Vec<Id> = others.map(|argument| argument.get_id().clone()).collect();
    move |argument| match others.contains(argument.get_id()) {
        // Hidden options must still be known to clap, which reads all of them.
        true => argument.hide(true).value_parser(refused),
        false => argument,
    }
}

/// Selects options, for [`only`], for training a number of steps without an end.
pub fn of_steps(heading: Option<&str>, _: &str) -> bool {
    ![Some(ENDS), Some(HELD_OUT)].contains(&heading)
}

/// Options for the kernels of a GPU.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Kernels {
    /// Run GPU kernels with bounds checks.
    ///
    /// Slower; shows whether a kernel or driver goes astray.
    #[arg(long, hide_short_help = true)]
    pub bounds_checks: bool,
}

impl Kernels {
    /// Returns the device, and a notice about an unexpected choice. `is_short`: the CPU engine finishes
    /// before a GPU starts. `no_timestamps` disables time stamps.
    ///
    /// # Errors
    /// If the device does not exist.
    pub fn device(
        &self,
        training: &Training,
        is_verbose: bool,
        no_timestamps: bool,
        is_short: bool,
    ) -> Result<(Device, Vec<String>)> {
        let device_options = DeviceOptions { no_timestamps, ..args::options(self.bounds_checks) };
        let request = training.device();
        // Bounds checks need kernels.
        let is_short = is_short && !self.bounds_checks;
        let leaves_gpu = leaves_gpu(&request, is_short);
        let (device, notice) = devices::find(&request, device_options, is_short)?;
        let chosen = match &device {
            Device::Cpu if request != DeviceRequest::Auto => None,
            Device::Cpu if leaves_gpu => {
                Some("the CPU engine finishes this sooner than a GPU; use --device gpu for the GPU")
            }
            Device::Cpu if is_verbose => Some("no GPU found; `tinytrain devices` lists all devices"),
            _ => None,
        };
        Ok((device, notice.into_iter().chain(chosen.map(str::to_owned)).collect()))
    }
}
