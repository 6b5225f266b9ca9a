//! Against the reference in `src/check/whole_steps.rs`, which `check.rs` runs everywhere; here
//! several steps of one dispatch, with other numbers of threads, and what it must not do.

use std::sync::Arc;

use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::{Detail, Drive, Engine, EngineOptions, GpuEngine, Instrumented, Recorder, Work};
use tinytrain::kernels::{FeatureFormat, Resident, Samples, StepRecord, StepShape, Tuning, blocks};
use tinytrain::model::{Dense, Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{Activation, Loss, OptimizerKind, UpdateRule};

use crate::lab::{Lab, batch, labels, labs, random, wide};

/// Activations that keep Z and that do not, dropout, targets that are values.
fn network(inputs: usize) -> Network {
    let dense = |units, activation, dropout| Dense { units, activation, dropout };
    let layers = vec![
        dense(17, Activation::Gelu, 0.25),
        dense(6, Activation::Tanh, 0.0),
        dense(3, Activation::Identity, 0.0),
    ];
    Network::new(inputs, layers, Loss::Mse).unwrap()
}

/// Seven steps, the last of them of fewer rows: parameters, and losses. One dispatch takes three steps, a second one three
/// more, a third one the last.
fn steps(
    lab: &Lab,
    tuning: &Tuning,
    network: &Network,
    data: &Dataset,
    rule: &UpdateRule,
) -> (Vec<f32>, Vec<f64>) {
    let options = EngineOptions {
        schedule: Some(ScheduleKind::Resident),
        rule: rule.clone(),
        weighted: true,
        ..EngineOptions::sgd(33, 0.1)
    };
    let parameters = Parameters::he_normal(network, 4);
    let mut engine =
        GpuEngine::with_tuning(lab.compute(tuning), *tuning, &parameters, network, &options).unwrap();
    // Left to itself a run begins with submissions of one step.
    let recorder = Arc::new(Recorder::with_sizes(Detail::Submissions, vec![3, 3, 1]));
    engine.observe(Some(Arc::clone(&recorder)));
    let mut losses = Vec::new();
    let order: Vec<u32> = (0..data.rows() as u32).rev().collect();
    let mut sink = |batch: tinytrain::engine::BatchMetrics| {
        losses.push(batch.loss);
        Ok(())
    };
    engine.train(&data.view(), &order, &mut sink).unwrap();
    engine.finish(&mut sink).unwrap();
    let recordings = recorder.take().host.iter().filter(|(work, _)| *work == Work::Recording).count();
    assert_eq!(recordings, 3);
    let layers = engine.parameters().unwrap().layers;
    (layers.into_iter().flat_map(|layer| [layer.weights, layer.bias].concat()).collect(), losses)
}

#[test]
fn steps_of_one_dispatch_are_those_of_the_reference() {
    for lab in labs() {
        let _turn = lab.turn();
        // So few threads, a number that divides nothing, that every product takes several turns; and all.
        for (inputs, threads) in [(1, 6), (7, 6), (65, 256)] {
            let network = network(inputs);
            let momentum = OptimizerKind::Momentum.defaults();
            let rule = UpdateRule { optimizer: momentum, ..UpdateRule::sgd(0.1) };
            let (rows, columns) = (6 * 33 + 10, network.outputs());
            let (x, y) = (random(rows, inputs, 70), random(rows, columns, 71));
            let weights: Vec<f32> = (0..rows).map(|row| [1.0, 0.5, 2.0][row % 3]).collect();
            let data = Dataset {
                inputs,
                features: Features::Floats(x.iter().copied().collect()),
                targets: Targets::Values { columns, values: y.iter().copied().collect() },
                weights: weights.clone(),
            };
            let reference = ReferenceNetwork::new(&network, &Parameters::he_normal(&network, 4));
            let mut run = ReferenceRun::new(reference, rule.clone());
            let order: Vec<usize> = (0..rows).rev().collect();
            let want: Vec<f64> = (0..)
                .zip(order.chunks(33))
                .map(|(step, taken)| {
                    let pick = |values| wide(values).select(ndarray::Axis(0), taken);
                    let weights: Vec<f64> = taken.iter().map(|row| f64::from(weights[*row])).collect();
                    let values = pick(&y);
                    let targets = ReferenceTargets::values(values.view()).weighted(&weights);
                    run.step(pick(&x).view(), targets, step) * taken.len() as f64
                })
                .collect();
            let network_after = &run.network;
            let after: Vec<f64> = network_after
                .weights
                .iter()
                .zip(&network_after.biases)
                .flat_map(|(w, b)| w.iter().chain(b).copied())
                .collect();
            let largest = after.iter().fold(0.0f64, |most, value| most.max(value.abs()));

            let tuning = Tuning { row: threads, ..Tuning::for_device(&lab.context) };
            let (got, losses) = steps(lab, &tuning, &network, &data, &rule);
            // Some hundred roundings a step, relative to the largest.
            let bound = 7.0 * 100.0 * f64::from(f32::EPSILON);
            assert_eq!(got.len(), after.len());
            for (got, want) in got.iter().zip(&after) {
                assert!((f64::from(*got) - want).abs() <= bound * largest, "{got}, not {want}");
            }
            assert_eq!(losses.len(), want.len());
            for (got, want) in losses.iter().zip(&want) {
                assert!((got - want).abs() <= bound * want, "a loss of {got}, not {want}");
            }
            assert_eq!(steps(lab, &tuning, &network, &data, &rule), (got, losses), "bits differ");
        }
    }
}

/// A profile by stages gives each step a dispatch of its own, and with it a place of its own for its record.
#[test]
fn the_longest_submission_is_profiled_step_by_step() {
    const STEPS: usize = 1024;
    for lab in labs() {
        let _turn = lab.turn();
        let network = Network::classifier(&[2, 2]).unwrap();
        let data = Dataset {
            inputs: 2,
            features: Features::Floats(random(STEPS, 2, 72).iter().copied().collect()),
            targets: Targets::Classes(labels(STEPS, 2)),
            weights: Vec::new(),
        };
        let order: Vec<u32> = (0..STEPS as u32).collect();
        let options = EngineOptions { schedule: Some(ScheduleKind::Resident), ..EngineOptions::sgd(1, 0.1) };
        let tuning = Tuning::for_device(&lab.context);
        let trained = |detail| {
            let parameters = Parameters::he_normal(&network, 4);
            let compute = lab.compute(&tuning);
            let mut engine =
                GpuEngine::with_tuning(compute, tuning, &parameters, &network, &options).unwrap();
            let recorder = Arc::new(Recorder::with_sizes(detail, vec![STEPS]));
            engine.observe(Some(Arc::clone(&recorder)));
            let mut losses = Vec::new();
            let mut sink = |batch: tinytrain::engine::BatchMetrics| {
                losses.push(batch.loss);
                Ok(())
            };
            engine.train(&data.view(), &order, &mut sink).unwrap();
            engine.finish(&mut sink).unwrap();
            (losses, engine.parameters().unwrap(), recorder.take().sizes)
        };
        let together = trained(Detail::Submissions);
        assert_eq!((together.0.len(), &together.2), (STEPS, &vec![STEPS]));
        assert_eq!(trained(Detail::Stages), together);
    }
}

#[test]
fn blocks_of_rows_are_filled_with_0_and_dead_ones_stay_untouched() {
    let lab = &labs()[0];
    let tuning = Tuning { row: 64, ..Tuning::SOFTWARE };
    for (sizes, capacity, rows) in [(&[9, 7][..], 70, 66), (&[3, 65, 33], 65, 1), (&[5, 17, 63, 3], 40, 33)] {
        let network = Network::classifier(sizes).unwrap();
        let shape = StepShape::resident(&network, &UpdateRule::sgd(0.1), false, capacity).unwrap();
        let layout = shape.layout();
        let mut parameters = layout.pack(&Parameters::he_normal(&network, 1));
        parameters.resize(4 * layout.model(), f32::NAN);
        let features = lab.matrix(&random(capacity + 3, sizes[0], 5));
        let (targets, order) =
            (labels(capacity + 3, network.outputs()), Vec::from_iter(0..capacity as u32 + 3));
        let (on_parameters, metrics) = (lab.upload(&parameters), lab.output(4));
        let kernel = Resident::new(&shape, Samples { stored: FeatureFormat::Floats, count: capacity + 3 });
        let record = StepRecord { first: 2, slot: 1, ..batch(rows) };
        let rules = lab.upload(&[StepRecord::default(), StepRecord { slot: 0, ..record }]);
        let buffers =
            [&features, &lab.upload(&targets), &lab.upload(&order), &rules, &on_parameters, &metrics.buffer];
        lab.run(&kernel, &tuning, &buffers, record);
        let bytes = tinytrain::gpu::read_buffer(&lab.context, &on_parameters, layout.bytes()).unwrap();
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
        assert!(got[..4 * layout.weights()].iter().all(|value| value.is_finite()), "{sizes:?}");
        for (layer, size) in (1..).zip(&sizes[1..]) {
            let width = 4 * blocks(*size);
            for place in [shape.place(layer), shape.place(layer) + shape.activations()] {
                let (live, dead) = got[4 * place..][..4 * blocks(capacity) * width].split_at(rows * width);
                let (filled, dead) = dead.split_at((4 * blocks(rows) - rows) * width);
                assert!(live.iter().all(|value| value.is_finite()), "{sizes:?}, layer {layer}");
                assert!(filled.iter().all(|value| *value == 0.0), "{sizes:?}, layer {layer}");
                assert!(dead.iter().all(|value| value.is_nan()), "{sizes:?}, layer {layer}");
                let padding = live.iter().enumerate().filter(|(i, _)| i % width >= *size);
                assert!(padding.into_iter().all(|(_, value)| *value == 0.0), "{sizes:?}, layer {layer}");
            }
        }
        let counted = lab.floats(&metrics);
        assert!(counted[..2].iter().all(|value| value.is_nan()) && counted[2] > 0.0, "{counted:?}");
    }
}
