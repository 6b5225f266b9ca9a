//! Runs under adversarial schedules: all transfers between threads have random delays, readers deliver pieces
//! of any size, the engine takes pieces of any length, and runs are interrupted and resumed anywhere. The
//! results are bitwise equal to an undisturbed run's.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Checkpoint, Config, DataOptions, End, Epoch, Run, Summary, TrainingData};
use crate::data::{BLOCK_ROWS, Fold, ReadOptions, Reader, Scale, Selection, Split, Target};
use crate::engine::{Device, Engine, GpuEngine};
use crate::gpu::{Adapter, Backend, Context, adapters};
use crate::kernels::{Compute, Tuning};
use crate::model::Parameters;
use crate::random::{Purpose, words};
use crate::step::ScheduleKind;
use crate::step::{OptimizerKind, RateSchedule};
use crate::sweep::{self, Halving, Member, Plan, Sources, Sweep, TrialStatus};
use crate::threads::with_delays;

/// Two blocks, and an incomplete third block that is not a whole number of batches.
const ROWS: usize = 2 * BLOCK_ROWS + 301;

fn random(seed: u64, place: usize) -> u32 {
    words(seed, Purpose::Weights, [place as u32, 77])[0]
}

/// Bytes that arrive in pieces of any length, sometimes late, as from a pipe or a slow disk.
struct Slow {
    bytes: Arc<Vec<u8>>,
    position: usize,
    seed: u64,
    piece: usize,
}

impl Slow {
    fn new(bytes: &Arc<Vec<u8>>, seed: u64) -> Self {
        Self { bytes: Arc::clone(bytes), position: 0, seed, piece: 0 }
    }
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let chance = random(self.seed, self.piece);
        self.piece += 1;
        if self.seed > 0 && chance.is_multiple_of(16) {
            thread::sleep(Duration::from_micros(u64::from(chance >> 16) % 600));
        }
        let left = &self.bytes[self.position..];
        let most = if self.seed > 0 { 1 + chance as usize % (1 << 17) } else { usize::MAX };
        let count = left.len().min(buffer.len()).min(most);
        buffer[..count].copy_from_slice(&left[..count]);
        self.position += count;
        Ok(count)
    }
}

/// A data set as a file, with its options.
struct Source {
    name: &'static str,
    /// Images, or a table that includes its labels.
    images: Arc<Vec<u8>>,
    labels: Option<Arc<Vec<u8>>>,
    data: DataOptions,
}

impl Source {
    fn reader(&self, seed: u64, threads: usize) -> Reader {
        let images = Slow::new(&self.images, seed);
        let target = match &self.labels {
            None => Target::Column("0".to_owned()),
            Some(_) => Target::default(),
        };
        let columns = Selection { target, ..Selection::default() };
        let options = ReadOptions { columns, threads: Some(threads), ..ReadOptions::default() };
        match &self.labels {
            None => Reader::from_csv(Path::new("t.csv"), images, &options),
            Some(labels) => {
                let labels = Slow::new(labels, 0);
                Reader::from_idx(Path::new("images"), images, Path::new("labels"), labels, &options)
            }
        }
        .unwrap()
    }

    fn data(&self, seed: u64) -> TrainingData {
        TrainingData::new(self.reader(seed, 1 + seed as usize % 3), None, None, &self.data).unwrap()
    }
}

/// Returns the label of a row.
fn label(row: usize) -> u32 {
    random(5, row) % 3
}

/// Returns a value of a row, correlated with its label: four of five are zero in every second column.
fn value(row: usize, column: usize) -> u32 {
    let chance = random(6, row * 64 + column);
    if !chance.is_multiple_of(5) && column.is_multiple_of(2) {
        return 0;
    }
    (chance >> 8) % 90 + 80 * u32::from((column as u32).is_multiple_of(2 + label(row)))
}

fn images(inputs: usize) -> Source {
    let word = |number: usize| (number as u32).to_be_bytes();
    let pixels = (0..ROWS).flat_map(|row| (0..inputs).map(move |column| value(row, column) as u8));
    let mut images = [&[0, 0, 8, 2][..], &word(ROWS), &word(inputs)].concat();
    images.extend(pixels);
    let mut labels = [&[0, 0, 8, 1][..], &word(ROWS)].concat();
    labels.extend((0..ROWS).map(|row| label(row) as u8));
    let (images, labels) = (Arc::new(images), Some(Arc::new(labels)));
    Source { name: "images", images, labels, data: DataOptions::default() }
}

fn table(name: &'static str, inputs: usize, divisor: u32, data: DataOptions) -> Source {
    let mut text = String::new();
    for row in 0..ROWS {
        text += &label(row).to_string();
        for column in 0..inputs {
            let value = value(row, column);
            text += &if divisor > 1 {
                format!(",{}.{}", value / divisor, value % 7)
            } else {
                format!(",{value}")
            };
        }
        text.push('\n');
    }
    Source { name, images: Arc::new(text.into_bytes()), labels: None, data }
}

/// Returns images of `pixels` pixels, and a table of these, both trained while they are read; and a table of
/// numbers with held-out rows.
fn sources(pixels: usize) -> Vec<Source> {
    let bytes = DataOptions { scale: Scale::Bytes, ..DataOptions::default() };
    let split = Split { validation: 0.2, test: 0.1, ..Split::default() };
    let held_out = DataOptions { scale: Scale::Standard, split, ..DataOptions::default() };
    vec![
        images(pixels),
        table("a table of images", pixels, 1, bytes),
        table("a table of numbers", 5, 3, held_out),
    ]
}

fn config(source: &Source, seed: u64) -> Config {
    let kind = OptimizerKind::ALL[seed as usize % OptimizerKind::ALL.len()];
    Config {
        hidden: if seed.is_multiple_of(7) { vec![64, 9] } else { vec![7] },
        epochs: 3,
        // Not a divisor of a block; with 64 units, enough for two threads.
        batch_size: if seed.is_multiple_of(7) { 600 } else { 250 },
        dropout: vec![if seed.is_multiple_of(2) { 0.0 } else { 0.2 }],
        optimizer: kind.defaults(),
        learning_rate: kind.default_rate(),
        rate_schedule: if seed.is_multiple_of(3) { RateSchedule::Cosine } else { RateSchedule::Constant },
        seed: 1 + seed % 5,
        threads: Some(1 + seed as usize % 2),
        data: source.data,
        ..Config::default()
    }
}

/// Creates an engine on an open device, or `None` for the CPU engine.
type Make<'a> = &'a dyn Fn(&Config, &mut TrainingData) -> Option<Box<dyn Engine>>;

/// Creates a run, which resumes from a checkpoint if there is one.
fn begun(config: &Config, source: &Source, make: Make<'_>, seed: u64, checkpoint: Option<&[u8]>) -> Run {
    let mut data = source.data(seed);
    let engine = make(config, &mut data);
    let mut run = Run::new(config.clone(), data, Device::Cpu, None).unwrap();
    if let Some(bytes) = checkpoint {
        run.resume(Checkpoint::from_bytes(bytes, Path::new("c")).unwrap()).unwrap();
    }
    if let Some(engine) = engine {
        run.attach_engine(engine).unwrap();
    }
    run
}

/// Finishes a run, optionally from a checkpoint, with interruptions before random events; without any for
/// seed 0. Also returns the number of interruptions.
fn ended(
    config: &Config,
    source: &Source,
    make: Make<'_>,
    seed: u64,
    checkpoint: Option<&[u8]>,
) -> (Summary, usize) {
    let (mut run, mut breaks) = (begun(config, source, make, 1000 * seed, checkpoint), 0);
    for event in 0.. {
        if seed > 0
            && breaks < 4
            && random(seed, event).is_multiple_of(6)
            && let Some(checkpoint) = run.checkpoint().unwrap()
        {
            let bytes = checkpoint.to_bytes().unwrap();
            breaks += 1;
            run = begun(config, source, make, 1000 * seed + breaks as u64, Some(&bytes));
        }
        if run.next().unwrap().is_none() {
            break;
        }
    }
    (run.summary().unwrap(), breaks)
}

/// Returns the last checkpoint of a run that is lost after some events.
fn saved(config: &Config, source: &Source, make: Make<'_>, seed: u64) -> Option<Vec<u8>> {
    let (mut run, mut saved) = (begun(config, source, make, 1000 * seed, None), None);
    for _ in 0..2 + random(seed, 1) % 12 {
        run.next().unwrap()?;
        if let Some(checkpoint) = run.checkpoint().unwrap() {
            saved = Some(checkpoint.to_bytes().unwrap());
        }
    }
    saved
}

fn assert_same(whole: &Summary, other: Summary, what: &str) {
    assert_eq!((whole.end, other.end), (End::Done, End::Done));
    assert_eq!((whole.steps, whole.kept), (other.steps, other.kept), "{what}");
    assert!(whole.model == other.model, "{what}: other weights");
    assert_eq!(timeless(whole.epochs.clone()), timeless(other.epochs), "{what}");
}

fn timeless(epochs: Vec<Epoch>) -> Vec<Epoch> {
    epochs.into_iter().map(|epoch| Epoch { duration: Duration::ZERO, ..epoch }).collect()
}

/// Compares runs under different schedules for each source, with new settings every few schedules. Returns
/// the number of interruptions.
fn equal_under_all(schedules: u64, sources: &[Source], make: Make<'_>, what: &str) -> usize {
    const OF_A_RUN: u64 = 8;
    let mut breaks = 0;
    for (variant, seeds) in (0..).zip((1..=schedules).step_by(OF_A_RUN as usize)) {
        for source in sources {
            let config = config(source, variant);
            let (whole, _) = ended(&config, source, make, 0, None);
            for seed in seeds..(seeds + OF_A_RUN).min(schedules + 1) {
                let (other, broken) = with_delays(seed, || ended(&config, source, make, seed, None));
                let what = format!("{what}, {}, schedule {seed}, broken off {broken} times", source.name);
                assert_same(&whole, other, &what);
                breaks += broken;
            }
        }
    }
    breaks
}

/// Returns the number of schedules: a sixth of `count`, or all in long tests, or `TINYTRAIN_SCHEDULES` times
/// `count`.
fn schedules(count: u64) -> u64 {
    let times = std::env::var("TINYTRAIN_SCHEDULES").ok().and_then(|times| times.parse::<u64>().ok());
    match (times, std::env::var_os("TINYTRAIN_TEST_LONG")) {
        (None, None) => count.div_ceil(6),
        (times, _) => count * times.unwrap_or(1),
    }
}

#[test]
fn a_run_on_the_processor_ends_the_same_under_any_schedule() {
    let (sources, count) = (sources(64), schedules(48));
    let breaks = equal_under_all(count, &sources, &|_, _| None, "cpu");
    assert!(breaks as u64 > count * sources.len() as u64, "{breaks}");
}

/// Returns the adapters of the machine; with GL only if there are no others, or in long tests.
fn tested_adapters() -> Vec<Adapter> {
    let mut found = adapters(None);
    let is_other = |adapter: &Adapter| adapter.backend != Backend::Gl;
    if std::env::var_os("TINYTRAIN_TEST_LONG").is_none() && found.iter().any(is_other) {
        found.retain(is_other);
    }
    found
}

/// Creates GPU engines with this schedule.
fn on_adapter(
    compute: &Compute,
    kind: ScheduleKind,
) -> impl Fn(&Config, &mut TrainingData) -> Option<Box<dyn Engine>> {
    move |config, data| {
        if config.needs_all_rows() {
            data.read_all().unwrap();
        }
        let (network, options) = config.plan(data, &Device::Cpu).unwrap();
        let options = crate::engine::EngineOptions { schedule: Some(kind), ..options };
        let first: Parameters = config.initial_parameters(&network);
        let tuning = Tuning::for_device(&compute.context);
        let engine = GpuEngine::with_tuning(compute.clone(), tuning, &first, &network, &options);
        Some(Box::new(engine.unwrap()))
    }
}

/// Returns sources with few pixels: a software driver multiplies slowly, but transfers are the same.
fn on_adapters() -> Vec<Source> {
    sources(16)
}

#[test]
fn a_run_on_an_adapter_ends_the_same_under_any_schedule() {
    let sources = on_adapters();
    for adapter in tested_adapters() {
        let compute = Compute::new(Context::open(&adapter).unwrap());
        for kind in ScheduleKind::ALL {
            let make = on_adapter(&compute, kind);
            equal_under_all(schedules(2), &sources, &make, &format!("{} {kind}", adapter.name));
        }
    }
}

/// Tests `--fallback cpu`: a device is lost at any event, and the CPU resumes from the last checkpoint. The
/// result depends only on this checkpoint.
#[test]
fn a_run_that_falls_back_to_the_processor_ends_the_same_under_any_schedule() {
    let (sources, adapter) = (on_adapters(), adapters(None).remove(0));
    let compute = Compute::new(Context::open(&adapter).unwrap());
    let (mut fallen, count) = (0, schedules(6));
    for seed in 1..=count {
        for source in &sources {
            let config = config(source, seed);
            let make = on_adapter(&compute, ScheduleKind::ALL[seed as usize % ScheduleKind::ALL.len()]);
            let Some(bytes) = with_delays(seed, || saved(&config, source, &make, seed)) else { continue };
            let (whole, _) = ended(&config, source, &|_, _| None, 0, Some(&bytes));
            let (other, _) = with_delays(seed, || ended(&config, source, &|_, _| None, seed, Some(&bytes)));
            assert_same(&whole, other, &format!("{}, schedule {seed}", source.name));
            fallen += 1;
        }
    }
    assert!(fallen > count, "{fallen}");
}

/// Result of a member of a sweep.
type Fared = (usize, TrialStatus, Vec<(Parameters, Vec<Epoch>)>);

/// Trains members of a sweep with folds and halving, with interruptions after random events. Finished members
/// are not trained again after an interruption; members dropped together count once all of them have been
/// reported.
fn swept(source: &Source, device: &Device, seed: u64) -> (Vec<Fared>, usize) {
    // A dispatch of a pack is slow with a software driver, whatever its size.
    let rows = if matches!(device, Device::Cpu) { 50 } else { 400 };
    let config = |number: usize| Config {
        hidden: vec![4 + number % 3],
        epochs: 4,
        batch_size: rows * (2 + number % 2),
        init_seed: Some(number as u64),
        data: DataOptions { scale: Scale::Standard, split: Split::default(), ..DataOptions::default() },
        ..Config::default()
    };
    let (mut fared, mut first_stage, mut breaks): (Vec<Fared>, usize, usize) = (Vec::new(), 0, 0);
    'begin: loop {
        let seed_of_data = if seed == 0 { 0 } else { 1000 * seed + breaks as u64 };
        let mut sources = Sources::new(source.reader(seed_of_data, 1 + seed as usize % 3), None, None);
        let member = |number: usize| {
            let (config, folds) = (config(number), 2);
            let fold = |index| sources.data(&config, Some(Fold { index, count: folds })).unwrap();
            Member { number, data: (0..folds).map(fold).collect(), config, is_tested: true }
        };
        let left = (0..9).filter(|number| fared.iter().all(|(member, ..)| member != number));
        let plan = Plan {
            device: device.clone(),
            threads: Some(1 + seed as usize % 3),
            halving: Some(Halving::new(3, 2)),
            first_stage,
            deadline: None,
        };
        let mut sweep = Sweep::new(left.map(member).collect(), plan);
        let (mut dropped, mut event) = (Vec::new(), 0);
        while let Some(it) = sweep.next().unwrap() {
            event += usize::from(!matches!(it, sweep::Event::Tick));
            match it {
                sweep::Event::FinishedMember(member) => {
                    let run = |run: sweep::TrainedModel| (run.model.parameters.clone(), timeless(run.epochs));
                    let is_dropped = matches!(member.status, TrialStatus::Dropped(_));
                    let list = if is_dropped { &mut dropped } else { &mut fared };
                    list.push((member.member, member.status, member.runs.into_iter().map(run).collect()));
                }
                sweep::Event::Halved { .. } => {
                    fared.append(&mut dropped);
                    first_stage += 1;
                }
                _ => {}
            }
            if seed > 0 && breaks < 3 && random(seed, 50 * breaks + event).is_multiple_of(16) {
                breaks += 1;
                continue 'begin;
            }
        }
        fared.sort_by_key(|(member, ..)| *member);
        return (fared, breaks);
    }
}

/// Tests members of a sweep in teams and individually, with folds and halving, interrupted and resumed:
/// results do not depend on threads and delays.
#[test]
fn a_sweep_ends_the_same_under_any_schedule() {
    let source = &sources(64)[2];
    let (whole, _) = swept(source, &Device::Cpu, 0);
    let (mut breaks, count) = (0, schedules(12));
    for seed in 1..=count {
        let (other, broken) = with_delays(seed, || swept(source, &Device::Cpu, seed));
        assert!(other == whole, "schedule {seed}, broken off {broken} times");
        breaks += broken;
    }
    assert!(breaks as u64 > count, "{breaks}");
}

/// Tests the same in packs, on adapters.
#[test]
fn a_sweep_on_an_adapter_ends_the_same_under_any_schedule() {
    let source = &sources(64)[2];
    for adapter in tested_adapters() {
        let (name, device) = (adapter.name.clone(), Device::Gpu(Box::new(adapter)));
        let (whole, _) = swept(source, &device, 0);
        for seed in 1..=schedules(3) {
            let (other, broken) = with_delays(seed, || swept(source, &device, seed));
            assert!(other == whole, "{name}, schedule {seed}, broken off {broken} times");
        }
    }
}
