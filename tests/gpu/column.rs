//! Ends of an epoch; `check.rs` runs the reference in `src/check/whole_steps.rs` everywhere.

use tinytrain::kernels::{Column, FeatureFormat, Samples, StepRecord, StepShape, Tuning};
use tinytrain::model::Network;
use tinytrain::step::{OptimizerKind, UpdateRule};

use crate::lab::{Lab, everywhere, random};

const SIZES: [(&[usize], OptimizerKind); 4] = [
    (&[9, 7], OptimizerKind::Sgd),
    (&[3, 65, 33], OptimizerKind::Adam),
    (&[784, 30, 10], OptimizerKind::Sgd),
    (&[257, 17, 130, 63, 3], OptimizerKind::Momentum),
];

fn shape(sizes: &[usize], kind: OptimizerKind, tuning: &Tuning) -> (UpdateRule, StepShape) {
    let network = Network::classifier(sizes).unwrap();
    let rule = UpdateRule { optimizer: kind.defaults(), ..UpdateRule::sgd(0.1) };
    let shape = StepShape::new(&network, &rule, false, 33, tuning).unwrap();
    (rule, shape)
}

/// Returns parameters, sums and state before and after; sums are NaN before, and state is above 0.
fn run(lab: &Lab, tuning: &Tuning, shape: &StepShape, inputs: usize, batch: StepRecord) -> [Vec<u32>; 2] {
    let layout = shape.layout();
    let parameters = random(1, 4 * layout.weights(), 1).into_iter().map(f32::to_bits);
    let partials = vec![f32::NAN.to_bits(); 4 * (layout.state_distance() - layout.weights())];
    let states = random(1, 4 * layout.states() * layout.weights(), 4).into_iter();
    let states = states.map(|value| (value.abs() + 0.1).to_bits());
    let before: Vec<u32> = parameters.chain(partials).chain(states).collect();
    let samples = 2 * shape.rows();
    let order: Vec<u32> = (0..samples as u32).rev().collect();
    let activations: Vec<f32> = random(1, 8 * shape.activations(), 2).into_iter().collect();
    let result = lab.output(before.len());
    lab.context.queue.write_buffer(&result.buffer, 0, bytemuck::cast_slice(&before));
    lab.run(
        &Column::new(shape, Samples { stored: FeatureFormat::Floats, count: samples }, tuning),
        tuning,
        &[
            &lab.matrix(&random(samples, inputs, 3)),
            &lab.upload(&order),
            &lab.upload(&activations),
            &result.buffer,
        ],
        batch,
    );
    [before, lab.words(&result)]
}

#[test]
fn a_batch_of_no_rows_changes_no_weight_and_no_state() {
    everywhere(|lab, tuning| {
        for (sizes, kind) in SIZES {
            let (rule, shape) = shape(sizes, kind, tuning);
            let batch = StepRecord { next_rows: 33, ..rule.record(1) };
            let [before, after] = run(lab, tuning, &shape, sizes[0], batch);
            let (weights, states) = (4 * shape.layout().weights(), 4 * shape.layout().state_distance());
            assert_eq!(before[..weights], after[..weights], "{sizes:?}");
            assert_eq!(before[states..], after[states..], "{sizes:?}");
            let sums = after[weights..states].iter().map(|bits| f32::from_bits(*bits));
            assert!(sums.into_iter().all(f32::is_finite), "{sizes:?}");
        }
    });
}

#[test]
fn the_last_batch_makes_no_sums_and_a_step_repeats() {
    everywhere(|lab, tuning| {
        for (sizes, kind) in SIZES {
            let (rule, shape) = shape(sizes, kind, tuning);
            let batch = StepRecord { rows: 17, ..rule.record(1) };
            let [before, after] = run(lab, tuning, &shape, sizes[0], batch);
            let (weights, states) = (4 * shape.layout().weights(), 4 * shape.layout().state_distance());
            assert_ne!(before[..weights], after[..weights], "{sizes:?}");
            assert_eq!(before[weights..states], after[weights..states], "{sizes:?}");
            assert_eq!(before[states..] == after[states..], kind == OptimizerKind::Sgd, "{sizes:?}");
            assert_eq!(after, run(lab, tuning, &shape, sizes[0], batch)[1], "{sizes:?}");
        }
    });
}
