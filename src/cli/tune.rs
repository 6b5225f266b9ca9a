//! `tinytrain tune`: which tile shapes are the fastest here?

use std::time::Duration;

use crate::data::data_paths;
use crate::engine::{Device, DeviceRequest};
use crate::error::{Error, Result};
use crate::gpu::Adapter;
use crate::output::Destination;
use crate::schedule::{Measurement, Measurements, Workload};
use crate::settings::DatasetInfo;
use crate::tune::{Attempt, TrialOutcome, Tuned, TunedSchedule, TuningTarget, tune};
use clap::Args;
use serde_json::Value;

use super::args::{self, Format};
use super::devices;
use super::open_data::open_alone;
use super::output::Console;
use super::process;
use super::progress::Bar;
use super::training::{Training, of_steps, only};
use crate::report::text::{Table, counted};

/// Find the fastest tile shapes of a GPU's kernels for a network.
///
/// Trains with one candidate after another, for a few seconds in all, and stores the fastest in the user's
/// cache folder, where `tinytrain train` finds it for the same network, batch size and device. Without
/// --schedule it also finds the fastest schedule. Tile shapes change the order of sums, so results differ by
/// rounding.
#[derive(Debug, Args)]
#[command(mut_args(only::<Training>(of_steps)))]
#[command(after_help = "Example:\n  tinytrain tune --hidden 300,100 --device gpu\n\n\
                        The environment variable TINYTRAIN_CACHE names another folder than the user's cache folder; if \
                        it is empty nothing is kept.")]
pub struct Options {
    #[command(flatten)]
    work: Training,
    /// Seconds after which no further candidate is started.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = args::seconds, allow_hyphen_values = true)]
    seconds: u64,
    /// Output format: a table, or one JSON object per line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Measures, prints and keeps.
///
/// # Errors
/// Those of the options, the data, the device and the cache folder.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let work = &options.work;
    work.check(DatasetInfo::default())?;
    let path = process::tuning_file();
    let destination = path.as_deref().map(Destination::check).transpose()?;
    let (source, _) = data_paths::training(&work.data)?;
    let adapter = adapter(&work.device())?;
    let (mut data, config, notices) = open_alone(work, &source, &work.read_options()?)?;
    let batch = config.batch_size.min(data.rows().unwrap_or(usize::MAX));
    data.read_rows(config.batch_size)?;
    let network = config.network_for(&data, batch)?;
    Device::Gpu(Box::new(adapter.clone())).check(&network, config.optimizer.kind.states(), batch)?;
    let mut rows = data.view();
    // What is here is enough: the device need not make room for what is not.
    rows.total = Some(rows.len());
    let console = Console::new(false, 0);
    notices.iter().for_each(|notice| console.notice(notice));
    let subject = TuningTarget { adapter: &adapter, network: &network, config: &config, batch, rows: &rows };
    let mut bar = Bar::new(true);
    let limit = Duration::from_secs(options.seconds);
    let tuned = tune(&subject, limit, &mut |done, of| bar.count("candidates", done, of));
    bar.clear();
    let tuned = tuned?;

    if let Some(destination) = &destination {
        let mut new = Measurements::default();
        let workload = Workload::for_network(&adapter, &network, batch);
        for &TunedSchedule { schedule, tuning, step, .. } in &tuned.schedules {
            new.insert(Measurement { workload: workload.clone(), schedule, tuning, step });
        }
        if let Some(fault) = new.keep(destination)? {
            console.notice(&format!("{fault}; it was replaced"));
        }
    }
    let kept = destination.as_ref().map(|destination| destination.path().display().to_string());
    match options.format {
        Format::Json => json(&console, &tuned, kept)?,
        Format::Text => {
            console.line(&format!(
                "{network} network, batch {batch}, on {} ({})",
                adapter.name, adapter.backend
            ))?;
            text(&console, &tuned, kept)?;
        }
    }
    Ok(())
}

/// The requested adapter: the CPU engine has no tile shapes.
fn adapter(request: &DeviceRequest) -> Result<Adapter> {
    match devices::find_and_report(request, false, false)? {
        Device::Gpu(adapter) => Ok(*adapter),
        Device::Cpu => Err(Error::Config(
            "the CPU engine has no tile shapes to measure; use --device gpu, or a device that `tinytrain devices` lists"
                .to_owned(),
        )),
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// What a step takes with the shapes from which the search of this trial's schedule began.
fn built_in(tuned: &Tuned, trial: &Attempt) -> Option<f64> {
    let start = tuned.trials.iter().find(|other| other.schedule == trial.schedule)?;
    match start.verdict {
        TrialOutcome::Timed(step) => Some(microseconds(step)),
        TrialOutcome::Refused(_) | TrialOutcome::Wrong => None,
    }
}

/// Microseconds of a trial, and how many times those of the built-in shapes; or why there are none.
fn figures(tuned: &Tuned, trial: &Attempt) -> std::result::Result<(f64, f64), String> {
    match &trial.verdict {
        TrialOutcome::Timed(step) => {
            let step = microseconds(*step);
            Ok((step, built_in(tuned, trial).map_or(1.0, |built_in| step / built_in)))
        }
        TrialOutcome::Refused(reason) => Err(format!("refused: {reason}")),
        TrialOutcome::Wrong => Err("wrong results".to_owned()),
    }
}

fn json(console: &Console, tuned: &Tuned, kept: Option<String>) -> Result<()> {
    for trial in &tuned.trials {
        let figures = figures(tuned, trial);
        console.object(&[
            ("event", "candidate".into()),
            ("schedule", trial.schedule.to_string().into()),
            ("varied", trial.varied.map(|varied| varied.to_string()).into()),
            ("tuning", trial.tuning.to_string().into()),
            ("microseconds", figures.as_ref().ok().map(|(step, _)| *step).into()),
            ("ratio", figures.as_ref().ok().map(|(_, ratio)| *ratio).into()),
            ("fault", figures.err().map(Value::from).into()),
        ])?;
    }
    for winner in &tuned.schedules {
        console.object(&[
            ("event", "winner".into()),
            ("schedule", winner.schedule.to_string().into()),
            ("tuning", winner.tuning.to_string().into()),
            ("microseconds", microseconds(winner.step).into()),
            ("ratio", (winner.step.as_secs_f64() / winner.built_in.as_secs_f64()).into()),
        ])?;
    }
    console.object(&[
        ("event", "summary".into()),
        ("schedule", tuned.best().map(|best| best.schedule.to_string()).into()),
        ("left_out", tuned.left_out.into()),
        ("file", kept.into()),
    ])
}

fn text(console: &Console, tuned: &Tuned, kept: Option<String>) -> Result<()> {
    let rows = tuned.trials.iter().map(|trial| {
        let [step, ratio] = match figures(tuned, trial) {
            Ok((step, ratio)) => [format!("{step:.1}"), format!("{ratio:.2}")],
            Err(fault) => ["-".to_owned(), fault],
        };
        vec![trial.schedule.to_string(), trial.name(), step, ratio]
    });
    let table = Table::new(&["schedule", "candidate", ">us per step", "ratio"], rows);
    table.lines().iter().try_for_each(|line| console.line(line))?;
    for TunedSchedule { schedule, tuning, step, built_in } in &tuned.schedules {
        let (step, built_in) = (microseconds(*step), microseconds(*built_in));
        let ratio = step / built_in;
        console.line(&format!(
            "{schedule}: {step:.1} us per step, {ratio:.2} of the built-in {built_in:.1}: {tuning}"
        ))?;
    }
    if let (Some(best), true) = (tuned.best(), tuned.schedules.len() > 1) {
        console.line(&format!("fastest schedule: {}", best.schedule))?;
    }
    if tuned.left_out > 0 {
        let left_out = counted(tuned.left_out as u64, "candidate was", "candidates were");
        console.line(&format!("{left_out} skipped for lack of time; use --seconds to allow more"))?;
    }
    match kept {
        Some(path) => console.line(&format!("saved for `tinytrain train` in {path}")),
        None => {
            console.notice("there is no cache folder, so nothing is saved");
            Ok(())
        }
    }
}
