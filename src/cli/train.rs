//! `tinytrain train`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use tinytrain::data::Reader;
use tinytrain::trainer::{self, Choice, Config, DeviceRequest, Measurements, choose};

use super::args::{self, Format};
use super::model_file::ModelFile;
use super::places;
use super::train_report::TrainReport;
use super::tuning_file;
use super::work::Work;

/// Train a network and save it.
///
/// Without options: a 784-300-100-10 network on MNIST, on the best GPU there is, or on the processor.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain train --epochs 3 --device cpu\n  \
                        tinytrain train --data table.csv --label-column class --hidden 32,16 --out model.safetensors\n\n\
                        Compiled kernels are kept for the next run where the driver allows it, and so is what \
                        `tinytrain tune` measures: in the folder that the environment variable TINYTRAIN_CACHE names \
                        (none if it is empty), else in the user's cache folder.")]
pub struct Options {
    /// Passes over the training data.
    #[arg(long, value_name = "N", default_value_t = Config::default().epochs, value_parser = args::count,
          allow_hyphen_values = true)]
    pub epochs: usize,
    #[command(flatten)]
    pub work: Work,
    /// Test data: an IDX file of images, or a CSV table. [default: the test files of the folder, if it has any]
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// Have a GPU's kernels check every index, count every loop, and begin with cleared memory: slower, to find out
    /// whether a kernel or a driver goes astray. Without it only what needs checking is checked.
    #[arg(long)]
    pub checked: bool,
    /// Take the built-in tile shapes of a GPU's kernels, not those that `tinytrain tune` has measured.
    #[arg(long)]
    pub no_tune: bool,
    /// Where the model goes, in place of what is there. [default: runs/<time>/model.safetensors]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How results are written: lines for people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print no progress and no notices, and as text only one line at the end: accuracy and model.
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tell on standard error what is trained and how: seed, parameters, scaling, on a GPU the kernels of a step, their
    /// tile shapes, and whether those are built in or measured.
    #[arg(long)]
    pub verbose: bool,
}

/// Trains and saves.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options, start: Instant) -> anyhow::Result<()> {
    let work = &options.work;
    work.config(options.epochs, Measurements::default()).validate()?;
    let model_file = ModelFile::find(options.out.as_deref())?;
    let (train, beside) = places::training(work.data.as_deref())?;
    let test = options.test.as_deref().map(places::test).transpose()?.or(beside);
    places::spare_data(options.out.as_deref(), [Some(&train), test.as_ref()])?;
    let label_column = work.label_column.as_ref();
    // Both readers work while the device opens.
    let reader = Reader::open(&train, &places::read_options(label_column, true))?;
    let test =
        test.map(|test| Reader::open(&test, &places::read_options(label_column, false))).transpose()?;
    let device = choose(&work.device)?.opened(args::opening(options.checked));
    let chosen = (work.device == DeviceRequest::Auto).then(|| match &device {
        Choice::Cpu => "no GPU found, training on the CPU engine".to_owned(),
        Choice::Gpu(adapter) => format!("training on {} ({})", adapter.name, adapter.backend),
    });
    let mut notices: Vec<String> = chosen
        .map(|chosen| format!("{chosen}; `tinytrain devices` lists what else --device can name"))
        .into_iter()
        .collect();
    let mut measured = Measurements::default();
    if let (Choice::Gpu(_), false) = (&device, options.no_tune) {
        match tuning_file::read() {
            Ok(found) => measured = found,
            Err(error) => notices.push(format!("{error}; built-in tile shapes are taken")),
        }
    }
    let config = work.config(options.epochs, measured);
    let mut report = TrainReport::new(options, model_file, notices, start);
    let trained = trainer::train(&config, reader, test, &device, &mut |event| report.take(event));
    report.end(trained)
}
