use ndarray::{array, s};
use tinytrain::kernels::Relu;
use tinytrain::reference::ops;

use crate::elementwise::{SHAPES, run};
use crate::lab::{everywhere, random, wide};

#[test]
fn equals_the_reference_exactly() {
    everywhere(|lab, tuning| {
        for (capacity, rows, columns) in SHAPES {
            let z = random(capacity, columns, 1);
            let y = run(lab, tuning, &Relu { rows: capacity, columns }, &[&z], rows);
            assert_eq!(wide(&y), ops::relu(wide(&z).slice(s![..rows, ..])));
        }
    });
}

#[test]
fn extreme_values() {
    everywhere(|lab, tuning| {
        let z = array![[f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -1e-30, 1e-30]];
        let y = run(lab, tuning, &Relu { rows: 1, columns: 7 }, &[&z], 1);
        assert_eq!(y, array![[f32::MAX, 0.0, f32::INFINITY, 0.0, 0.0, 0.0, 1e-30]]);
        let y = run(lab, tuning, &Relu { rows: 1, columns: 1 }, &[&array![[f32::NAN]]], 1);
        assert!(y[[0, 0]].is_nan());
    });
}

/// More than 65,535 workgroups: the grid folds into y.
#[test]
fn a_matrix_larger_than_one_grid_row() {
    everywhere(|lab, tuning| {
        let (rows, columns) = (16_401, 1028); // 4,215,057 vec4s, 65,861 workgroups of 64
        let z =
            ndarray::Array2::from_shape_fn((rows, columns), |(i, j)| (i as f32 - 8000.0) * 0.5 + j as f32);
        let y = run(lab, tuning, &Relu { rows, columns }, &[&z], rows);
        assert!(y == z.mapv(|value| value.max(0.0)), "some element is wrong");
    });
}
