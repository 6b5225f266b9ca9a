use ndarray::{Array2, array, s};
use tinytrain::kernels::{Activate, Nonlinearity};
use tinytrain::step::Activation;

use crate::elementwise::{SHAPES, run};
use crate::lab::{assert_close, everywhere, random, wide};
use crate::nonlinear::{self, LINEAR, RELU};

#[test]
fn every_activation_with_and_without_dropout() {
    everywhere(|lab, tuning| {
        for (number, nonlinearity) in nonlinear::all().enumerate() {
            let (capacity, rows, columns) = SHAPES[number % SHAPES.len()];
            let z = random(capacity, columns, 1) * 3.0;
            let y = run(lab, tuning, &Activate { rows: capacity, columns, nonlinearity }, &[&z], rows);
            let live = wide(&z).slice(s![..rows, ..]).to_owned();
            let want = nonlinear::value(&nonlinearity, &live);
            let bound = nonlinear::value_bound(&nonlinearity, &live, &Array2::zeros(live.dim()));
            assert_close(&format!("{nonlinearity:?}"), lab, &y, &want, &bound);
        }
    });
}

#[test]
fn relu_and_the_identity_are_exact() {
    everywhere(|lab, tuning| {
        for (nonlinearity, formula) in [(RELU, (|z| z.max(0.0)) as fn(f32) -> f32), (LINEAR, |z| z)] {
            for (capacity, rows, columns) in SHAPES {
                let z = random(capacity, columns, 1);
                let y = run(lab, tuning, &Activate { rows: capacity, columns, nonlinearity }, &[&z], rows);
                assert_eq!(y, z.slice(s![..rows, ..]).mapv(formula));
            }
        }
    });
}

#[test]
fn extreme_values() {
    everywhere(|lab, tuning| {
        let z = array![[f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -1e-30, 1e-30]];
        let kernel = Activate { rows: 1, columns: 7, nonlinearity: RELU };
        let y = run(lab, tuning, &kernel, &[&z], 1);
        assert_eq!(y, array![[f32::MAX, 0.0, f32::INFINITY, 0.0, 0.0, 0.0, 1e-30]]);
        for activation in Activation::ALL.iter().copied() {
            let nonlinearity = Nonlinearity { activation, dropout: None };
            let kernel = Activate { rows: 1, columns: 1, nonlinearity };
            let y = run(lab, tuning, &kernel, &[&array![[f32::NAN]]], 1);
            assert!(y[[0, 0]].is_nan(), "{activation}");
        }
    });
}

#[test]
fn far_from_zero_activations_reach_their_limits() {
    everywhere(|lab, tuning| {
        for nonlinearity in nonlinear::all().filter(|it| it.dropout.is_none()) {
            let (z, finite) = nonlinear::far();
            let kernel = Activate { rows: 1, columns: z.len(), nonlinearity };
            let mut y = run(lab, tuning, &kernel, &[&z], 1);
            let want = nonlinear::value(&nonlinearity, &finite);
            for (place, z) in z.indexed_iter().filter(|(_, z)| z.is_infinite()) {
                if want[place].abs() > 2.0 {
                    assert_eq!(y[place], *z, "{nonlinearity:?}");
                    y[place] = want[place] as f32;
                }
            }
            let bound = nonlinear::value_bound(&nonlinearity, &finite, &Array2::zeros(z.dim()));
            assert_close(&format!("{nonlinearity:?}"), lab, &y, &want, &bound);
        }
    });
}

/// More than 65,535 workgroups: the grid is folded into y.
#[test]
fn a_matrix_larger_than_one_grid_row() {
    everywhere(|lab, tuning| {
        let (rows, columns) = (16_401, 1028); // 4,215,057 vec4s, 65,861 workgroups of 64
        let z = Array2::from_shape_fn((rows, columns), |(i, j)| (i as f32 - 8000.0) * 0.5 + j as f32);
        let y = run(lab, tuning, &Activate { rows, columns, nonlinearity: RELU }, &[&z], rows);
        assert!(y == z.mapv(|value| value.max(0.0)), "some element is wrong");
    });
}
