//! One device, criterion, and the table at the end.

use std::cell::Cell;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use tinytrain::engine::{Device, DeviceRequest, find_device};
use tinytrain::kernels::{Compute, Cost, Kernel, StepRecord, measure_ceilings};
use tinytrain::timing::Ceilings;

/// A measured line of the table.
struct Line {
    family: String,
    name: String,
    shape: String,
    time: Duration,
    cost: Cost,
}

pub struct Bench {
    pub compute: Compute,
    criterion: Criterion,
    ceilings: Ceilings,
    lines: Vec<Line>,
}

impl Bench {
    pub fn new() -> Self {
        let request = std::env::var("TINYTRAIN_DEVICE").unwrap_or_else(|_| "gpu".to_owned());
        let Ok(request): Result<DeviceRequest, _> = request.parse();
        let adapter = match find_device(&request) {
            Ok(Device::Gpu(adapter)) => adapter,
            Ok(Device::Cpu) => panic!("the CPU engine has no kernels: set TINYTRAIN_DEVICE to an adapter"),
            Err(error) => panic!("{error}"),
        };
        let compute = Compute::open(&adapter).expect("the adapter opens");
        let ceilings = measure_ceilings(&compute).expect("the ceilings can be measured");
        println!("{} ({}, {}), {:?}", adapter.name, adapter.backend, adapter.driver, compute.tuning);
        println!(
            "ceilings: copy {:.2} GB/s, multiply-add {:.2} GFLOP/s",
            ceilings.bytes_per_second / 1e9,
            ceilings.flop_per_second / 1e9
        );
        let criterion = Criterion::default()
            .sample_size(10)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        Self { compute, criterion, ceilings, lines: Vec::new() }
    }

    /// One kernel, dispatched over and over in one submission.
    pub fn kernel(
        &mut self,
        family: &str,
        name: &str,
        kernel: &dyn Kernel,
        buffers: &[&wgpu::Buffer],
        rows: usize,
    ) {
        let compute = self.compute.clone();
        let cost = kernel.cost(&compute.tuning);
        // Criterion would take the time of compiling it for that of a run, and then measure few of them a submission.
        compute.time_once(kernel, buffers, StepRecord::all(rows), 1).expect("the kernel runs");
        self.measure(family, name, &kernel.description().shape, cost, |count| {
            compute
                .time_once(kernel, buffers, StepRecord::all(rows), u32::try_from(count).unwrap_or(u32::MAX))
                .expect("the kernel runs")
        });
    }

    /// A function of the library as a caller sees it, buffers and all, with everything that it waits for.
    pub fn function(&mut self, family: &str, name: &str, shape: &str, run: impl Fn(&Compute)) {
        let compute = self.compute.clone();
        run(&compute);
        compute.take_cost();
        run(&compute);
        let cost = compute.take_cost();
        self.measure(family, name, shape, cost, |count| {
            let begun = Instant::now();
            for _ in 0..count {
                run(&compute);
            }
            compute.wait().expect("the device works");
            begun.elapsed()
        });
    }

    /// The processor, for comparison.
    pub fn host(&mut self, family: &str, name: &str, shape: &str, cost: Cost, mut run: impl FnMut()) {
        self.measure(family, name, shape, cost, |count| {
            let begun = Instant::now();
            for _ in 0..count {
                run();
            }
            begun.elapsed()
        });
    }

    fn measure(
        &mut self,
        family: &str,
        name: &str,
        shape: &str,
        cost: Cost,
        mut run: impl FnMut(u64) -> Duration,
    ) {
        let shortest = Cell::new(Duration::MAX);
        let mut group = self.criterion.benchmark_group(format!("kernels/{family}"));
        group.throughput(Throughput::Bytes(cost.bytes()));
        group.bench_function(BenchmarkId::new(name, shape), |bencher| {
            bencher.iter_custom(|count| {
                let took = run(count);
                shortest.set(shortest.get().min(took.div_f64(count as f64)));
                took
            });
        });
        group.finish();
        // What the command line leaves out is not measured.
        if shortest.get() < Duration::MAX {
            let (family, name, shape) = (family.to_owned(), name.to_owned(), shape.to_owned());
            self.lines.push(Line { family, name, shape, time: shortest.get(), cost });
        }
    }

    /// Prints the table, in Markdown.
    pub fn finish(self) {
        self.criterion.final_summary();
        println!(
            "\n| family | kernel | shape | us | GB/s | of copy | GFLOP/s | of multiply-add | dispatches |"
        );
        println!("|---|---|---|--:|--:|--:|--:|--:|--:|");
        for Line { family, name, shape, time, cost } in &self.lines {
            let seconds = time.as_secs_f64();
            let (bytes, flop) = (cost.bytes() as f64 / seconds, cost.flop as f64 / seconds);
            println!(
                "| {family} | {name} | {shape} | {:.1} | {:.2} | {:.0} % | {:.2} | {:.1} % | {} |",
                seconds * 1e6,
                bytes / 1e9,
                100.0 * bytes / self.ceilings.bytes_per_second,
                flop / 1e9,
                100.0 * flop / self.ceilings.flop_per_second,
                cost.dispatches
            );
        }
    }
}
