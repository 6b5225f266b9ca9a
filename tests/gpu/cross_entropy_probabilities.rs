use ndarray::{Array2, array};
use tinytrain::kernels::{Tuning, cross_entropy_probabilities};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, everywhere, labels, random, wide};
use crate::softmax::SHAPES;

fn check(lab: &Lab, tuning: &Tuning, z: &Array2<f32>, q: &Array2<f32>) {
    let compute = lab.compute(tuning);
    let (on_z, on_q) = (compute.matrix(z).unwrap(), compute.matrix(q).unwrap());
    let got = cross_entropy_probabilities(&compute, &on_z, &on_q).unwrap().read(&compute).unwrap();
    let want = ops::cross_entropy_probabilities(wide(z).view(), wide(q).view());
    assert_eq!(got.len(), want.len());
    for (row, (got, want)) in got.iter().zip(&want).enumerate() {
        // Each class has the error of a loss, times its probability; and the sum rounds once a class.
        let total: f64 = q.row(row).iter().map(|value| f64::from(*value)).sum();
        let one = bounds::log_sum_exp(wide(z).view())[row];
        let bound = one * total + want.abs() * f64::from(f32::EPSILON) * (z.ncols() as f64 + 4.0);
        assert!((f64::from(*got) - want).abs() <= bound, "row {row}: got {got}, want {want}, bound {bound}");
    }
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (rows, _, classes) in SHAPES {
            let q = random(rows, classes, 2).mapv(f32::abs);
            check(lab, tuning, &(random(rows, classes, 1) * 3.0), &q);
        }
    });
}

#[test]
fn one_certain_class_is_the_ordinary_cross_entropy() {
    everywhere(|lab, tuning| {
        let (z, targets) = (random(65, 10, 3), labels(65, 10));
        let onehot =
            Array2::from_shape_fn((65, 10), |(i, j)| if targets[i] as usize == j { 1.0f32 } else { 0.0 });
        check(lab, tuning, &z, &onehot);
        let compute = lab.compute(tuning);
        let (on_z, on_targets) = (compute.matrix(&z).unwrap(), compute.vector(&targets).unwrap());
        let losses = cross_entropy_probabilities(&compute, &on_z, &compute.matrix(&onehot).unwrap()).unwrap();
        let total: f64 = losses.read(&compute).unwrap().into_iter().map(f64::from).sum();
        let other = tinytrain::kernels::cross_entropy(&compute, &on_z, &on_targets).unwrap().total;
        assert!((total - other).abs() <= bounds::log_sum_exp(wide(&z).view()).sum(), "{total} and {other}");
    });
}

#[test]
fn huge_logits_and_shapes_that_differ() {
    everywhere(|lab, tuning| {
        let z = array![[1e4f32, -1e4, 0.0], [-1e4, -1e4, -1e4]];
        check(lab, tuning, &z, &array![[0.5f32, 0.5, 0.0], [0.2, 0.3, 0.5]]);
        let compute = lab.compute(tuning);
        let (z, q) = (compute.matrix(&z).unwrap(), compute.matrix(&Array2::zeros((2, 4))).unwrap());
        assert!(cross_entropy_probabilities(&compute, &z, &q).is_err());
    });
}
