//! `tinytrain train`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use tinytrain::data::{LabelColumn, Reader};
use tinytrain::trainer::{self, Choice, Config, DeviceRequest, ScheduleKind, choose};

use super::args::{self, Format, Hidden};
use super::model_file::ModelFile;
use super::places;
use super::train_report::TrainReport;

/// Train a network and save it.
///
/// Without options: a 784-300-100-10 network on MNIST, on the best GPU there is, or on the processor.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain train --epochs 3 --device cpu\n  \
                        tinytrain train --data table.csv --label-column class --hidden 32,16 --out model.safetensors\n\n\
                        Compiled kernels are kept for the next run where the driver allows it: in the folder that the \
                        environment variable TINYTRAIN_CACHE names (none if it is empty), else in the user's cache \
                        folder.")]
pub struct Options {
    /// Passes over the training data.
    #[arg(long, value_name = "N", default_value_t = Config::default().epochs, value_parser = args::count,
          allow_hyphen_values = true)]
    pub epochs: usize,
    /// Rows that one training step looks at.
    #[arg(long, value_name = "N", default_value_t = Config::default().batch_size, value_parser = args::count,
          allow_hyphen_values = true)]
    pub batch_size: usize,
    /// Learning rate: the size of a training step.
    #[arg(long, value_name = "X", default_value_t = Config::default().learning_rate,
          value_parser = args::learning_rate, allow_hyphen_values = true)]
    pub lr: f32,
    /// Units of the hidden layers, first to last; `none` for no hidden layer.
    #[arg(long, value_name = "SIZES", default_value_t = Hidden(Config::default().hidden),
          allow_hyphen_values = true)]
    pub hidden: Hidden,
    /// Decides the first weights and the order of the rows: the same seed on the same device (and as many cores) gives
    /// the same model.
    #[arg(long, value_name = "N", default_value_t = Config::default().seed, value_parser = args::seed,
          allow_hyphen_values = true)]
    pub seed: u64,
    /// Training data: a folder with MNIST's files or a train.csv, an IDX file of images, or a CSV table, gzipped or not.
    /// [default: the folder data/mnist of the repository]
    #[arg(long, value_name = "DIR-or-FILE")]
    pub data: Option<PathBuf>,
    /// Column of a CSV table that holds the labels: its name, or its index from 0. [default: the first]
    #[arg(long, value_name = "NAME-or-INDEX", value_parser = args::label_column, allow_hyphen_values = true)]
    pub label_column: Option<LabelColumn>,
    /// Test data: an IDX file of images, or a CSV table. [default: the test files of the folder, if it has any]
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// What trains: auto, cpu, gpu, vulkan, gl, metal, dx12, or the name or index of a device as
    /// `tinytrain devices` lists it.
    #[arg(long, default_value = "auto", value_parser = args::device, allow_hyphen_values = true)]
    pub device: DeviceRequest,
    /// How a GPU's work is divided: one kernel an operation, operations fused, or two kernels a step. [default: the
    /// fastest, as far as the network's shape tells]
    #[arg(long, value_name = "KIND", value_parser = args::schedule())]
    pub schedule: Option<ScheduleKind>,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory: slower, to find out
    /// whether a kernel or a driver goes astray. Without it only what needs checking is checked.
    #[arg(long)]
    pub checked: bool,
    /// Where the model goes, in place of what is there. [default: runs/<time>/model.safetensors]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How results are written: lines for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print no progress and no notices, and as text only one line at the end: accuracy and model.
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell on standard error what is trained and how: seed, parameters, scaling, on a GPU the kernels of a step.
    #[arg(long)]
    pub verbose: bool,
}

impl Options {
    /// What the library needs of them.
    pub fn config(&self) -> Config {
        Config {
            hidden: self.hidden.0.clone(),
            epochs: self.epochs,
            batch_size: self.batch_size,
            learning_rate: self.lr,
            seed: self.seed,
            schedule: self.schedule,
        }
    }
}

/// Trains and saves.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, start: Instant) -> anyhow::Result<()> {
    let config = options.config();
    config.validate()?;
    let model_file = ModelFile::find(options.out.as_deref())?;
    let (train, beside) = places::training(options.data.as_deref())?;
    let test = options.test.as_deref().map(places::test).transpose()?.or(beside);
    places::spare_data(options.out.as_deref(), [Some(&train), test.as_ref()])?;
    let label_column = options.label_column.as_ref();
    // Both readers work while the device opens.
    let reader = Reader::open(&train, &places::read_options(label_column, true))?;
    let test =
        test.map(|test| Reader::open(&test, &places::read_options(label_column, false))).transpose()?;
    let device = choose(&options.device)?.opened(args::opening(options.checked));
    let chosen = (options.device == DeviceRequest::Auto).then(|| match &device {
        Choice::Cpu => "no GPU found, training on the CPU engine".to_owned(),
        Choice::Gpu(adapter) => format!("training on {} ({})", adapter.name, adapter.backend),
    });
    let mut report = TrainReport::new(options, model_file, chosen, start);
    let trained = trainer::train(&config, reader, test, &device, &mut |event| report.take(event));
    report.end(trained)
}
