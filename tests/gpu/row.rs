//! Special cases; `check.rs` runs the reference in `src/check/whole_steps.rs` everywhere.

use tinytrain::kernels::{Row, StepRecord, StepShape, Tuning, blocks};
use tinytrain::model::{Dense, Network};
use tinytrain::step::{Activation, Loss, UpdateRule};

use crate::cross_entropy::metrics;
use crate::lab::{Lab, batch, everywhere, labels, random};

/// Returns activations with their deltas, and the metrics of slot 1, for samples of these classes; parameters
/// and sums are arbitrary numbers.
fn run(lab: &Lab, tuning: &Tuning, shape: &StepShape, classes: &[u32], rows: usize) -> [Vec<f32>; 2] {
    let values: Vec<f32> = random(1, 4 * shape.layout().state_distance(), 1).into_iter().collect();
    run_with(lab, tuning, shape, &values, classes, rows)
}

/// Returns the same with these parameters and sums.
fn run_with(
    lab: &Lab,
    tuning: &Tuning,
    shape: &StepShape,
    values: &[f32],
    classes: &[u32],
    rows: usize,
) -> [Vec<f32>; 2] {
    let (samples, capacity) = (classes.len(), shape.rows());
    let order: Vec<u32> = (0..samples as u32).rev().collect();
    let activations = lab.output(8 * shape.activations());
    let output = lab.output(4 * tuning.batch_groups(capacity));
    lab.run(
        &Row::new(shape, samples),
        tuning,
        &[
            &lab.upload(values),
            &lab.upload(classes),
            &lab.upload(&order),
            &activations.buffer,
            &output.buffer,
        ],
        StepRecord { first: 2, slot: 1, ..batch(rows) },
    );
    [lab.floats(&activations), lab.floats(&output)]
}

/// Returns a network of these sizes whose hidden layers are ReLU, or a mix of activations that keep Z and
/// that do not, with dropout.
fn network(sizes: &[usize], mixed: bool) -> Network {
    let kinds = [Activation::Gelu, Activation::Tanh, Activation::Mish];
    let mut layers: Vec<Dense> = sizes[1..]
        .iter()
        .zip(kinds.into_iter().cycle())
        .map(|(units, activation)| match mixed {
            true => Dense { units: *units, activation, dropout: 0.25 },
            false => Dense::new(*units, Activation::Relu),
        })
        .collect();
    layers.push(Dense::new(sizes[sizes.len() - 1], Activation::Identity));
    layers.remove(sizes.len() - 2);
    Network::new(sizes[0], layers, Loss::CrossEntropy).unwrap()
}

/// The last one needs the code for any network.
const SIZES: [&[usize]; 4] = [&[9, 7], &[3, 65, 33], &[5, 17, 63, 3], &[5, 6, 70, 9, 8, 3]];

#[test]
fn dead_rows_stay_untouched_and_live_ones_repeat() {
    everywhere(|lab, tuning| {
        for (sizes, capacity, rows, mixed) in [
            (SIZES[0], 70, 66, false),
            (SIZES[1], 65, 1, false),
            (SIZES[2], 40, 33, false),
            (SIZES[2], 40, 33, true),
            (SIZES[3], 40, 33, false),
        ] {
            let network = network(sizes, mixed);
            let shape = StepShape::new(&network, &UpdateRule::sgd(0.1), false, capacity, tuning).unwrap();
            let classes = labels(capacity + 3, network.outputs());
            let [got, counts] = run(lab, tuning, &shape, &classes, rows);
            let [again, _] = run(lab, tuning, &shape, &classes, rows);
            for (layer, size) in (1..).zip(&sizes[1..]) {
                let width = 4 * blocks(*size);
                for place in [shape.place(layer), shape.place(layer) + shape.activations()] {
                    let all = &got[4 * place..][..capacity * width];
                    let (live, dead) = all.split_at(rows * width);
                    assert!(live.iter().all(|value| value.is_finite()), "{sizes:?}, layer {layer}");
                    assert!(dead.iter().all(|value| value.is_nan()), "{sizes:?}, layer {layer}");
                    assert_eq!(live, &again[4 * place..][..rows * width]);
                    let padding = live.iter().enumerate().filter(|(i, _)| i % width >= *size);
                    assert!(padding.into_iter().all(|(_, value)| *value == 0.0), "{sizes:?}, layer {layer}");
                }
            }
            let (loss, correct) = metrics(&counts, tuning.batch_groups(capacity), 1);
            assert!(loss > 0.0 && loss.is_finite() && correct <= rows as f64, "{loss} {correct}");
        }
    });
}

#[test]
fn a_target_that_is_no_class_has_an_infinite_loss() {
    everywhere(|lab, tuning| {
        for sizes in [SIZES[0], &[5, 8]] {
            let network = network(sizes, false);
            let shape = StepShape::new(&network, &UpdateRule::sgd(0.1), false, 3, tuning).unwrap();
            let outputs = network.outputs() as u32;
            for (class, finite) in [(outputs - 1, true), (outputs, false), (u32::MAX, false)] {
                let [_, counts] = run(lab, tuning, &shape, &[class; 6], 3);
                let (loss, _) = metrics(&counts, tuning.batch_groups(3), 1);
                assert_eq!(loss.is_finite(), finite, "{sizes:?}, class {class}: {loss}");
            }
        }
    });
}

/// The padding after three logits is not the largest of them; 602 are more blocks than the threads of some
/// workgroups.
#[test]
fn logits_far_below_zero_have_the_loss_of_others() {
    everywhere(|lab, tuning| {
        for outputs in [3, 602] {
            let network = network(&[5, outputs], false);
            let shape = StepShape::new(&network, &UpdateRule::sgd(0.1), false, 3, tuning).unwrap();
            let values = vec![-200.0; 4 * shape.layout().state_distance()];
            let [_, counts] = run_with(lab, tuning, &shape, &values, &[1; 6], 3);
            let (loss, _) = metrics(&counts, tuning.batch_groups(3), 1);
            // The loss of each row is a difference of logits of some hundreds.
            let (want, bound) = (3.0 * (outputs as f64).ln(), 3.0 * 1000.0 * f64::from(f32::EPSILON));
            assert!((loss - want).abs() <= bound, "{loss}, not {want}");
        }
    });
}

/// Of equal logits the first is predicted, of logits with NaN the first NaN.
#[test]
fn the_first_of_the_largest_is_predicted() {
    everywhere(|lab, tuning| {
        let network = network(&[5, 3], false);
        let shape = StepShape::new(&network, &UpdateRule::sgd(0.1), false, 3, tuning).unwrap();
        let words = 4 * shape.layout().state_distance();
        for (of_unit, class) in
            [([-2.0; 4], 0), ([1.0, f32::NAN, f32::NAN, 1.0], 1), ([-1.0, 3.0, 3.0, 5.0], 1)]
        {
            // A row of the weights and of the sums is one block.
            let values: Vec<f32> = (0..words).map(|word| of_unit[word % 4]).collect();
            for target in 0..3 {
                let [_, counts] = run_with(lab, tuning, &shape, &values, &[target; 6], 3);
                let (_, correct) = metrics(&counts, tuning.batch_groups(3), 1);
                assert_eq!(correct, if target == class { 3.0 } else { 0.0 }, "{of_unit:?}, target {target}");
            }
        }
    });
}

/// Some networks have enough parts that threads share them.
#[test]
fn every_part_of_the_first_layer_is_added_once_and_the_bias_too() {
    everywhere(|lab, tuning| {
        for inputs in [5, 700, 1100] {
            let shape =
                StepShape::new(&network(&[inputs, 3], false), &UpdateRule::sgd(0.1), false, 3, tuning)
                    .unwrap();
            // The sum of quarters is exact in any order; each part has other numbers.
            let mut values = vec![0.25; 4 * shape.layout().state_distance()];
            let (parts, part) = (shape.parts(), 4 * shape.rows());
            let sums = values[4 * shape.layout().partials()..].chunks_mut(part).take(parts);
            (1..).zip(sums).for_each(|(number, sums)| sums.fill(0.25 * number as f32));
            let [got, _] = run_with(lab, tuning, &shape, &values, &[1; 6], 3);
            let want = 0.25 * (1 + parts * (parts + 1) / 2) as f32;
            for row in got[4 * shape.place(1)..].chunks(4).take(3) {
                assert_eq!(row, [want, want, want, 0.0], "{inputs} inputs");
            }
        }
    });
}
