//! A device that is lost during a run: an error without panic, and the CPU engine continues from the last
//! checkpoint.

use tinytrain::Error;
use tinytrain::engine::{CpuEngine, Drive, Engine, EngineOptions, GpuEngine};
use tinytrain::engine::{Inference, block};
use tinytrain::gpu::{Context, adapters};
use tinytrain::kernels::{Compute, Tuning};
use tinytrain::model::{Network, Parameters};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{OptimizerKind, UpdateRule};

use crate::support::noise;

const BATCH: usize = 16;

#[test]
fn a_lost_device_is_an_error_and_the_cpu_continues() {
    let network = Network::classifier(&[13, 18, 5]).unwrap();
    let (parameters, data) = (Parameters::he_normal(&network, 4), noise(200, 13, 5, 11));
    let order: Vec<u32> = (0..160).map(|i| i * 77 % 200).collect();
    let found = adapters(None);
    assert!(!found.is_empty(), "no GPU adapter on this machine");
    for adapter in found {
        for schedule in ScheduleKind::ALL {
            let rule = UpdateRule { optimizer: OptimizerKind::Momentum.defaults(), ..UpdateRule::sgd(0.1) };
            let options = EngineOptions { rule, schedule: Some(schedule), ..EngineOptions::sgd(BATCH, 0.1) };
            let context = Context::open(&adapter).unwrap();
            let (device, tuning) = (context.device.clone(), Tuning::for_device(&context));
            let mut engine =
                GpuEngine::with_tuning(Compute::new(context), tuning, &parameters, &network, &options)
                    .unwrap();
            engine.train(&data.view(), &order[..80], &mut |_| Ok(())).unwrap();
            engine.finish(&mut |_| Ok(())).unwrap();
            let saved = block(engine.snapshot()).unwrap();
            device.destroy();
            let what = format!("{} ({}), {schedule}", adapter.name, adapter.backend);
            let trained = engine
                .train(&data.view(), &order[80..], &mut |_| Ok(()))
                .and_then(|()| engine.finish(&mut |_| Ok(())));
            let errors = [
                trained.err(),
                block(engine.parameters()).err(),
                block(engine.snapshot()).err(),
                block(engine.outputs(&data.view())).err(),
                block(engine.evaluate(&data.view())).err(),
                engine.restore(&saved.0, &saved.1).and_then(|()| block(engine.parameters())).err(),
            ];
            for (place, error) in errors.iter().enumerate() {
                assert!(
                    matches!(error, Some(Error::Gpu(_) | Error::Device(_))),
                    "{what}, {place}: {error:?}"
                );
            }
            let mut other = CpuEngine::with_threads(&parameters, &network, &options, 1);
            other.restore(&saved.0, &saved.1).unwrap();
            other.train(&data.view(), &order[80..], &mut |_| Ok(())).unwrap();
            other.finish(&mut |_| Ok(())).unwrap();
            assert_eq!(block(other.snapshot()).unwrap().1.step, 10, "{what}");
            assert!(block(other.parameters()).unwrap().is_finite(), "{what}");
        }
    }
}
