use ndarray::{Array2, s};
use tinytrain::kernels::{SoftmaxCrossEntropy, StepRecord, Tuning};
use tinytrain::reference::{bounds, ops};

use crate::cross_entropy::metrics;
use crate::lab::{Lab, assert_close, everywhere, indices, labels, random, shuffled, wide};
use crate::softmax::SHAPES;

fn check(lab: &Lab, tuning: &Tuning, z: &Array2<f32>, rows: usize, targets: &[u32]) {
    let (capacity, classes) = z.dim();
    let kernel = SoftmaxCrossEntropy { rows: capacity, classes };
    let groups = tuning.row_groups(kernel.rows);
    // The labels of a data set in another order, and where the batch begins in that.
    let (samples, first) = (capacity + 7, 4);
    let order = shuffled(samples);
    let mut on_labels = vec![u32::MAX; samples];
    for (row, label) in targets.iter().enumerate() {
        on_labels[order[first + row] as usize] = *label;
    }
    let delta = lab.output_matrix(rows, classes);
    let output = lab.output(2 * groups * 2);
    lab.run(
        &kernel,
        tuning,
        &[&lab.matrix(z), &lab.upload(&on_labels), &lab.upload(&order), &delta.buffer, &output.buffer],
        StepRecord { first: first as u32, rows: rows as u32, slot: 1, ..StepRecord::default() },
    );
    let live = wide(z).slice(s![..rows, ..]).to_owned();
    let targets = indices(&targets[..rows]);
    let want = ops::softmax_cross_entropy(live.view(), &targets);
    assert_close(
        "softmax_cross_entropy",
        lab,
        &lab.read(&delta, rows, classes),
        &want,
        &bounds::softmax_cross_entropy(live.view()),
    );
    let (loss, correct) = metrics(&lab.floats(&output), groups, 1);
    let want = ops::cross_entropy(live.view(), &targets).sum();
    assert!((loss - want).abs() <= bounds::log_sum_exp(live.view()).sum(), "loss {loss}, want {want}");
    let right = ops::predictions(live.view()).iter().zip(&targets).filter(|(a, b)| a == b).count();
    assert_eq!(correct, right as f64);
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
fn huge_logits() {
    everywhere(|lab, tuning| {
        let z = ndarray::array![[1e4f32, -1e4, 0.0], [0.0, 500.0, -500.0], [-1e4, -1e4, -1e4]];
        check(lab, tuning, &z, 3, &[1, 2, 0]);
    });
}
