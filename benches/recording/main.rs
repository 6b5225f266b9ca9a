//! What a step costs the host before it is submitted, for a network so small that nothing else counts.
//!
//! `cargo bench --bench recording`; TINYTRAIN_DEVICE chooses the adapter, as --device does.

use std::sync::Arc;

use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::{Detail, DeviceRequest, Drive, Engine, Recorder, Work, find_device};
use tinytrain::model::{Network, Parameters};
use tinytrain::schedule::ScheduleKind;
use tinytrain::train::Config;

/// Steps of a submission.
const STEPS: usize = 128;

/// Submissions that are measured.
const SUBMISSIONS: usize = 50;

const BATCH: usize = 4;

fn main() {
    let request = std::env::var("TINYTRAIN_DEVICE").unwrap_or_else(|_| "gpu".to_owned());
    let Ok(request): Result<DeviceRequest, _> = request.parse();
    let device = find_device(&request).unwrap_or_else(|error| panic!("{error}"));
    let network = Network::classifier(&[784, 4, 4, 10]).expect("the sizes are those of a network");
    let rows = STEPS * BATCH;
    let data = Dataset {
        inputs: 784,
        features: Features::Bytes((0..rows * 784).map(|place| (place % 251) as u8).collect()),
        targets: Targets::Classes((0..rows as u32).map(|row| row % 10).collect()),
        weights: Vec::new(),
    };
    println!("microseconds a step, the median of {SUBMISSIONS} submissions of {STEPS} steps");
    for kind in ScheduleKind::ALL {
        let config = Config { batch_size: BATCH, schedule: Some(kind), ..Config::default() };
        let parameters = Parameters::he_normal(&network, config.seed);
        let options = config.engine_options(BATCH);
        let mut engine =
            device.engine(&parameters, &network, &options).expect("the device holds the network");
        let train = |engine: &mut dyn Engine, submissions: usize| {
            for _ in 0..submissions {
                engine.train_epoch(&data.view(), 1, 1, 0..rows, &mut |_| Ok(())).expect("the engine trains");
                // A software adapter computes on the processors that record.
                engine.finish(&mut |_| Ok(())).expect("the engine trains");
            }
        };
        // Kernels are compiled, and submissions grow to that size.
        train(&mut *engine, 10);
        let recorder = Arc::new(Recorder::with_sizes(Detail::Submissions, vec![STEPS; SUBMISSIONS]));
        engine.observe(Some(Arc::clone(&recorder)));
        train(&mut *engine, SUBMISSIONS);
        let log = recorder.take();
        let of = |work: Work| {
            let spans = log.host.iter().filter(|(found, _)| *found == work);
            spans.map(|(_, span)| (span.end - span.begin) as f64 / 1e3 / STEPS as f64).collect::<Vec<_>>()
        };
        // The commands before are submitted while the next are recorded.
        let recording =
            median(of(Work::Recording).iter().zip(of(Work::Submitting)).map(|(all, part)| all - part));
        println!("{kind:<13} recording {:5.2}  finishing {:5.2}", recording, median(of(Work::Finishing)));
    }
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
