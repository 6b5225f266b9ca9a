//! Profiles: their counts and sums, and training that profiling does not change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use tinytrain::data::{ReadOptions, Reader};
use tinytrain::engine::{Clock, Detail, Device, Recorder};
use tinytrain::gpu::{Adapter, Context, DeviceOptions};
use tinytrain::kernels::{FeatureFormat, Samples, Tuning};
use tinytrain::model::{Network, Parameters};
use tinytrain::profile::{Profile, profile};
use tinytrain::schedule::{DispatchPlan, ScheduleKind, TrainingStep};
use tinytrain::step::UpdateRule;
use tinytrain::train::{Config, RepeatedSteps, TrainingData, train, train_on};
use tinytrain::{Error, Result};

use crate::support::{Pictures, csv_reader, devices};

/// Rows of the data; with batches of 16, 13 steps per epoch, the last of them shorter.
const ROWS: usize = 200;
/// More than an epoch, and less than two.
const STEPS: usize = 20;

fn pictures() -> Pictures {
    Pictures::new(ROWS, 12, 3, 5)
}

fn config(schedule: Option<ScheduleKind>) -> Config {
    Config { hidden: vec![9, 7], batch_size: 16, schedule, epochs: 2, ..Config::default() }
}

/// Returns a timed reader.
fn timed(pictures: &Pictures) -> Result<Reader> {
    let (images, labels) = pictures.idx_files();
    let (images, labels) = (std::io::Cursor::new(images), std::io::Cursor::new(labels));
    let options = ReadOptions { timed: true, ..ReadOptions::default() };
    Reader::from_idx("images".as_ref(), images, "labels".as_ref(), labels, &options)
}

fn gpus() -> impl Iterator<Item = Adapter> {
    devices().into_iter().filter_map(|device| match device {
        Device::Gpu(adapter) => Some(*adapter),
        Device::Cpu => None,
    })
}

fn made(device: &Device, config: &Config) -> Profile {
    let pictures = pictures();
    profile(config, device, STEPS, &mut || timed(&pictures)).unwrap()
}

/// A step that one thread does while another gathers the next batch, if there are two: the phases are the
/// first thread's, without concurrent gathering.
#[test]
fn gathering_apart_is_none_of_the_phases() {
    let pictures = Pictures::new(ROWS, 300, 3, 5);
    let config = Config { hidden: vec![9], ..config(None) };
    let made = profile(&config, &Device::Cpu, STEPS, &mut || timed(&pictures)).unwrap();
    let what = made.report.device.clone();
    assert_sums(&made, &what);
    assert_trace(&made, &what);
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &made.report.kernels {
        *calls.entry(&*row.kernel).or_default() += row.calls;
    }
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert_eq!(what, "CPU engine (2 threads)");
        let step = ["backward", "first_layer", "forward", "gather", "rows", "update"];
        let want = step.map(|name| (name, if name == "gather" { 2 } else { STEPS }));
        assert_eq!(calls.into_iter().collect::<Vec<_>>(), want);
    }
}

/// Counts calls of each (kernel, shape), with kernels timed as one counted separately.
fn calls(made: &Profile) -> BTreeMap<(String, String), usize> {
    let mut calls = BTreeMap::new();
    for row in &made.report.kernels {
        let names: Vec<&str> = row.kernel.split(" + ").collect();
        let shapes: Vec<&str> = row.shape.split(" + ").collect();
        assert_eq!(names.len(), shapes.len(), "{row:?}");
        for (name, shape) in names.into_iter().zip(shapes) {
            *calls.entry((name.to_owned(), shape.to_owned())).or_default() += row.calls;
        }
    }
    calls
}

#[track_caller]
fn assert_sums(made: &Profile, what: &str) {
    let report = &made.report;
    let total: f64 = report.kernels.iter().map(|kernel| kernel.total_us).sum();
    let sums = &report.sums;
    assert!((total - sums.compute_us).abs() < 1e-6 * total && total > 0.0, "{what}: {total}, {sums:?}");
    let five = [sums.compute_us, sums.gaps_us, sums.recording_us, sums.loading_us, sums.waiting_us];
    assert!(five.iter().all(|sum| *sum >= 0.0), "{what}: {sums:?}");
    let (sum, wall) = (five.iter().sum::<f64>(), report.wall_us);
    assert!((sum / wall - 1.0).abs() < 1e-3, "{what}: {sum} of {wall}, {sums:?}");
    for pair in report.kernels.windows(2) {
        assert!(pair[0].total_us >= pair[1].total_us, "{what}: sorted by time");
    }
    for row in &report.kernels {
        let mean = row.total_us / row.calls as f64;
        assert!(
            row.median_us <= row.p95_us && mean > 0.0 && row.flop > 0 && row.bytes > 0,
            "{what}: {row:?}"
        );
        let share = row.roofline_share * row.median_us / 1e6;
        let least = (row.bytes as f64 / report.ceilings.bytes_per_second)
            .max(row.flop as f64 / report.ceilings.flop_per_second);
        assert!(row.median_us == 0.0 || (share / least - 1.0).abs() < 1e-9, "{what}: {row:?}");
    }
}

/// Checks that the trace is JSON, and that operations of the device do not overlap. Returns the names on the
/// device's track.
#[track_caller]
fn assert_trace(made: &Profile, what: &str) -> Vec<String> {
    let trace: Value = serde_json::from_str(&made.trace()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let track = |name: &str| {
        events
            .iter()
            .find(|event| event["name"] == "thread_name" && event["args"]["name"] == name)
            .unwrap_or_else(|| panic!("{what}: no track {name}"))["tid"]
            .clone()
    };
    let on = |name: &str| {
        let tid = track(name);
        events.iter().filter(move |event| event["ph"] == "X" && event["tid"] == tid).collect::<Vec<_>>()
    };
    let moment = |event: &Value, name: &str| event[name].as_f64().unwrap();
    let device = on("device");
    for pair in device.windows(2) {
        // Whole nanoseconds, but decimals in f64 are rounded in the sum.
        let end = moment(pair[0], "ts") + moment(pair[0], "dur");
        assert!(end <= moment(pair[1], "ts") + 1e-4, "{what}: {pair:?}");
    }
    assert!(!on("reader thread").is_empty() && !on("host waiting").is_empty(), "{what}");
    if made.report.engine == "gpu" {
        assert!(!on("host recording").is_empty() && !on("upload").is_empty(), "{what}");
    }
    let end = |event: &Value| moment(event, "ts") + moment(event, "dur");
    let first = events.iter().filter(|event| event["ph"] == "X").map(|event| moment(event, "ts"));
    assert!(first.fold(f64::MAX, f64::min) >= 0.0 && device.iter().all(|event| end(event) > 0.0), "{what}");
    device.iter().map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

/// Every kernel of every schedule is counted as scheduled, on every adapter, with its time stamps and
/// without.
#[test]
fn every_scheduled_kernel_is_there_as_often_as_scheduled() {
    use ScheduleKind::{Fused, Plain, TwoDispatch};
    let network = Network::classifier(&[12, 9, 7, 3]).unwrap();
    for adapter in gpus() {
        let context = Context::open(&adapter).unwrap();
        let tuning = Tuning::for_device(&context);
        for (kind, no_timestamps) in [(Plain, false), (Fused, false), (TwoDispatch, false), (Plain, true)] {
            let device_options = DeviceOptions { no_timestamps, ..DeviceOptions::default() };
            let device = Device::Gpu(Box::new(adapter.clone().with_options(device_options)));
            let made = made(&device, &config(Some(kind)));
            let what = format!("{kind} on {}, no_timestamps: {no_timestamps}", made.report.device);
            assert_sums(&made, &what);
            let stamped = context.has_timestamps() && !no_timestamps;
            let clock = if stamped { Clock::Timestamps } else { Clock::Host };
            assert_eq!(made.report.clock, clock, "{what}");
            let mut want: BTreeMap<(String, String), usize> = BTreeMap::new();
            let rule = UpdateRule::sgd(0.1);
            let step = TrainingStep::new(&network, &rule, 16);
            let samples = Samples { stored: FeatureFormat::Bytes, count: 1 };
            let schedule = DispatchPlan::train(kind, &step, samples, &tuning);
            let fused: BTreeSet<String> = schedule
                .dispatches
                .iter()
                .flat_map(|dispatch| dispatch.kernel.description().fused())
                .collect();
            let shown: BTreeSet<String> =
                made.report.kernels.iter().flat_map(|row| row.fused.clone()).collect();
            assert_eq!(shown, fused, "{what}");
            assert!(
                ["cross-entropy", "relu", "sgd"].iter().all(|word| fused.contains(*word)),
                "{what}: {fused:?}"
            );
            for dispatch in &schedule.dispatches {
                let key = (dispatch.kernel.shader().name.to_owned(), dispatch.kernel.description().shape);
                *want.entry(key).or_default() += STEPS;
            }
            let mut got = calls(&made);
            if kind == TwoDispatch {
                // The prologue of every submission; there are two epochs, so at least two.
                let column = got.iter_mut().find(|((name, _), _)| name == "column").unwrap().1;
                assert!((STEPS + 2..=2 * STEPS).contains(column), "{what}: {column} times column");
                *column = STEPS;
            }
            assert_eq!(got, want, "{what}");
            let calls: usize = made.report.kernels.iter().map(|kernel| kernel.calls).sum();
            let names = assert_trace(&made, &what);
            assert_eq!(names.len() + made.report.refused_stamps, calls, "{what}");
            assert!(names.iter().all(|name| made.report.kernels.iter().any(|row| row.kernel == *name)));
            let cost = made.report.cost_of_profiling.unwrap();
            assert!(cost.off_us > 0.0 && cost.on_us > 0.0, "{what}: {cost:?}");
        }
    }
}

#[test]
fn the_cpu_engine_is_profiled_by_phases() {
    let paired = [&["first_layer", "forward", "rows"][..], &["backward", "update"]];
    let by_columns =
        [&["first_layer", "forward", "forward", "loss"][..], &["backward", "backward", "update"]];
    // One thread, and several, which divide the batch or the layers; phases before the next batch is
    // gathered, and after that.
    for (hidden, batch_size, [before, behind]) in
        [(vec![9], 16, paired), (vec![4000], 64, paired), (vec![900, 300], 64, by_columns)]
    {
        let config = Config { hidden, batch_size, ..config(None) };
        let made = made(&Device::Cpu, &config);
        let what = made.report.device.clone();
        assert_sums(&made, &what);
        assert_eq!((&*made.report.engine, made.report.clock, made.report.steps), ("cpu", Clock::Host, STEPS));
        let mut phases: BTreeMap<String, usize> = BTreeMap::new();
        for ((name, _), calls) in calls(&made) {
            *phases.entry(name).or_default() += calls;
        }
        let mut want: BTreeMap<String, usize> = BTreeMap::new();
        for name in before.iter().chain(&["gather"]).chain(behind) {
            *want.entry((*name).to_owned()).or_default() += STEPS;
        }
        assert_eq!(phases, want, "{what}");
        // A batch is gathered in the step before it, except the first of each epoch.
        let names = assert_trace(&made, &what);
        let regions = |steps: usize| {
            let step = [before, &["gather"], behind].concat();
            [&["gather"][..], &step.repeat(steps - 1), before, behind].concat()
        };
        let epoch = ROWS.div_ceil(batch_size);
        let epochs = (0..STEPS).step_by(epoch).map(|begin| regions(epoch.min(STEPS - begin)));
        assert_eq!(names, epochs.flatten().collect::<Vec<_>>(), "{what}");
        let sum = made.report.sums;
        assert_eq!(sum.recording_us, 0.0, "{what}: {sum:?}");
    }
}

/// Training gives the same bits with any profiling, in every run, as without.
#[test]
fn looking_changes_nothing() {
    let pictures = pictures();
    for device in devices() {
        let config = config(None);
        let mut open = || Ok(csv_reader(pictures.csv()));
        let mut trial = RepeatedSteps::new(&config, &device, &mut open).unwrap();
        let epochs = 2 * ROWS.div_ceil(config.batch_size);
        let mut run = |detail: Option<Detail>, steps| {
            trial.run(steps, &detail.map(|detail| Arc::new(Recorder::new(detail)))).unwrap();
            trial.parameters().unwrap()
        };
        let unseen = run(None, STEPS);
        for detail in [Detail::Submissions, Detail::Stages, Detail::Host] {
            assert_eq!(run(Some(detail), STEPS), unseen, "{detail:?} on {device:?}");
        }
        let two_epochs = run(Some(Detail::Stages), epochs);
        let trained = train(&config, csv_reader(pictures.csv()), None, &device, &mut |_| Ok(())).unwrap();
        assert_eq!(trained.model.parameters, two_epochs, "on {device:?}");
        assert_ne!(unseen, two_epochs);
        // Rows that are completely read are trained in the same order.
        let mut open = || {
            let mut reader = csv_reader(pictures.csv());
            reader.read_to_end()?;
            Ok(reader)
        };
        let mut trial = RepeatedSteps::new(&config, &device, &mut open).unwrap();
        trial.run(STEPS, &None).unwrap();
        assert_eq!((trial.parameters().unwrap(), trial.rows()), (unseen, ROWS + (STEPS - 13) * 16));
    }
}

/// Submissions of the second run have the sizes of the first.
#[test]
fn a_run_can_repeat_the_submissions_of_another() {
    let pictures = pictures();
    for adapter in gpus() {
        let (config, device) = (config(None), Device::Gpu(Box::new(adapter)));
        let mut open = || timed(&pictures);
        let mut trial = RepeatedSteps::new(&config, &device, &mut open).unwrap();
        let mut sizes = |recorder: Recorder| {
            let recorder = Arc::new(recorder);
            trial.run(STEPS, &Some(Arc::clone(&recorder))).unwrap();
            recorder.take().sizes
        };
        let adapted = sizes(Recorder::new(Detail::Submissions));
        assert_eq!(adapted.iter().sum::<usize>(), STEPS);
        let asked = vec![3, 1, 9, 5, 2];
        assert_eq!(sizes(Recorder::with_sizes(Detail::Stages, asked.clone())), asked);
    }
}

/// Profiles a training run from its first epoch to its last, without the tests between them.
#[test]
fn a_whole_training_run() {
    let pictures = pictures();
    for device in devices() {
        let config = config(Some(ScheduleKind::Fused));
        let recorder = Arc::new(Recorder::new(Detail::Stages));
        let test = Some(timed(&pictures).unwrap());
        let reader = timed(&pictures).unwrap();
        let listener = Some(Arc::clone(&recorder));
        let summary = {
            let data = TrainingData::new(reader, None, test, &config.data).unwrap();
            train_on(&config, data, &device, &listener, &mut |_| Ok(()))
        }
        .unwrap();
        let unseen = train(&config, timed(&pictures).unwrap(), None, &device, &mut |_| Ok(())).unwrap();
        assert_eq!(summary.model.parameters, unseen.model.parameters, "the other one says which rows tested");
        assert!(Profile::of_training(&recorder, &unseen).is_err(), "nobody was told of that run");
        let made = Profile::of_training(&recorder, &summary).unwrap();
        let what = &made.report.device;
        assert_sums(&made, what);
        let steps = 2 * ROWS.div_ceil(16);
        assert_eq!((made.report.steps, made.report.cost_of_profiling), (steps, None), "{what}");
        assert!(calls(&made).values().all(|calls| *calls == steps), "{what}: {:?}", made.report.kernels);
        let trained: f64 = summary.epochs.iter().map(|epoch| epoch.duration.as_secs_f64()).sum();
        assert!((made.report.wall_us / 1e6 - trained).abs() < 1e-5 * trained.max(1.0), "{what}");
    }
}

#[test]
fn a_loss_that_is_not_finite_ends_a_profile() {
    let pictures = pictures();
    for device in devices() {
        let config = Config { learning_rate: 1e30, ..config(None) };
        match profile(&config, &device, STEPS, &mut || timed(&pictures)) {
            Err(Error::NonFiniteLoss { step, epoch: 1, batch, .. }) => {
                assert_eq!((step, batch), (batch, step))
            }
            other => panic!("{:?} on {device:?}", other.map(|made| made.report)),
        }
    }
}

/// The initial weights of a profile are the same as in training.
#[test]
fn a_trial_begins_with_the_seeds_weights() {
    let pictures = pictures();
    let config = config(None);
    let mut open = || timed(&pictures);
    let mut trial = RepeatedSteps::new(&config, &Device::Cpu, &mut open).unwrap();
    let network = Network::classifier(&[12, 9, 7, 3]).unwrap();
    assert_eq!(trial.parameters().unwrap(), Parameters::he_normal(&network, config.seed));
}
