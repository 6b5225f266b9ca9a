//! Steps of every schedule, steps and epochs of the CPU engine, and what it takes until the first batch is trained.
//!
//! `cargo bench --bench training` takes the best adapter; TINYTRAIN_DEVICE chooses another, as --device does, or `cpu` to
//! measure the CPU engine alone.

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use tinytrain::data::{Dataset, ReadOptions, Reader, Transform, locate, rows_at};
use tinytrain::engine::{Device, DeviceRequest, Drive, Engine, find_device};
use tinytrain::model::{Network, Parameters};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

/// A network and its batches.
struct Work {
    name: &'static str,
    network: Network,
    batch: usize,
}

impl Work {
    fn new(name: &'static str, sizes: &[usize], batch: usize) -> Self {
        Self { name, network: Network::classifier(sizes).expect("the sizes are those of a network"), batch }
    }

    fn engine(&self, device: &Device, schedule: Option<ScheduleKind>) -> Box<dyn Engine> {
        let config = Config { batch_size: self.batch, schedule, ..Config::default() };
        let parameters = Parameters::he_normal(&self.network, config.seed);
        device
            .engine(&parameters, &self.network, &config.engine_options(self.batch))
            .expect("the device holds the network")
    }
}

/// Trains on these rows in this order, to the end.
fn train(engine: &mut dyn Engine, data: &Dataset, order: &[u32]) -> Duration {
    let begun = Instant::now();
    engine.train(&data.view(), order, &mut |_| Ok(())).expect("the engine trains");
    engine.finish(&mut |_| Ok(())).expect("the engine trains");
    begun.elapsed()
}

/// Steps of an engine, many in a row as in an epoch.
fn steps(criterion: &mut Criterion, work: &Work, data: &Dataset, name: &str, engine: &mut dyn Engine) {
    let rows = rows_at(1, 1, data.rows(), 0..data.rows());
    let mut group = criterion.benchmark_group(format!("training/{} step", work.name));
    group.throughput(Throughput::Elements(work.batch as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|count| {
            let order: Vec<u32> = rows.iter().copied().cycle().take(work.batch * count as usize).collect();
            train(engine, data, &order)
        });
    });
    group.finish();
}

/// A whole epoch.
fn epoch(criterion: &mut Criterion, work: &Work, data: &Dataset, name: &str, engine: &mut dyn Engine) {
    let order = rows_at(1, 1, data.rows(), 0..data.rows());
    let mut group = criterion.benchmark_group(format!("training/{} epoch", work.name));
    group.throughput(Throughput::Elements(order.len() as u64));
    group.bench_function(name, |bencher| bencher.iter(|| train(engine, data, &order)));
    group.finish();
}

/// The device opened, kernels compiled, one batch trained. Drivers with a cache of their own compile once only.
fn start_up(criterion: &mut Criterion, work: &Work, data: &Dataset, name: &str, request: &DeviceRequest) {
    let order = rows_at(1, 1, data.rows(), 0..work.batch);
    let mut group = criterion.benchmark_group("training/start-up");
    group.bench_function(BenchmarkId::new(name, work.name), |bencher| {
        bencher.iter(|| {
            let device = find_device(request).expect("the device was there before");
            train(&mut *work.engine(&device, None), data, &order)
        });
    });
    group.finish();
}

fn mnist() -> Dataset {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/mnist");
    let sources = locate(&folder).expect("MNIST is in the repository");
    let source = sources.train.expect("MNIST has training files");
    let reader = Reader::open(&source, &ReadOptions::default()).expect("MNIST can be read");
    reader.into_dataset(&Transform::Bytes).expect("MNIST can be read")
}

fn main() {
    let request = std::env::var("TINYTRAIN_DEVICE").unwrap_or_else(|_| "gpu".to_owned());
    let Ok(request): Result<DeviceRequest, _> = request.parse();
    let device = find_device(&request).unwrap_or_else(|error| panic!("{error}"));
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let data = mnist();
    for work in [Work::new("W1", &[784, 300, 100, 10], 64), Work::new("W3", &[784, 32, 10], 16)] {
        let mut cpu = work.engine(&Device::Cpu, None);
        steps(&mut criterion, &work, &data, "CPU engine", &mut *cpu);
        epoch(&mut criterion, &work, &data, "CPU engine", &mut *cpu);
        start_up(&mut criterion, &work, &data, "CPU engine", &DeviceRequest::Cpu);
        if let Device::Gpu(adapter) = &device {
            let name = format!("{} ({})", adapter.name, adapter.backend);
            for kind in ScheduleKind::ALL {
                let mut engine = work.engine(&device, Some(kind));
                steps(&mut criterion, &work, &data, &format!("{kind}, {name}"), &mut *engine);
            }
            start_up(&mut criterion, &work, &data, &name, &request);
        }
    }
    criterion.final_summary();
}
