use ndarray::{Array2, array, s};
use tinytrain::kernels::{Softmax, softmax};
use tinytrain::reference::{bounds, ops};

use crate::elementwise::run;
use crate::lab::{Lab, assert_close, everywhere, random, wide};

/// Capacity, live rows, classes.
pub const SHAPES: [(usize, usize, usize); 8] =
    [(1, 1, 1), (5, 3, 1), (3, 3, 3), (64, 64, 10), (64, 17, 10), (63, 63, 65), (9, 9, 257), (700, 650, 17)];

fn check(lab: &Lab, tuning: &tinytrain::kernels::Tuning, z: &Array2<f32>, rows: usize) -> Array2<f32> {
    let p = run(lab, tuning, &Softmax { rows: z.nrows(), classes: z.ncols(), log: false }, &[z], rows);
    let live = wide(z).slice(s![..rows, ..]).to_owned();
    assert_close("softmax", lab, &p, &ops::softmax(live.view()), &bounds::softmax(live.view()));
    p
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

/// WGSL does not guarantee this, but our adapters do it.
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
