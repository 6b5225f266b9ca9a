//! Tile shapes are measured, and what was measured is taken.

use std::time::Duration;

use tinytrain::engine::{Device, Engine};
use tinytrain::gpu::{Adapter, Context};
use tinytrain::kernels::{MatmulTile, TileParameter, Tuning};
use tinytrain::model::{Network, Parameters};
use tinytrain::schedule::{Measurement, Measurements, ScheduleKind, TileSource, Workload};
use tinytrain::train::Config;
use tinytrain::tune::{TrialOutcome, Tuned, TuningTarget, tune};

use crate::support::{noise, tested_adapters};

const BATCH: usize = 16;

fn network() -> Network {
    Network::classifier(&[37, 18, 5]).unwrap()
}

/// Tunes, and counts what was reported.
fn tuned(adapter: &Adapter, schedule: Option<ScheduleKind>, limit: Duration) -> (Tuned, (usize, usize)) {
    let (network, data) = (network(), noise(100, 37, 5, 3));
    let config = Config { schedule, ..Config::default() };
    let rows = data.view();
    let subject = TuningTarget { adapter, network: &network, config: &config, batch: BATCH, rows: &rows };
    let mut reported = (0, 0);
    let tuned = tune(&subject, limit, &mut |done, of| reported = (done, of)).unwrap();
    (tuned, reported)
}

#[test]
fn without_time_the_built_in_shapes_stay_and_all_others_are_left_out() {
    for adapter in tested_adapters() {
        let built_in = Tuning::for_device(&Context::open(&adapter).unwrap());
        let (tuned, (done, of)) = tuned(&adapter, None, Duration::ZERO);
        let schedules: Vec<ScheduleKind> = tuned.schedules.iter().map(|found| found.schedule).collect();
        assert_eq!(schedules, [ScheduleKind::Fused, ScheduleKind::TwoDispatch, ScheduleKind::Resident]);
        assert!(tuned.schedules.iter().all(|found| found.tuning == built_in && found.step == found.built_in));
        assert_eq!(tuned.trials.len(), 3);
        assert!(tuned.trials.iter().all(|trial| trial.varied.is_none() && trial.tuning == built_in));
        // Some numbers of owners come to the same split.
        assert!(done == of && 0 < tuned.left_out && tuned.left_out <= of, "{done} of {of}");
        let fastest = tuned.schedules.iter().map(|found| found.step).min();
        assert_eq!(tuned.best().map(|best| best.step), fastest);
    }
}

#[test]
fn candidates_are_right_and_the_winner_is_one_of_them() {
    for adapter in tested_adapters() {
        let context = Context::open(&adapter).unwrap();
        let built_in = Tuning::for_device(&context);
        let (tuned, (done, of)) = tuned(&adapter, Some(ScheduleKind::Fused), Duration::from_secs(600));
        assert_eq!((done, tuned.left_out), (of, 0));
        let of_products = tuned.trials.iter().filter(|trial| trial.varied != Some(TileParameter::Wide));
        let products: Vec<MatmulTile> = of_products.map(|trial| trial.tuning.product).collect();
        let all = built_in.variants(TileParameter::Product, &context);
        assert_eq!(products[0], built_in.product);
        assert_eq!(products[1..], all.iter().map(|tuning| tuning.product).collect::<Vec<_>>());
        for trial in &tuned.trials {
            assert!(matches!(trial.verdict, TrialOutcome::Timed(step) if !step.is_zero()), "{trial:?}");
        }
        let [found] = &tuned.schedules[..] else { panic!("{:?}", tuned.schedules) };
        assert!(built_in.leads_to(&found.tuning, &context) && products.contains(&found.tuning.product));
        // What is not clearly faster than the built-in shapes does not take their place.
        assert!(found.tuning == built_in || found.step < found.built_in);
    }
}

/// An engine for batches of that size, with measurements for batches of [`BATCH`] rows.
fn engine(
    adapter: &Adapter,
    steps: &[(ScheduleKind, u64)],
    tuning: Tuning,
    schedule: Option<ScheduleKind>,
    batch: usize,
) -> Box<dyn Engine> {
    let mut measured = Measurements::default();
    for (schedule, step) in steps {
        let (workload, step) =
            (Workload::for_network(adapter, &network(), BATCH), Duration::from_micros(*step));
        measured.insert(Measurement { workload, schedule: *schedule, tuning, step });
    }
    let config = Config { schedule, measured, ..Config::default() };
    let choice = Device::Gpu(Box::new(adapter.clone()));
    choice.engine(&Parameters::he_normal(&network(), 4), &network(), &config.engine_options(batch)).unwrap()
}

#[test]
fn what_was_measured_for_the_same_work_is_taken() {
    use ScheduleKind::{Fused, Plain, TwoDispatch};
    for adapter in tested_adapters() {
        let context = Context::open(&adapter).unwrap();
        let built_in = Tuning::for_device(&context);
        let other = built_in.variants(TileParameter::Product, &context).pop().unwrap();
        let both = [(Fused, 20), (TwoDispatch, 10)];
        let turned = [(Fused, 10), (TwoDispatch, 20)];
        let by_rule = engine(&adapter, &[], other, None, BATCH).description().schedule.unwrap().kind;
        for (steps, asked, kind, source) in [
            (&both[..], None, TwoDispatch, TileSource::Measured),
            (&turned, None, Fused, TileSource::Measured),
            (&both, Some(Fused), Fused, TileSource::Measured),
            (&both, Some(Plain), Plain, TileSource::BuiltIn),
            (&both[1..], Some(Fused), Fused, TileSource::BuiltIn),
            (&[(Plain, 1)], None, by_rule, TileSource::BuiltIn),
            (&[], None, by_rule, TileSource::BuiltIn),
        ] {
            let engine = engine(&adapter, steps, other, asked, BATCH);
            let (chosen, tiles) =
                (engine.description().schedule.unwrap(), engine.description().tiles.unwrap());
            assert_eq!((chosen.kind, tiles.source), (kind, source), "{steps:?}, {asked:?}");
            assert_eq!(tiles.tuning, if source == TileSource::Measured { other } else { built_in });
        }
        // Other batches are other work, and what `tune` never comes to is no measurement.
        let foreign = Tuning { product: MatmulTile::Direct { across: 3, down: 5 }, ..built_in };
        for engine in [
            engine(&adapter, &both, other, None, BATCH + 1),
            engine(&adapter, &both, foreign, None, BATCH),
            engine(&adapter, &both, Tuning { lanes: 2 * built_in.lanes, ..built_in }, None, BATCH),
        ] {
            assert_eq!(engine.description().tiles.unwrap().source, TileSource::BuiltIn);
            assert_eq!(engine.description().schedule.unwrap().kind, by_rule);
        }
    }
}
