//! Options that all commands share which train.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tinytrain::Result;
use tinytrain::data::{ReadOptions, Source};
use tinytrain::engine::{Device, DeviceRequest};
use tinytrain::gpu::Opening;
use tinytrain::schedule::{Measurements, ScheduleKind};
use tinytrain::step::Loss;
use tinytrain::train::{Config, TrainingData};

use super::args::{self, Hidden};
use super::devices;
use super::learning::Learning;
use super::opened::open_training;
use super::table_options::Columns;
use super::train_text::{column_lines, late_texts};
use super::tuning_file;

/// What is trained, on which data, by what.
#[derive(Debug, Args)]
pub struct Training {
    /// Settings that the defaults of all others come from: `table` is RealMLP-TD-S with periodic embeddings (Holzmüller and others, 2024), made for
    /// tables with validation data, and what it stands for `--verbose` lists; `plain` is a network with ReLU and gradient
    /// descent. [default: table for tables with validation data, else plain]
    #[arg(long, value_enum, value_name = "NAME")]
    pub preset: Option<Preset>,
    /// Rows that one training step looks at. [default: 64; 32 below 2,048 training rows, 16 below 512; 256 with --preset
    /// table]
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub batch_size: Option<usize>,
    /// Units of the hidden layers, first to last; `none` for no hidden layer. [default: 300,100; 256,256,256 with --preset
    /// table]
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true)]
    pub hidden: Option<Hidden>,
    /// Decides the first weights and the order of the rows: the same seed on the same device (a GPU under the
    /// same tile shapes) gives the same model.
    #[arg(long, value_name = "N", default_value_t = Config::default().seed, value_parser = args::seed,
          allow_hyphen_values = true)]
    pub seed: u64,
    /// Decides the first weights, and which units dropout leaves out, in place of --seed, which still decides the order of the
    /// rows and which of them are held out. [default: as --seed]
    #[arg(long, value_name = "N", value_parser = args::seed, allow_hyphen_values = true)]
    pub init_seed: Option<u64>,
    /// Training data: a folder with MNIST's files or a train.csv, an IDX file of images, or a CSV table, packed by gzip or zstd or not;
    /// `-` is a table on standard input. Several files, or a folder of part*.csv, are one table. [default: the folder data/mnist of the
    /// repository]
    #[arg(long, value_name = "DIR-or-FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// What trains: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    pub device: DeviceRequest,
    /// Most threads of the CPU engine, and most that read a table; they change no bit of the model. [default: one for each core]
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// How a GPU's work is divided: one kernel an operation, operations fused, or two kernels per step. [default: the
    /// fastest, as `tinytrain tune` has measured or as far as the network's shape tells]
    #[arg(long, value_name = "KIND", value_parser = args::schedule())]
    pub schedule: Option<ScheduleKind>,
    #[command(flatten)]
    pub learning: Learning,
    #[command(flatten)]
    pub columns: Columns,
}

impl Training {
    /// What the library needs of them for one epoch over such rows. Tile shapes that were `measured` for this network are
    /// taken.
    pub fn config(&self, known: Known, measured: Measurements) -> Config {
        let usual = self.usual(known);
        self.learning.config(Config {
            hidden: self.hidden.as_ref().map_or_else(|| usual.hidden.clone(), |hidden| hidden.0.clone()),
            epochs: 1,
            batch_size: self.batch_size.unwrap_or(usual.batch_size),
            seed: self.seed,
            init_seed: self.init_seed,
            schedule: self.schedule,
            threads: self.threads,
            data: self.columns.data_options(usual.data),
            measured,
            ..usual
        })
    }

    /// The settings of the preset.
    fn usual(&self, known: Known) -> Config {
        let Known { rows, predicts_values, preset } = known;
        let loss = if predicts_values { Loss::Mse } else { Loss::CrossEntropy };
        let loss = self.learning.loss.unwrap_or(loss);
        match preset {
            Preset::Table => Config::table(loss),
            Preset::Plain => Config { batch_size: Config::default_batch_size(rows), ..Config::plain(loss) },
        }
    }

    /// What is known before any row is read.
    pub fn asked(&self) -> Known {
        Known { preset: self.preset.unwrap_or_default(), ..Known::default() }
    }

    /// Checks whether every option that was given goes with the others.
    ///
    /// # Errors
    /// Of the first that does not.
    pub fn check(&self, known: Known) -> Result<()> {
        self.learning.check(&self.config(known, Measurements::default()))?;
        self.columns.check(self.learning.loss)?;
        self.columns.task(self.learning.loss).map(|_| ())
    }

    /// How a table to train on is read.
    ///
    /// # Errors
    /// [`tinytrain::Error::Config`] if the task and the loss contradict one another.
    pub fn read_options(&self) -> Result<ReadOptions> {
        let options = self.columns.read_options(self.columns.task(self.learning.loss)?);
        Ok(ReadOptions { threads: self.threads, ..options })
    }

    /// The rows to train on, what settings depend on, and what is said of their columns. `read` says from then on what was found out
    /// of the task.
    ///
    /// # Errors
    /// Those of the data.
    pub fn open(
        &self,
        source: &Source,
        read: &mut ReadOptions,
    ) -> Result<(TrainingData, Known, Vec<String>)> {
        let reader = open_training(source, read)?;
        let known = Known { predicts_values: reader.values() > 0, ..self.asked() };
        let options = self.config(known, Measurements::default()).data;
        let mut data = TrainingData::new(reader, None, None, &options)?;
        let known = known.of(&data);
        data.read_rows(0)?;
        let lines = [late_texts(data.late_texts()), column_lines(self, &data)?].concat();
        Ok((data, known, lines))
    }
}

/// What settings depend on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// Training rows, where their number is known.
    pub rows: Option<usize>,
    /// Whether targets are values, not classes.
    pub predicts_values: bool,
    /// Which settings are usual.
    pub preset: Preset,
}

impl Known {
    /// The same with what training data tell.
    pub fn of(self, data: &TrainingData) -> Self {
        Self { rows: data.rows(), predicts_values: data.predicts_values(), ..self }
    }
}

/// Where defaults come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Made for tables.
    Table,
    /// Nothing but what is asked for.
    #[default]
    Plain,
}

/// Which kernels a GPU trains with.
#[derive(Debug, Args)]
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
        let (device, notice) = devices::find(&training.device, opening)?;
        let notices = (training.device == DeviceRequest::Auto).then(|| {
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
        tuning_file::read().unwrap_or_else(|error| {
            notices.push(format!("{error}; built-in tile shapes are taken"));
            Measurements::default()
        })
    }
}
