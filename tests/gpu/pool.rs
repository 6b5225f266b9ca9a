use ndarray::{Array2, ArrayView1, array, s};
use tinytrain::error::Error;
use tinytrain::kernels::{Tuning, Window, pool};
use tinytrain::reference::ops;

use crate::lab::{Lab, assert_close, everywhere, labs, random, wide};

const WINDOWS: [Window; 3] = [Window::Sum, Window::Mean, Window::Maximum];

fn team(team: usize) -> Tuning {
    Tuning { team, ..Tuning::GPU }
}

fn run(lab: &Lab, tuning: &Tuning, x: &Array2<f32>, window: Window, width: usize) -> Array2<f32> {
    let compute = lab.compute(tuning);
    pool(&compute, &compute.matrix(x).unwrap(), window, width).unwrap().read(&compute).unwrap()
}

fn formula(window: Window) -> impl Fn(ArrayView1<f64>) -> f64 {
    move |values| match window {
        Window::Sum => values.sum(),
        Window::Mean => values.sum() / values.len() as f64,
        Window::Maximum => values.fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a >= *b { a } else { *b }),
    }
}

/// A maximum is exact. An element of a sum passes at most log2(width) additions in the windows of 1, 2, 4,
/// ... elements, the same number for combining such windows, and one per chunk of TEAM. Each has an error of
/// eps / 2 of its sum, together (log2(width) + width / TEAM / 2 + 1) eps of the sum of magnitudes (Higham,
/// Accuracy and Stability of Numerical Algorithms, section 4.2); the bound uses the whole of width / TEAM,
/// and for means 4 eps more: WGSL guarantees 2.5 for the division, and the number of elements is rounded too.
fn bound(x: &Array2<f64>, window: Window, width: usize, team: usize) -> Array2<f64> {
    let reach = width.min(x.ncols()) as f64;
    let units = reach.log2() + reach / team as f64 + if window == Window::Mean { 5.0 } else { 1.0 };
    match window {
        Window::Maximum => Array2::zeros(x.dim()),
        _ => ops::pool(x.mapv(f64::abs).view(), width, formula(window)) * (units * f64::from(f32::EPSILON)),
    }
}

fn check(lab: &Lab, tuning: &Tuning, x: &Array2<f32>, window: Window, width: usize) {
    let exact = wide(x);
    assert_close(
        &format!("pool {window:?} {width} of {:?}, team {}", x.dim(), tuning.team),
        lab,
        &run(lab, tuning, x, window, width),
        &ops::pool(exact.view(), width, formula(window)),
        &bound(&exact, window, width, tuning.team),
    );
}

#[test]
fn a_vector_is_one_row() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let x = compute.vector(&[0.0f32, 1.0, 2.0, 3.0, 4.0]).unwrap();
        let run = |window| pool(&compute, &x, window, 3).unwrap().read(&compute).unwrap();
        assert_eq!(run(Window::Sum), [0.0, 1.0, 3.0, 6.0, 9.0]);
        assert_eq!(run(Window::Mean), [0.0, 0.5, 1.0, 2.0, 3.0]);
        assert_eq!(run(Window::Maximum), [0.0, 1.0, 2.0, 3.0, 4.0]);
    });
}

#[test]
fn more_teams_than_a_grid_has_in_one_dimension() {
    for lab in labs() {
        let _turn = lab.turn();
        // 140,000 teams in three layers: one workgroup has no team.
        check(lab, &team(1), &random(2, 70_000, 4), Window::Sum, 3);
    }
}

#[test]
fn infinity_and_nan_reach_only_the_windows_that_have_them() {
    for lab in labs() {
        let _turn = lab.turn();
        for size in [8, 10, 256] {
            for width in [1, 3, 8, 13, 300] {
                let mut x = random(2, 600, 5);
                for (at, value) in [(7, f32::INFINITY), (290, f32::NEG_INFINITY), (511, f32::NAN)] {
                    x[[1, at]] = value;
                }
                for window in WINDOWS {
                    let got = run(lab, &team(size), &x, window, width);
                    let want = ops::pool(wide(&x).view(), width, formula(window));
                    let same = |a: f32, b: f64| {
                        if b.is_finite() {
                            a.is_finite()
                        } else {
                            f64::from(a) == b || (a.is_nan() && b.is_nan())
                        }
                    };
                    for (at, value) in got.indexed_iter() {
                        assert!(
                            same(*value, want[at]),
                            "{window:?} {width} at {at:?}: {value}, {}",
                            want[at]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn maxima_of_nothing_but_minus_infinity() {
    everywhere(|lab, tuning| {
        let x = Array2::from_elem((2, 9), f32::NEG_INFINITY);
        assert_eq!(run(lab, tuning, &x, Window::Maximum, 4), x);
    });
}

#[test]
fn huge_values() {
    everywhere(|lab, tuning| {
        let x = array![[3e38f32, -3e38, 3e38, -3e38, 1e30, -1e-30]];
        assert_eq!(run(lab, tuning, &x, Window::Sum, 2), array![[3e38, 0.0, 0.0, 0.0, -3e38, 1e30]]);
        assert_eq!(run(lab, tuning, &x, Window::Maximum, 3).slice(s![0, 4..]), array![3e38, 1e30]);
    });
}

#[test]
fn nothing_in_nothing_out() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let x = compute.vector::<f32>(&[]).unwrap();
        assert!(pool(&compute, &x, Window::Sum, 3).unwrap().is_empty());
        for (rows, columns) in [(0, 5), (5, 0)] {
            let x = Array2::<f32>::zeros((rows, columns));
            assert_eq!(run(lab, tuning, &x, Window::Mean, 2), x);
        }
    });
}

#[test]
fn windows_of_nothing_are_refused() {
    let compute = labs()[0].compute(&Tuning::GPU);
    let x = compute.vector(&[1.0f32]).unwrap();
    assert!(matches!(pool(&compute, &x, Window::Sum, 0), Err(Error::Shape { kernel: "pool", .. })));
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    everywhere(|lab, tuning| {
        let x = random(5, 999, 6);
        let bits = || run(lab, tuning, &x, Window::Mean, 333).mapv(f32::to_bits);
        assert_eq!(bits(), bits());
    });
}
