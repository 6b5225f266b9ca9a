use ndarray::{Array2, array, s};
use tinytrain::kernels::{Softmax, log_softmax, softmax};
use tinytrain::reference::ops;

use crate::elementwise::run;
use crate::lab::{Lab, assert_close, everywhere, random, wide};

/// Capacity, live rows, classes.
pub const SHAPES: [(usize, usize, usize); 8] =
    [(1, 1, 1), (5, 3, 1), (3, 3, 3), (64, 64, 10), (64, 17, 10), (63, 63, 65), (9, 9, 257), (700, 650, 17)];

/// The bound of exp(z - max) / sum as WGSL promises it (accuracy of built-in expressions): subtraction is rounded
/// once, which exp turns into a relative error of |z - max| eps; exp itself is within 3 + 2 |x| units in the last
/// place; a sum of n terms within n units; division within 2.5. Below 2^-126 results may be flushed to 0.
pub fn probability_bound(z: &Array2<f64>) -> Array2<f64> {
    let p = ops::softmax(z.view());
    let classes = z.ncols() as f64;
    Array2::from_shape_fn(z.dim(), |(i, j)| {
        let maximum = z.row(i).fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let spread = (0..z.ncols()).map(|c| (maximum - z[[i, c]]).min(90.0)).fold(0.0, f64::max);
        let units = 3.0 * (maximum - z[[i, j]]).min(110.0) + 3.0 * spread + classes + 10.0;
        p[[i, j]] * units * f64::from(f32::EPSILON) + f64::from(f32::MIN_POSITIVE)
    })
}

fn check(lab: &Lab, tuning: &tinytrain::kernels::Tuning, z: &Array2<f32>, rows: usize) -> Array2<f32> {
    let p = run(lab, tuning, &Softmax { rows: z.nrows(), classes: z.ncols(), log: false }, &[z], rows);
    let live = wide(z).slice(s![..rows, ..]).to_owned();
    assert_close("softmax", lab, &p, &ops::softmax(live.view()), &probability_bound(&live));
    p
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (capacity, rows, classes) in SHAPES {
            check(lab, tuning, &(random(capacity, classes, 1) * 3.0), rows);
        }
    });
}

#[test]
fn huge_logits_neither_overflow_nor_divide_by_zero() {
    everywhere(|lab, tuning| {
        let z = array![
            [1e4f32, -1e4, 0.0, 1e4, 5.0],
            [-1e4, -1e4, -1e4, -1e4, -1e4],
            [f32::MAX, 0.0, 1.0, f32::MIN, f32::MAX],
            [88.0, 89.0, -104.0, 0.0, 1.0]
        ];
        let p = check(lab, tuning, &z, 4);
        assert_eq!(p.row(0), array![0.5, 0.0, 0.0, 0.5, 0.0]);
    });
}

#[test]
fn rows_sum_to_one() {
    everywhere(|lab, tuning| {
        let p = check(lab, tuning, &random(65, 257, 3), 65);
        for row in p.rows() {
            let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
            assert!((sum - 1.0).abs() < 257.0 * f64::from(f32::EPSILON), "{sum}");
        }
    });
}

/// The bound of z - max - log sum: two roundings at the size of the logits, and the error of the logarithm.
#[test]
fn its_logarithm() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for (rows, _, classes) in SHAPES {
            let z = random(rows, classes, 4) * 3.0;
            let got = log_softmax(&compute, &compute.matrix(&z).unwrap()).unwrap().read(&compute).unwrap();
            let z = wide(&z);
            let bound = Array2::from_shape_fn(z.dim(), |(i, _)| {
                crate::cross_entropy::loss_bound(&z.slice(s![i..=i, ..]).to_owned())
            });
            assert_close("log_softmax", lab, &got, &ops::log_softmax(z.view()), &bound);
        }
        let z = compute.matrix(&array![[1e4f32, -1e4, 0.0]]).unwrap();
        let got = log_softmax(&compute, &z).unwrap().read(&compute).unwrap();
        assert_eq!(got, array![[0.0, -2e4, -1e4]]);
    });
}

/// Not promised by WGSL; so do the adapters that we have.
#[test]
fn nan_wins() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let z = compute.matrix(&array![
            [1.0, f32::NAN, 2.0],
            [f32::INFINITY, 0.0, 1.0],
            [0.0, f32::NEG_INFINITY, 0.0]
        ]);
        let p = softmax(&compute, &z.unwrap()).unwrap().read(&compute).unwrap();
        assert!(p.slice(s![..2, ..]).iter().all(|value| value.is_nan()));
        assert_eq!(p.row(2), array![0.5, 0.0, 0.5]);
    });
}

#[test]
fn no_logits_at_all() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        assert!(softmax(&compute, &compute.matrix(&Array2::zeros((3, 0))).unwrap()).is_err());
    });
}
