use ndarray::{Array2, s};
use tinytrain::kernels::{CrossEntropy, StepRecord, Tuning, cross_entropy, sum_metrics};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, everywhere, indices, labels, random, wide};
use crate::softmax::SHAPES;

/// Returns the sums over the workgroups of one slot: (loss, correct).
pub fn metrics(values: &[f32], groups: usize, slot: usize) -> (f64, f64) {
    let (loss, correct) = sum_metrics(&values[2 * groups * slot..2 * groups * (slot + 1)]);
    (loss, correct as f64)
}

fn check(lab: &Lab, tuning: &Tuning, z: &Array2<f32>, rows: usize, targets: &[u32]) {
    let kernel = CrossEntropy { rows: z.nrows(), classes: z.ncols() };
    let groups = tuning.row_groups(kernel.rows);
    let (slot, before) = (2, 5);
    let predictions = lab.output(before + rows);
    let output = lab.output(2 * groups * (slot + 1));
    lab.run(
        &kernel,
        tuning,
        &[&lab.matrix(z), &lab.upload(targets), &predictions.buffer, &output.buffer],
        StepRecord {
            first: 0,
            rows: rows as u32,
            slot: slot as u32,
            output: before as u32,
            ..StepRecord::default()
        },
    );
    let live = wide(z).slice(s![..rows, ..]).to_owned();
    let targets = indices(&targets[..rows]);
    let want = ops::cross_entropy(live.view(), &targets).sum();
    let predicted = ops::predictions(live.view());
    let right = predicted.iter().zip(&targets).filter(|(a, b)| a == b).count();
    let values = lab.floats(&output);
    assert!(values[..2 * groups * slot].iter().all(|value| value.is_nan()), "wrote into another slot");
    let (loss, correct) = metrics(&values, groups, slot);
    let bound = bounds::log_sum_exp(live.view()).sum();
    assert!((loss - want).abs() <= bound, "{}: loss {loss}, want {want}, bound {bound}", lab.context.backend);
    assert_eq!(correct, right as f64);
    let words = lab.words(&predictions);
    assert_eq!(indices(&words[before..]), predicted);
    assert!(
        words[..before].iter().all(|word| *word == f32::NAN.to_bits()),
        "wrote before its first prediction"
    );
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (capacity, rows, classes) in SHAPES {
            check(lab, tuning, &(random(capacity, classes, 1) * 3.0), rows, &labels(capacity, classes));
        }
    });
}

#[test]
fn a_hopeless_prediction_has_a_finite_loss() {
    everywhere(|lab, tuning| {
        // softmax of the true class underflows to 0; log-sum-exp less the true logit does not.
        let z = ndarray::array![[1e4f32, -1e4, 0.0], [0.0, 500.0, -500.0]];
        check(lab, tuning, &z, 2, &[1, 2]);
    });
}

#[test]
fn the_first_of_equal_logits_is_predicted() {
    everywhere(|lab, tuning| {
        check(lab, tuning, &Array2::zeros((7, 65)), 7, &[0, 1, 0, 64, 0, 3, 0]);
    });
}

#[test]
fn a_nan_logit_gives_a_nan_loss() {
    everywhere(|lab, tuning| {
        for value in [f32::NAN, f32::INFINITY] {
            let mut z = random(3, 10, 1);
            z[[1, 4]] = value;
            let kernel = CrossEntropy { rows: 3, classes: 10 };
            let (predictions, output) = (lab.output(3), lab.output(2 * tuning.row_groups(kernel.rows)));
            lab.run(
                &kernel,
                tuning,
                &[&lab.matrix(&z), &lab.upload(&[0u32; 3]), &predictions.buffer, &output.buffer],
                crate::lab::batch(3),
            );
            let (loss, _) = metrics(&lab.floats(&output), tuning.row_groups(kernel.rows), 0);
            assert!(!loss.is_finite(), "{value} gives {loss}");
            assert!(lab.words(&predictions).iter().all(|class| *class < 10));
        }
    });
}

/// Shader reads are not clamped: a target that is not a class must not cause an access out of bounds.
#[test]
fn a_target_that_is_no_class_has_an_infinite_loss() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let z = compute.matrix(&random(3, 10, 1)).unwrap();
        for target in [10, 11, 12, 1 << 20, u32::MAX] {
            let targets = compute.vector(&[9, target, 0]).unwrap();
            let losses = cross_entropy(&compute, &z, &targets).unwrap();
            assert_eq!(losses.total, f64::INFINITY, "{target}");
            assert!(losses.correct <= 2);
        }
    });
}
