use ndarray::Array2;
use proptest::prelude::*;
use tinytrain::kernels::{Epilogue, Matmul, Operand, Tuning, batched_matmul, matmul};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, assert_close, batch, everywhere, labs, random, wide};

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
        &bounds::matmul(wide_a.view(), wide_b.view()),
    );
}

#[test]
fn shapes_that_do_not_go_together() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let matrix = |rows, columns| compute.matrix(&random(rows, columns, 1)).unwrap();
        let (a, b) = (matrix(2, 3), matrix(4, 5));
        let error = matmul(&compute, (&a).into(), (&b).into(), Epilogue::default()).unwrap_err();
        assert_eq!(error.to_string(), "matmul: expected B of 3 rows for A of 2 x 3, found 4 x 5");
        let bias = compute.vector(&[1.0f32; 4]).unwrap();
        let epilogue = Epilogue { bias: Some(&bias), relu: false };
        assert!(matmul(&compute, (&a).into(), Operand::Transposed(&a), epilogue).is_err());
        assert!(batched_matmul(&compute, 2, &matrix(5, 3), &matrix(6, 2), Epilogue::default()).is_err());
        assert!(batched_matmul(&compute, 0, &a, &b, Epilogue::default()).is_err());
    });
}

/// WGSL does not guarantee this, but our adapters do it.
#[test]
fn nan_and_infinity_are_passed_on() {
    everywhere(|lab, tuning| {
        let mut a = Array2::ones((5, 9));
        a[[1, 4]] = f32::NAN;
        a[[2, 8]] = f32::INFINITY;
        let c = product(lab, tuning, &a, &Array2::ones((9, 6)), [false, false]);
        for ((row, _), value) in c.indexed_iter() {
            match row {
                1 => assert!(value.is_nan()),
                2 => assert_eq!(*value, f32::INFINITY),
                _ => assert_eq!(*value, 9.0),
            }
        }
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
        for lab in labs().iter().filter(|lab| lab.has(&Tuning::ALL[t])) {
            check(lab, &Tuning::ALL[t], [m, k, n], [a, b]);
        }
    }
}
