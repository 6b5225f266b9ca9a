use ndarray::{Array2, array};
use tinytrain::kernels::log_sum_exp;
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, everywhere, random, wide};
use crate::softmax::SHAPES;

fn check(lab: &Lab, tuning: &tinytrain::kernels::Tuning, z: &Array2<f32>) {
    let compute = lab.compute(tuning);
    let got = log_sum_exp(&compute, &compute.matrix(z).unwrap()).unwrap().read(&compute).unwrap();
    let want = ops::log_sum_exp(wide(z).view());
    assert_eq!(got.len(), want.len());
    for (row, (got, want)) in got.iter().zip(&want).enumerate() {
        let bound = bounds::log_sum_exp(wide(z).view())[row];
        assert!((f64::from(*got) - want).abs() <= bound, "row {row}: got {got}, want {want}, bound {bound}");
    }
}

#[test]
fn odd_shapes_and_huge_logits() {
    everywhere(|lab, tuning| {
        for (rows, _, classes) in SHAPES {
            check(lab, tuning, &(random(rows, classes, 1) * 3.0));
        }
        check(lab, tuning, &array![[1e4f32, -1e4, 0.0], [-1e4, -1e4, -1e4], [f32::MAX, 0.0, f32::MIN]]);
    });
}

#[test]
fn nan_wins() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let z = array![[1.0, f32::NAN], [f32::INFINITY, 0.0], [f32::NEG_INFINITY, 2.0]];
        let sums = log_sum_exp(&compute, &compute.matrix(&z).unwrap()).unwrap().read(&compute).unwrap();
        assert!(sums[0].is_nan() && sums[1].is_nan());
        assert_eq!(sums[2], 2.0);
    });
}
