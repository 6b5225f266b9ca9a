use ndarray::Array2;
use proptest::prelude::*;
use tinytrain::kernels::{Matmul, Tuning};
use tinytrain::reference::ops;

use crate::lab::{Lab, ODD, assert_close, batch, everywhere, labs, product_bound, random, wide};

fn product(
    lab: &Lab,
    tuning: &Tuning,
    a: &Array2<f32>,
    b: &Array2<f32>,
    transpose: [bool; 2],
) -> Array2<f32> {
    let (m, k) = a.dim();
    let n = b.ncols();
    let stored =
        |matrix: &Array2<f32>, transposed| if transposed { matrix.t().to_owned() } else { matrix.clone() };
    let (c, no_bias) = (lab.output_matrix(m, n), lab.upload(&[f32::NAN; 4]));
    lab.run(
        &Matmul {
            m,
            n,
            k,
            matrices: 1,
            transpose_a: transpose[0],
            transpose_b: transpose[1],
            bias: false,
            relu: false,
        },
        tuning,
        &[&lab.matrix(&stored(a, transpose[0])), &lab.matrix(&stored(b, transpose[1])), &no_bias, &c.buffer],
        batch(0),
    );
    lab.read(&c, m, n)
}

fn check(lab: &Lab, tuning: &Tuning, [m, k, n]: [usize; 3], transpose: [bool; 2]) {
    let (a, b) = (random(m, k, 1), random(k, n, 2));
    let (wide_a, wide_b) = (wide(&a), wide(&b));
    assert_close(
        &format!("matmul {m}x{k}x{n} {transpose:?} {tuning:?}"),
        lab,
        &product(lab, tuning, &a, &b, transpose),
        &ops::matmul(wide_a.view(), wide_b.view()),
        &product_bound(&wide_a, &wide_b),
    );
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, m) in ODD.into_iter().enumerate() {
            for (j, n) in ODD.into_iter().enumerate() {
                let k = ODD[(i + 2 * j) % ODD.len()];
                check(lab, tuning, [m, k, n], [(i + j) % 2 == 1, (i + j) % 3 == 1]);
            }
        }
    });
}

#[test]
fn every_transposition() {
    everywhere(|lab, tuning| {
        for transpose in [[false, false], [false, true], [true, false], [true, true]] {
            check(lab, tuning, [33, 70, 41], transpose);
        }
    });
}

#[test]
fn an_empty_inner_dimension_gives_zero() {
    everywhere(|lab, tuning| {
        let c = product(lab, tuning, &Array2::zeros((5, 0)), &Array2::zeros((0, 7)), [false, false]);
        assert_eq!(c, Array2::<f32>::zeros((5, 7)));
    });
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    everywhere(|lab, tuning| {
        let (a, b) = (random(65, 257, 3), random(257, 63, 4));
        let bits = || product(lab, tuning, &a, &b, [false, false]).mapv(f32::to_bits);
        assert_eq!(bits(), bits());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_shapes(m in 1..90usize, k in 1..90usize, n in 1..90usize, a: bool, b: bool, t in 0..Tuning::ALL.len()) {
        for lab in labs().iter().filter(|lab| Tuning::ALL[t].runs_on(&lab.context)) {
            check(lab, &Tuning::ALL[t], [m, k, n], [a, b]);
        }
    }
}
