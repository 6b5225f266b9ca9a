//! Shared parts of the training tests: engines on every device of the machine, and small learnable data sets.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::Path;
use std::sync::Mutex;

use tinytrain::data::{Dataset, Features, ReadOptions, Reader, Scale, Selection, Target};
use tinytrain::engine::{CpuEngine, Device, Engine, EngineOptions, GpuEngine};
use tinytrain::gpu::{Adapter, Backend, Context, DeviceOptions, adapters};
use tinytrain::kernels::{Compute, Tuning};
use tinytrain::model::{Network, Parameters};
use tinytrain::random::{Purpose, normal, words};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::DataOptions;

/// Creates an engine with these parameters.
pub type Make = Box<dyn Fn(&Parameters, &Network, &EngineOptions) -> Box<dyn Engine>>;

/// Returns whether all is tested, as by `scripts/test --all`.
pub fn tests_all() -> bool {
    std::env::var_os("TINYTRAIN_TEST_LONG").is_some()
}

/// Returns the adapters for tests of engines; GL adapters only if there are no others, or all is tested.
pub fn tested_adapters() -> Vec<Adapter> {
    let mut found = adapters(None);
    assert!(
        !found.is_empty(),
        "no GPU adapter on this machine: install a Vulkan driver (Debian: apt-get install mesa-vulkan-drivers)"
    );
    if !tests_all() && found.iter().any(|adapter| adapter.backend != Backend::Gl) {
        found.retain(|adapter| adapter.backend != Backend::Gl);
    }
    found
}

/// Returns an adapter, opened once for all tests of a process, with its compiled kernels. GL has one context
/// that only one device may use at a time, so each engine opens it separately.
fn opened(adapter: &Adapter, device_options: &DeviceOptions) -> Compute {
    static OPENED: Mutex<Vec<(String, Compute)>> = Mutex::new(Vec::new());
    let open = || Compute::new(Context::open(&adapter.clone().with_options(device_options.clone())).unwrap());
    if adapter.backend == Backend::Gl {
        return open();
    }
    let name = format!("{} {} {device_options:?}", adapter.index, adapter.backend);
    let mut all = OPENED.lock().unwrap();
    if let Some((_, compute)) = all.iter().find(|(other, _)| *other == name) {
        return compute.clone();
    }
    let compute = open();
    all.push((name, compute.clone()));
    compute
}

/// Returns the engines for tests: the CPU engine with one thread and with three, and each adapter under the
/// tuning of real GPUs and its default, with each schedule. If all is tested, under each shipped tuning, and
/// also checked, with offsets, under its default.
pub fn engines() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    for threads in [1, 3] {
        all.push((
            format!("cpu, {threads} threads"),
            Box::new(move |parameters, network, options| {
                Box::new(CpuEngine::with_threads(parameters, network, options, threads))
            }),
        ));
    }
    for adapter in tested_adapters() {
        let context = opened(&adapter, &DeviceOptions::default()).context;
        let own = Tuning::for_device(&context);
        let is_tested = |tuning: &Tuning| [Tuning::GPU, own].contains(tuning) || tests_all();
        let trusted = Tuning::ALL.into_iter().filter(|tuning| is_tested(tuning) && tuning.runs_on(&context));
        let checked =
            tests_all().then(|| DeviceOptions { checked: true, offsets: true, ..DeviceOptions::default() });
        let trusted = trusted.map(|tuning| (tuning, DeviceOptions::default()));
        for (tuning, device_options) in trusted.chain(checked.map(|device_options| (own, device_options))) {
            for schedule in ScheduleKind::ALL {
                let (adapter, device_options) = (adapter.clone(), device_options.clone());
                all.push((
                    format!(
                        "{} ({}), {device_options:?}, {schedule}, {tuning:?}",
                        adapter.name, adapter.backend
                    ),
                    Box::new(move |parameters, network, options| {
                        let options = EngineOptions { schedule: Some(schedule), ..options.clone() };
                        let compute = opened(&adapter, &device_options);
                        Box::new(
                            GpuEngine::with_tuning(compute, tuning, parameters, network, &options).unwrap(),
                        )
                    }),
                ));
            }
        }
    }
    all
}

/// Returns the CPU engine and every adapter, as selected by users.
pub fn devices() -> Vec<Device> {
    let mut all = vec![Device::Cpu];
    all.extend(tested_adapters().into_iter().map(|adapter| Device::Gpu(Box::new(adapter))));
    assert!(all.len() > 1, "no GPU adapter on this machine (Debian: apt-get install mesa-vulkan-drivers)");
    all
}

/// Returns rows of normal numbers, with unlearnable labels.
pub fn noise(rows: usize, inputs: usize, classes: usize, seed: u64) -> Dataset {
    let value = |i: usize| normal(seed, Purpose::Weights, [i as u32, 99]) as f32;
    let label = |row: usize| words(seed, Purpose::Order, [row as u32, 98])[0] % classes as u32;
    Dataset {
        inputs,
        features: Features::Floats((0..rows * inputs).map(value).collect()),
        targets: (0..rows).map(label).collect::<Vec<u32>>().into(),
        weights: Vec::new(),
    }
}

/// Returns the same as bytes, four of five of them 0.
pub fn sparse_bytes(rows: usize, inputs: usize, classes: usize, seed: u64) -> Dataset {
    let value = |i: usize| {
        let [place, value, ..] = words(seed, Purpose::Order, [i as u32, 97]);
        if place.is_multiple_of(5) { value as u8 } else { 0 }
    };
    Dataset {
        features: Features::Bytes((0..rows * inputs).map(value).collect()),
        ..noise(rows, inputs, classes, seed)
    }
}

/// Small pictures: each class has a pattern of bright pixels, with added noise.
pub struct Pictures {
    pub inputs: usize,
    pub pixels: Vec<u8>,
    pub labels: Vec<u8>,
}

impl Pictures {
    /// Creates `rows` pictures of `inputs` pixels in `classes` classes.
    pub fn new(rows: usize, inputs: usize, classes: u32, seed: u64) -> Self {
        let mut pixels = Vec::with_capacity(rows * inputs);
        let mut labels = Vec::with_capacity(rows);
        for row in 0..rows {
            let class = words(seed, Purpose::Order, [row as u32, 1])[0] % classes;
            labels.push(class as u8);
            for pixel in 0..inputs {
                let bright = words(0, Purpose::Order, [class, pixel as u32])[0].is_multiple_of(3);
                let noise = words(seed, Purpose::Weights, [(row * inputs + pixel) as u32, 2])[0] % 100;
                let value = noise + if bright { 120 } else { 0 };
                // The background of dark images.
                pixels.push(if value < 50 { 0 } else { value as u8 });
            }
        }
        Self { inputs, pixels, labels }
    }

    /// Returns CSV, the label first.
    pub fn csv(&self) -> String {
        let rows = self.pixels.chunks(self.inputs).zip(&self.labels);
        rows.map(|(pixels, label)| {
            let cells: Vec<String> = pixels.iter().map(u8::to_string).collect();
            format!("{label},{}\n", cells.join(","))
        })
        .collect()
    }

    /// Returns an IDX pair: images and labels.
    pub fn idx_files(&self) -> (Vec<u8>, Vec<u8>) {
        let word = |n: usize| (n as u32).to_be_bytes();
        let rows = self.labels.len();
        let images = [&[0, 0, 8, 2][..], &word(rows), &word(self.inputs), &self.pixels].concat();
        let labels = [&[0, 0, 8, 1][..], &word(rows), &self.labels].concat();
        (images, labels)
    }

    /// Returns a reader of the IDX pair.
    pub fn idx(&self) -> Reader {
        let (images, labels) = self.idx_files();
        let (images, labels) = (std::io::Cursor::new(images), std::io::Cursor::new(labels));
        Reader::from_idx(Path::new("images"), images, Path::new("labels"), labels, &ReadOptions::default())
            .unwrap()
    }
}

/// Returns options for a table without a header, with labels first.
pub fn label_first() -> ReadOptions {
    let columns = Selection { target: Target::Column("0".to_owned()), ..Selection::default() };
    ReadOptions { columns, ..ReadOptions::default() }
}

/// Returns settings that divide values by 255, so that rows can train while they are read.
pub fn as_bytes() -> DataOptions {
    DataOptions { scale: Scale::Bytes, ..DataOptions::default() }
}

/// Returns a reader of a CSV text whose labels come first.
pub fn csv_reader(text: impl Into<Vec<u8>>) -> Reader {
    let text = std::io::Cursor::new(text.into());
    Reader::from_csv(Path::new("table.csv"), text, &label_first()).unwrap()
}
