//! Gains of fusion, overlap and batch size: the same rows trained with different variants.

use std::time::Duration;

use serde::Serialize;

use crate::data::Reader;
use crate::engine::Device;
use crate::error::{Error, Result};
use crate::step::ScheduleKind;
use crate::train::{Config, RepeatedSteps};

/// Batch sizes to compare.
pub const BATCH_SIZES: [usize; 4] = [16, 64, 256, 1024];

/// Number of times that each variant is timed; the shortest time counts.
const RUNS: usize = 2;

/// The result of training the same rows with one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// Division of a step into dispatches; `None` on the CPU engine.
    pub schedule: Option<String>,
    /// Rows of a batch.
    pub batch_size: usize,
    /// Whether rows were read during training; otherwise all were read before.
    pub overlapped: bool,
    /// Trained rows: a whole number of batches, of which the last of an epoch may be shorter.
    pub rows: usize,
    /// Microseconds per step, including reading.
    pub step_us: f64,
    /// Rows per second.
    pub rows_per_second: f64,
}

/// A variant, and its gain over the previous one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Change from the previous variant.
    pub change: &'static str,
    /// The timed variant.
    pub way: Variant,
    /// Rows per second relative to the previous variant; 1 for the first.
    pub factor: f64,
    /// Rows per second relative to the first variant.
    pub overall: f64,
}

/// A comparison on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Readable name of the device.
    pub device: String,
    /// Every schedule with every batch size; one schedule on the CPU engine. Schedules that are unavailable
    /// for the network are missing.
    pub ways: Vec<Variant>,
    /// The classic experiment: unfused and read before training, then with overlapped reading, then with
    /// fused kernels, then with batches of 64 rows.
    pub classic: Vec<Gain>,
}

impl Comparison {
    /// Returns the comparison as one JSON object, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("figures and texts are JSON")
    }
}

/// Trains about `rows` rows with each variant. `open` opens the training data; it is called for each run.
/// `tell` receives the progress: the number of timed variants, and the number of all.
///
/// # Errors
/// Errors of the settings, the data and the device.
pub fn compare(
    config: &Config,
    device: &Device,
    rows: usize,
    open: &mut dyn FnMut() -> Result<Reader>,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Comparison> {
    let kinds: &[Option<ScheduleKind>] = if device.is_cpu() { &[None] } else { &ScheduleKind::ALL.map(Some) };
    // One more for the variant that reads before training.
    let (mut timed, all) = (0, kinds.len() * BATCH_SIZES.len() + 1);
    let mut name = String::new();
    let mut time = |schedule: Option<ScheduleKind>, batch_size: usize, overlapped: bool| {
        tell(timed, all);
        timed += 1;
        let config = Config { schedule, batch_size, ..config.clone() };
        let (way, device) = measure_variant(&config, device, rows, overlapped, open)?;
        if overlapped {
            // Use the device name of the largest batches, the last, which the CPU engine divides between all
            // its threads.
            name = device;
        }
        Ok::<_, Error>(way)
    };
    let mut ways = Vec::new();
    for kind in kinds {
        for batch_size in BATCH_SIZES {
            let way = time(*kind, batch_size, true)?;
            if way.schedule == kind.map(|kind| kind.to_string()) {
                ways.push(way);
            }
        }
    }
    let first = time(kinds[0], BATCH_SIZES[0], false)?;
    tell(all, all);
    let fused = kinds.get(1).copied().flatten().map(|kind| kind.to_string());
    Ok(Comparison { device: name, classic: classic_variants(first, &ways, fused.as_deref()), ways })
}

/// Returns the variants of the classic experiment in order, with the change of each.
fn classic_variants(first: Variant, ways: &[Variant], fused: Option<&str>) -> Vec<Gain> {
    let find = |schedule: Option<&str>, batch_size: usize| {
        ways.iter().find(|way| way.schedule.as_deref() == schedule && way.batch_size == batch_size).cloned()
    };
    let [small, large, ..] = BATCH_SIZES;
    let plain = first.schedule.clone();
    let mut steps = vec![
        ("everything unfused, all rows read first", Some(first)),
        ("loading overlapped", find(plain.as_deref(), small)),
    ];
    if fused.is_some() {
        steps.push(("forward+ReLU and backward fused", find(fused, small)));
    }
    steps.push(("batches of 64 rows", find(fused, large)));
    let mut gains: Vec<Gain> = Vec::new();
    for (change, way) in steps {
        let Some(way) = way else { continue };
        let over =
            |gain: Option<&Gain>| gain.map_or(1.0, |gain| way.rows_per_second / gain.way.rows_per_second);
        let (factor, overall) = (over(gains.last()), over(gains.first()));
        gains.push(Gain { change, way, factor, overall });
    }
    gains
}

/// Times one variant, and returns the device's name.
fn measure_variant(
    config: &Config,
    device: &Device,
    rows: usize,
    overlapped: bool,
    open: &mut dyn FnMut() -> Result<Reader>,
) -> Result<(Variant, String)> {
    let batch_size = config.batch_size;
    let steps = rows.div_ceil(batch_size);
    let needed = steps.saturating_mul(batch_size);
    let mut open = || {
        let mut reader = open()?;
        while !overlapped && reader.rows() < needed && reader.next_block()? {}
        Ok(reader)
    };
    let mut trial = RepeatedSteps::new(config, device, &mut open)?;
    // Compiles kernels, which some drivers compile further when they first run.
    trial.run(steps.min(2), &None)?;
    let mut shortest = Duration::MAX;
    for _ in 0..RUNS {
        shortest = shortest.min(trial.run(steps, &None)?);
    }
    let rows = trial.rows();
    let seconds = shortest.as_secs_f64().max(1e-9);
    let way = Variant {
        schedule: trial.description().origin().schedule,
        batch_size,
        overlapped,
        rows,
        step_us: 1e6 * seconds / steps as f64,
        rows_per_second: rows as f64 / seconds,
    };
    Ok((way, trial.description().device))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure_variant(
        schedule: Option<&str>,
        batch_size: usize,
        overlapped: bool,
        rows_per_second: f64,
    ) -> Variant {
        let schedule = schedule.map(str::to_owned);
        Variant { schedule, batch_size, overlapped, rows: 1, step_us: 1.0, rows_per_second }
    }

    fn factors(gains: &[Gain]) -> Vec<(f64, f64)> {
        gains.iter().map(|gain| (gain.factor, gain.overall)).collect()
    }

    #[test]
    fn each_step_is_compared_with_the_one_before_and_with_the_first() {
        let ways = [
            measure_variant(Some("plain"), 16, true, 20.0),
            measure_variant(Some("plain"), 64, true, 1.0),
            measure_variant(Some("fused"), 16, true, 50.0),
            measure_variant(Some("fused"), 64, true, 200.0),
        ];
        let gains = classic_variants(measure_variant(Some("plain"), 16, false, 10.0), &ways, Some("fused"));
        assert_eq!(factors(&gains), [(1.0, 1.0), (2.0, 2.0), (2.5, 5.0), (4.0, 20.0)]);
    }

    #[test]
    fn the_processor_has_nothing_to_fuse() {
        let ways = [measure_variant(None, 16, true, 20.0), measure_variant(None, 64, true, 30.0)];
        let gains = classic_variants(measure_variant(None, 16, false, 10.0), &ways, None);
        assert_eq!(factors(&gains), [(1.0, 1.0), (2.0, 2.0), (1.5, 3.0)]);
    }
}
