use ndarray::{Array2, array};
use tinytrain::error::Error;
use tinytrain::kernels::{MOST_TAPS, Mode, Tuning, convolve, convolve_separable};
use tinytrain::reference::ops;

use crate::lab::{Lab, assert_close, everywhere, labs, random, wide};

const MODES: [Mode; 3] = [Mode::Valid, Mode::Same, Mode::Tail];

fn team(team: usize) -> Tuning {
    Tuning { team, ..Tuning::GPU }
}

/// Returns the outputs of n elements under k taps, and the tap for element i in output i.
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

/// A sum of k rounded products, computed in order, is within k eps / 2 of the sum of the products' magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); two passes of k1 and k2 within
/// (k1 + k2) eps / 2.
/// The required bound is (k + 4) eps, where the 4 is for devices with less exact rounding.
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
        // The padding of rows and columns also stays 0, which reading the result checks.
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
