//! `tinytrain profile`: where the time of training goes.

use std::path::PathBuf;

use clap::Args;
use tinytrain::data::{ReadOptions, Reader};
use tinytrain::output::Destination;
use tinytrain::profile::profile;

use super::args::{self, Format};
use super::output::{Console, print_line};
use super::places;
use super::profile_text::lines;
use super::training::Training;

/// Show where the time of training goes.
///
/// Trains some steps several times, timed in different ways, and saves no model. Prints what each kernel takes, moves
/// and computes, how close that comes to what the device can do, and what the time between kernels, the host and reading
/// take. docs/PROFILING.md explains the output line by line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tinytrain profile --device vulkan --steps 200\n  \
                        tinytrain profile --schedule plain --trace trace.json")]
pub struct Options {
    /// Training steps that are looked at: the first of a run.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = args::count, allow_hyphen_values = true)]
    steps: usize,
    #[command(flatten)]
    training: Training,
    /// Have the host's clock time the kernels, as on a device without time stamps: each is then waited for.
    #[arg(long)]
    no_timestamps: bool,
    /// Write what ran when there, for Perfetto (https://ui.perfetto.dev) or chrome://tracing.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How results are written: tables for people, or one JSON object.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Profiles and prints.
///
/// # Errors
/// Those of the options, the data, the device and the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let Training { data, label_column, .. } = &options.training;
    let config = options.training.config(1);
    config.validate()?;
    let trace = options.trace.as_deref().map(Destination::check).transpose()?;
    let (source, _) = places::training(data.as_deref())?;
    places::spare_data("--trace", options.trace.as_deref(), [Some(&source), None])?;
    let read = ReadOptions { timed: true, ..places::read_options(label_column.as_ref(), true) };
    let (device, chosen) = options.training.device("profiling", options.no_timestamps)?;
    if let Some(chosen) = chosen {
        Console::new(false, 0).notice(&chosen);
    }
    let made = profile(&config, &device, options.steps, &mut || Reader::open(&source, &read))?;
    if let Some(trace) = &trace {
        trace.write(made.trace().as_bytes())?;
    }
    match options.format {
        Format::Json => print_line(&made.report.to_json())?,
        Format::Text => {
            for line in lines(&made.report) {
                print_line(&line)?;
            }
            if let Some(trace) = trace {
                print_line(&format!("trace: {}", trace.path().display()))?;
            }
        }
    }
    Ok(())
}
