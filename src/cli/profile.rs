//! `tinytrain profile`: measures the time of training.

use std::path::{Path, PathBuf};

use crate::data::{ReadOptions, Reader, data_paths};
use crate::engine::Device;
use crate::error::Error;
use crate::output::Destination;
use crate::profile::{Report, compare, profile};
use crate::report::{PICTURES, profile_pictures};
use crate::schedule::ScheduleKind;
use crate::settings::DatasetInfo;
use crate::train::Config;
use clap::Args;

use super::args::{self, Format};
use super::open_data::open_alone;
use super::output::{Console, print_json, print_lines, write};
use super::output_place::destination;
use super::profile_text::{comparison_lines, lines};
use super::progress::Bar;
use super::training::{Kernels, Training, of_steps, only};

/// Measure where training time goes.
///
/// Trains a few steps several times, timed in different ways, and saves no model. Prints for each kernel its
/// time, memory traffic and arithmetic, compared with the peak of the device, and the time between kernels, on
/// the host and in reading data. docs/PROFILING.md explains the output.
#[derive(Debug, Args)]
#[command(mut_args(only::<Training>(of_steps)))]
#[command(after_help = "Examples:\n  tinytrain profile --device vulkan --steps 200\n  \
                        tinytrain profile --schedule plain --trace trace.json")]
pub struct Options {
    /// Training steps to measure, from the first of a run.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = args::count, allow_hyphen_values = true)]
    steps: usize,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    kernels: Kernels,
    /// Time kernels with the host clock, as on a device without time stamps: the host waits for each kernel.
    #[arg(long)]
    no_timestamps: bool,
    /// Write a trace for Perfetto (https://ui.perfetto.dev) or chrome://tracing.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Draw pictures into this folder, as SVG.
    ///
    /// The roofline, the first 100 ms, and the time of a step by kernel, on a GPU for every schedule.
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Instead, compare schedules and batch sizes.
    ///
    /// Trains the same number of rows with every schedule and with batches of 16, 64, 256 and 1024 rows, and
    /// shows what fused kernels, loading in the background and larger batches gain.
    #[arg(long, conflicts_with_all = ["trace", "plots", "no_timestamps", "schedule"])]
    compare: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Profiles and prints.
///
/// # Errors
/// Errors of the options, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let training = &options.training;
    training.check(DatasetInfo::default())?;
    let trace = options.trace.as_deref().map(|path| destination("--trace", path)).transpose()?;
    let plots = options.plots.as_deref().map(destinations).transpose()?;
    let (source, [validation, test]) = data_paths::training(&training.data)?;
    let files = plots.iter().flatten().map(|file| ("--plots", file));
    for (option, file) in files.clone().chain(trace.as_ref().map(|file| ("--trace", file))) {
        data_paths::spare_data(
            option,
            Some(file.path()),
            [Some(&source), validation.as_ref(), test.as_ref()],
        )?;
    }
    if let Some(trace) = &trace
        && files.clone().any(|(_, file)| file.is_same(trace))
    {
        let found = trace.path().display();
        anyhow::bail!(Error::Config(format!(
            "--trace: {found} is a file that --plots writes; choose another name"
        )));
    }
    let read = ReadOptions { timed: true, ..training.read_options()? };
    let (device, mut notices) = options.kernels.device(training, false, options.no_timestamps, false)?;
    let (data, config, said) = open_alone(training, &source, &read)?;
    // The data are opened again, so that the first steps are profiled.
    drop(data);
    notices.extend(said);
    let mut open = || Reader::open(&source, &read);
    let console = Console::new(false, 0);
    notices.iter().for_each(|notice| console.notice(notice));
    if options.compare {
        return compared(options, &config, &device, &mut open);
    }
    let made = profile(&config, &device, options.steps, &mut open)?;
    let drawn = match &plots {
        Some(_) => {
            let others = other_schedules(&made.report, &config, &device, options.steps, &mut open)?;
            profile_pictures(&made, &others).to_vec()
        }
        None => Vec::new(),
    };
    if let Some(trace) = &trace {
        write(trace, made.trace().as_bytes())?;
    }
    for (file, picture) in plots.iter().flatten().zip(&drawn) {
        write(file, picture.as_bytes())?;
    }
    match options.format {
        Format::Json => print_json(&made.report.to_json())?,
        Format::Text => print_lines(&lines(&made.report))?,
    }
    Ok(())
}

/// Returns the destination of each picture.
fn destinations(folder: &Path) -> crate::error::Result<Vec<Destination>> {
    PICTURES.iter().map(|name| destination("--plots", &folder.join(format!("{name}.svg")))).collect()
}

/// Profiles the other schedules.
fn other_schedules(
    report: &Report,
    config: &Config,
    device: &Device,
    steps: usize,
    open: &mut dyn FnMut() -> crate::error::Result<Reader>,
) -> crate::error::Result<Vec<Report>> {
    // Some schedules are a hundred times slower than the report's schedule.
    const MOST: usize = 20;
    let Some(own) = &report.schedule else { return Ok(Vec::new()) };
    let mut reports = Vec::new();
    for kind in ScheduleKind::ALL {
        if kind.to_string() == *own {
            continue;
        }
        let config = Config { schedule: Some(kind), ..config.clone() };
        let other = profile(&config, device, steps.min(MOST), open)?.report;
        // An unavailable schedule is replaced by another one.
        if other.schedule == Some(kind.to_string()) {
            reports.push(other);
        }
    }
    Ok(reports)
}

fn compared(
    options: &Options,
    config: &Config,
    device: &Device,
    open: &mut dyn FnMut() -> crate::error::Result<Reader>,
) -> anyhow::Result<()> {
    let mut bar = Bar::new(true);
    let rows = options.steps.saturating_mul(config.batch_size);
    let comparison =
        compare(config, device, rows, open, &mut |timed, all| bar.count("ways of training", timed, all))?;
    bar.clear();
    match options.format {
        Format::Json => print_json(&comparison.to_json())?,
        Format::Text => print_lines(&comparison_lines(&comparison))?,
    }
    Ok(())
}
