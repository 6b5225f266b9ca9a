//! Options that all commands share which train.

use std::marker::PhantomData;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use tinytrain::Result;
use tinytrain::data::ReadOptions;
use tinytrain::engine::{Device, DeviceRequest};
use tinytrain::gpu::Opening;
use tinytrain::schedule::Measurements;
use tinytrain::settings::{DatasetInfo, ENDS, HELD_OUT, LEARNING, NETWORK, TABLES, TrainSettings, text};

use super::args;
use super::devices;
use super::environment::tuning_file;
use super::table_options::Columns;

/// What is trained, on which data, by what.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Training {
    /// Training data: a folder with MNIST's files or a train.csv, an IDX file of images, or a CSV table, packed by gzip or zstd or not;
    /// `-` is a table on standard input. Several files, or a folder of part*.csv, are one table. [default: the folder data/mnist of the
    /// repository]
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    #[serde(with = "text::texts")]
    pub data: Vec<PathBuf>,
    /// What trains: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it. [default: auto]
    #[arg(long, value_parser = args::device, allow_hyphen_values = true)]
    #[serde(with = "text")]
    pub device: Option<DeviceRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    pub settings: TrainSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub columns: Columns,
}

impl Training {
    /// What trains.
    pub fn device(&self) -> DeviceRequest {
        self.device.clone().unwrap_or_default()
    }

    /// Checks the options as far as that can be done before anything is read.
    ///
    /// # Errors
    /// Of the first that does not go with the others.
    pub fn check(&self, info: DatasetInfo) -> Result<()> {
        self.settings.check_early(info)?;
        self.columns.check(self.settings.loss)
    }

    /// How a table to train on is read.
    ///
    /// # Errors
    /// [`tinytrain::Error::Config`] if the task and the loss contradict one another.
    pub fn read_options(&self) -> Result<ReadOptions> {
        let options = self.columns.read_options(self.columns.task(self.settings.loss)?);
        Ok(ReadOptions { threads: self.settings.threads, ..options })
    }
}

/// Some of the options `T`: a command knows no others of them.
#[derive(Debug)]
pub struct Part<T, W>(pub T, PhantomData<W>);

/// Which options a command has a use for.
pub trait Wants {
    fn wants(heading: Option<&str>, id: &str) -> bool;
}

/// Those of some steps, of which none is the last.
#[derive(Debug)]
pub struct OfSteps;

impl Wants for OfSteps {
    fn wants(heading: Option<&str>, _: &str) -> bool {
        ![Some(ENDS), Some(HELD_OUT)].contains(&heading)
    }
}

/// Those of a network and how it learns.
#[derive(Debug)]
pub struct OfNetworks;

impl Wants for OfNetworks {
    fn wants(heading: Option<&str>, id: &str) -> bool {
        [Some(NETWORK), Some(LEARNING)].contains(&heading) || id == "schedule"
    }
}

/// Those of tables.
#[derive(Debug)]
pub struct OfTables;

impl Wants for OfTables {
    fn wants(heading: Option<&str>, id: &str) -> bool {
        heading == Some(TABLES) || id == "threads"
    }
}

/// Takes no value but that of a flag that was not given.
fn refused(text: &str) -> std::result::Result<bool, String> {
    if text == "false" { Ok(false) } else { Err("this command has no use for it".to_owned()) }
}

impl<T: Args, W: Wants> Args for Part<T, W> {
    fn augment_args(command: Command) -> Command {
        let all = T::augment_args(Command::new("all"));
        let wanted = |argument: &Arg| match W::wants(argument.get_help_heading(), argument.get_id().as_str())
        {
            true => argument.clone(),
            // It has to be known to clap, which reads all of them.
            false => argument.clone().hide(true).value_parser(refused),
        };
        all.get_arguments().fold(command, |command, argument| command.arg(wanted(argument)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Args, W> FromArgMatches for Part<T, W> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(|options| Self(options, PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Which kernels a GPU trains with.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Kernels {
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory: slower, to find out
    /// whether a kernel or a driver goes astray. Without it only what needs checking is checked.
    #[arg(long)]
    pub checked: bool,
    /// Take the built-in tile shapes of a GPU's kernels, not those that `tinytrain tune` has measured.
    #[arg(long)]
    pub no_tune: bool,
}

impl Kernels {
    /// The device, and what is said of it if nobody has named one; `trains` is what it does. `no_timestamps` denies it
    /// time stamps.
    ///
    /// # Errors
    /// When it is not there.
    pub fn device(
        &self,
        training: &Training,
        trains: &str,
        no_timestamps: bool,
    ) -> Result<(Device, Vec<String>)> {
        let opening = Opening { no_timestamps, ..args::opening(self.checked) };
        let (device, notice) = devices::find(&training.device(), opening)?;
        let notices = (training.device() == DeviceRequest::Auto).then(|| {
            let chosen = match &device {
                Device::Cpu => format!("no GPU found, {trains} on the CPU engine"),
                Device::Gpu(adapter) => format!("{trains} on {} ({})", adapter.name, adapter.backend),
            };
            format!("{chosen}; `tinytrain devices` lists what else --device can name")
        });
        Ok((device, notice.into_iter().chain(notices).collect()))
    }

    /// What `tinytrain tune` has measured; where that cannot be read, a notice says so.
    pub fn measured(&self, device: &Device, notices: &mut Vec<String>) -> Measurements {
        if self.no_tune || matches!(device, Device::Cpu) {
            return Measurements::default();
        }
        tuning_file()
            .map_or_else(|| Ok(Measurements::default()), |path| Measurements::read(&path))
            .unwrap_or_else(|error| {
                notices.push(format!("{error}; built-in tile shapes are taken"));
                Measurements::default()
            })
    }
}
