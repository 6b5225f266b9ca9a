use ndarray::{Array2, array};
use proptest::prelude::*;
use tinytrain::error::Error;
use tinytrain::kernels::{MOST_TAPS, Mode, Tuning, convolve, convolve_separable};
use tinytrain::reference::ops;

use crate::lab::{Lab, ODD, assert_close, everywhere, labs, random, wide};

const MODES: [Mode; 3] = [Mode::Valid, Mode::Same, Mode::Tail];

fn team(team: usize) -> Tuning {
    Tuning { team, ..Tuning::GPU }
}

/// Outputs of n elements under k taps, and the tap that meets element i in output i.
fn shape(mode: Mode, n: usize, k: usize) -> (usize, usize) {
    match mode {
        Mode::Valid => (n - k + 1, 0),
        Mode::Same => (n, k / 2),
        Mode::Tail => (n, 0),
    }
}

fn reference(a: &Array2<f64>, b: &Array2<f64>, mode: Mode) -> Array2<f64> {
    let (rows, down) = shape(mode, a.nrows(), b.nrows());
    let (columns, across) = shape(mode, a.ncols(), b.ncols());
    ops::convolve(a.view(), b.view(), [down, across], [rows, columns])
}

/// A sum of k rounded products, one after the other, is within k eps / 2 of the sum of the products' magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); two such passes of k1 and k2 within
/// (k1 + k2) eps / 2.
/// Asked for is (k + 4) eps, where the 4 is for devices that round less well.
fn bound(a: &Array2<f64>, b: &Array2<f64>, mode: Mode) -> Array2<f64> {
    let units = (b.nrows() + b.ncols()) as f64 + 3.0;
    reference(&a.mapv(f64::abs), &b.mapv(f64::abs), mode) * (units * f64::from(f32::EPSILON))
        + f64::from(f32::MIN_POSITIVE)
}

fn run(lab: &Lab, tuning: &Tuning, a: &Array2<f32>, taps: &[f32], mode: Mode) -> Array2<f32> {
    let compute = lab.compute(tuning);
    let (a, taps) = (compute.matrix(a).unwrap(), compute.vector(taps).unwrap());
    convolve(&compute, &a, &taps, mode).unwrap().read(&compute).unwrap()
}

fn check(lab: &Lab, tuning: &Tuning, a: &Array2<f32>, k: usize, mode: Mode) {
    let taps = random(1, k, 90);
    let what = format!("convolve {mode:?} {:?} by {k}, team {}", a.dim(), tuning.team);
    let got = run(lab, tuning, a, taps.as_slice().unwrap(), mode);
    let (a, b) = (wide(a), wide(&taps));
    assert_close(&what, lab, &got, &reference(&a, &b, mode), &bound(&a, &b, mode));
}

fn run_separable(
    lab: &Lab,
    tuning: &Tuning,
    a: &Array2<f32>,
    [rows, columns]: [&Array2<f32>; 2],
    mode: Mode,
) -> Array2<f32> {
    let compute = lab.compute(tuning);
    let vector = |taps: &Array2<f32>| compute.vector(taps.as_slice().unwrap()).unwrap();
    let a = compute.matrix(a).unwrap();
    convolve_separable(&compute, &a, &vector(rows), &vector(columns), mode).unwrap().read(&compute).unwrap()
}

fn check_separable(lab: &Lab, tuning: &Tuning, a: &Array2<f32>, [down, across]: [usize; 2], mode: Mode) {
    let (row_taps, column_taps) = (random(1, across, 91), random(1, down, 92));
    let what = format!("separable {mode:?} {:?} by {down} x {across}, team {}", a.dim(), tuning.team);
    let got = run_separable(lab, tuning, a, [&row_taps, &column_taps], mode);
    // The outer product of both kernels, as one kernel of two dimensions.
    let (a, b) = (wide(a), wide(&column_taps).t().dot(&wide(&row_taps)));
    assert_close(&what, lab, &got, &reference(&a, &b, mode), &bound(&a, &b, mode));
}

#[test]
fn odd_lengths_and_taps_in_every_mode() {
    everywhere(|lab, tuning| {
        for n in ODD.into_iter().chain([1000, 1100]) {
            for k in [1, 2, 3, 4, 17, 64, 255, 256, 1000] {
                for mode in MODES.into_iter().filter(|mode| *mode != Mode::Valid || k <= n) {
                    check(lab, tuning, &random(1, n, 1), k, mode);
                }
            }
        }
    });
}

#[test]
fn every_row_of_a_matrix_by_itself() {
    everywhere(|lab, tuning| {
        for (rows, columns, k) in [(3, 5, 3), (17, 63, 8), (5, 257, 2), (2, 700, 300), (65, 1, 1)] {
            for mode in MODES {
                check(lab, tuning, &random(rows, columns, 2), k, mode);
            }
        }
    });
}

#[test]
fn two_dimensions_are_the_product_of_two_passes() {
    everywhere(|lab, tuning| {
        for (rows, columns) in [(1, 1), (17, 9), (63, 65), (300, 21), (9, 270)] {
            for taps in [[1, 1], [2, 3], [5, 4], [9, 9], [1, 7]] {
                let valid = taps[0] <= rows && taps[1] <= columns;
                for mode in MODES.into_iter().filter(|mode| *mode != Mode::Valid || valid) {
                    check_separable(lab, tuning, &random(rows, columns, 3), taps, mode);
                }
            }
        }
    });
}

#[test]
fn long_columns_fit_workgroup_memory() {
    for lab in labs() {
        let _turn = lab.turn();
        for taps in [127, 129, 513, MOST_TAPS] {
            check_separable(lab, &Tuning::GPU, &random(1100, 5, 4), [taps, 1], Mode::Same);
        }
        check_separable(lab, &Tuning::GPU, &random(MOST_TAPS, 3, 4), [MOST_TAPS, 1], Mode::Valid);
    }
}

#[test]
fn teams_of_any_size() {
    for lab in labs() {
        let _turn = lab.turn();
        for size in [1, 3, 8, 10, 64, 256] {
            for mode in MODES {
                for (columns, k) in [(1, 1), (65, 3), (65, 9), (130, 17), (257, 64)] {
                    check(lab, &team(size), &random(2, columns, 5), k, mode);
                }
                check_separable(lab, &team(size), &random(33, 19, 6), [4, 3], mode);
            }
        }
    }
}

#[test]
fn more_teams_than_a_grid_has_in_one_dimension() {
    for lab in labs() {
        let _turn = lab.turn();
        // 140,000 teams in three layers: one workgroup has no team.
        check(lab, &team(1), &random(2, 70_000, 4), 3, Mode::Tail);
    }
}

#[test]
fn one_tap_of_one_is_the_identity_and_later_ones_shift() {
    everywhere(|lab, tuning| {
        let a = random(3, 70, 7);
        for mode in MODES {
            assert_eq!(run(lab, tuning, &a, &[1.0], mode), a);
        }
        let shifted = run(lab, tuning, &a, &[0.0, 0.0, 1.0], Mode::Valid);
        assert_eq!(shifted, a.slice(ndarray::s![.., 2..]));
        // Three taps are centred on the middle one, four on the third.
        assert_eq!(run(lab, tuning, &a, &[0.0, 1.0, 0.0], Mode::Same), a);
        assert_eq!(run(lab, tuning, &a, &[0.0, 0.0, 1.0, 0.0], Mode::Same), a);
    });
}

#[test]
fn a_vector_is_one_row() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let a = compute.vector(&[1.0f32, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let taps = compute.vector(&[1.0f32, 10.0, 100.0]).unwrap();
        let run = |mode| convolve(&compute, &a, &taps, mode).unwrap().read(&compute).unwrap();
        assert_eq!(run(Mode::Valid), [321.0, 432.0, 543.0]);
        assert_eq!(run(Mode::Same), [210.0, 321.0, 432.0, 543.0, 54.0]);
        assert_eq!(run(Mode::Tail), [321.0, 432.0, 543.0, 54.0, 5.0]);
    });
}

#[test]
fn infinity_and_nan_reach_only_the_outputs_that_meet_them() {
    everywhere(|lab, tuning| {
        let mut a = random(2, 600, 8);
        for (at, value) in [(7, f32::INFINITY), (290, f32::NEG_INFINITY), (511, f32::NAN)] {
            a[[1, at]] = value;
        }
        for mode in MODES {
            let got = run(lab, tuning, &a, &[1.0, 2.0, -1.0, 0.5, 3.0], mode);
            let want = reference(&wide(&a), &array![[1.0, 2.0, -1.0, 0.5, 3.0]], mode);
            for (at, value) in got.indexed_iter() {
                let (value, want) = (f64::from(*value), want[at]);
                let same = if want.is_finite() { value.is_finite() } else { value == want || value.is_nan() };
                assert!(same && value.is_nan() == want.is_nan(), "{mode:?} at {at:?}: {value}, {want}");
            }
        }
    });
}

#[test]
fn taps_beyond_the_line_count_nothing_even_if_infinite() {
    everywhere(|lab, tuning| {
        let a = array![[1.0f32, 2.0], [3.0, 4.0]];
        assert_eq!(
            run(lab, tuning, &a, &[1.0, f32::INFINITY], Mode::Tail),
            array![[f32::INFINITY, 2.0], [f32::INFINITY, 4.0]]
        );
        // The padding of the rows and columns stays 0 as well: reading the result checks it.
        let infinite = array![[f32::INFINITY]];
        assert_eq!(
            run_separable(lab, tuning, &a, [&infinite, &infinite], Mode::Valid),
            Array2::from_elem((2, 2), f32::INFINITY)
        );
    });
}

#[test]
fn nothing_in_nothing_out() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let (empty, taps) = (compute.vector::<f32>(&[]).unwrap(), compute.vector(&[1.0f32, 2.0]).unwrap());
        for mode in [Mode::Same, Mode::Tail] {
            assert!(convolve(&compute, &empty, &taps, mode).unwrap().is_empty());
            for shape in [(0, 5), (5, 0)] {
                let a = Array2::<f32>::zeros(shape);
                assert_eq!(run(lab, tuning, &a, &[1.0, 2.0], mode), a);
                assert_eq!(run_separable(lab, tuning, &a, [&array![[1.0, 2.0]], &array![[1.0]]], mode), a);
            }
        }
    });
}

#[test]
fn too_few_and_too_many_taps_are_refused() {
    let compute = labs()[0].compute(&Tuning::GPU);
    let refused = |n: usize, k: usize, mode| {
        let (a, taps) =
            (compute.vector(&vec![0.0f32; n]).unwrap(), compute.vector(&vec![0.0f32; k]).unwrap());
        matches!(convolve(&compute, &a, &taps, mode), Err(Error::Shape { kernel: "convolve", .. }))
    };
    assert!(MODES.into_iter().all(|mode| refused(5, 0, mode)));
    assert!(MODES.into_iter().all(|mode| refused(2000, MOST_TAPS + 1, mode)));
    assert!(refused(5, 6, Mode::Valid) && !refused(5, 5, Mode::Valid) && !refused(5, 6, Mode::Same));
    let (a, taps) = (Array2::<f32>::zeros((2, 9)), compute.vector(&[1.0f32; 3]).unwrap());
    let separable = convolve_separable(&compute, &compute.matrix(&a).unwrap(), &taps, &taps, Mode::Valid);
    assert!(matches!(separable, Err(Error::Shape { .. })));
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    everywhere(|lab, tuning| {
        let (a, taps) = (random(65, 257, 9), random(1, 31, 10));
        let bits = || run_separable(lab, tuning, &a, [&taps, &taps], Mode::Same).mapv(f32::to_bits);
        assert_eq!(bits(), bits());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_shapes(
        rows in 1..40usize,
        columns in 1..300usize,
        down in 1..20usize,
        across in 1..90usize,
        size in prop::sample::select(vec![1usize, 3, 8, 10, 64, 256]),
        mode in prop::sample::select(MODES.to_vec()),
    ) {
        let mode = if mode == Mode::Valid && (down > rows || across > columns) { Mode::Same } else { mode };
        for lab in labs() {
            let _turn = lab.turn();
            check(lab, &team(size), &random(rows, columns, 11), across, mode);
            check_separable(lab, &team(size), &random(rows, columns, 12), [down, across.min(9)], mode);
        }
    }
}
