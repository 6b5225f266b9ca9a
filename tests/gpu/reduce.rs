use ndarray::{Array2, ArrayView1, Axis as NdAxis};
use proptest::prelude::*;
use tinytrain::kernels::{Axis, Compute, Reduction, Tuning, block_sums, reduce, reduce_axis};
use tinytrain::reference::{bounds, ops};

use crate::lab::{everywhere, labs, random, wide};

fn magnitude(x: ArrayView1<f64>) -> f64 {
    x.iter().map(|value| value.abs()).sum()
}

fn assert_near(what: &str, got: f32, want: f64, bound: f64) {
    let error = (f64::from(got) - want).abs();
    // Written so that NaN fails.
    assert!(error <= bound, "{what}: got {got}, want {want}, {:.2} bounds off", error / bound);
}

fn check_axis(compute: &Compute, x: &Array2<f32>, axis: Axis) {
    let on_device = compute.matrix(x).unwrap();
    let run = |reduction| reduce_axis(compute, reduction, axis, &on_device).unwrap().read(compute).unwrap();
    let (sums, means, maxima) = (run(Reduction::Sum), run(Reduction::Mean), run(Reduction::Maximum));
    let wide = wide(x);
    let lines: Vec<_> = wide.axis_iter(NdAxis(if axis == Axis::Rows { 0 } else { 1 })).collect();
    assert_eq!([sums.len(), means.len(), maxima.len()], [lines.len(); 3]);
    for (i, line) in lines.iter().enumerate() {
        let what = format!("{axis:?} of {:?}, line {i}", x.dim());
        let bound = bounds::sum(magnitude(*line), line.len());
        assert_near(&what, sums[i], line.sum(), bound);
        let count = line.len() as f64;
        assert_near(&what, means[i], line.sum() / count, 2.0 * bound / count);
        assert_eq!(f64::from(maxima[i]), ops::maximum(*line), "{what}");
    }
}

#[test]
fn ten_million_elements_with_pairwise_accuracy() {
    for lab in labs() {
        let _turn = lab.turn();
        let compute = lab.compute(&Tuning::for_device(&lab.context));
        // Summed in order in f32, 0.1 ten million times would be off by 9 %.
        let x = vec![0.1f32; 10_000_000];
        let want = 10_000_000.0 * f64::from(0.1f32);
        let sum = reduce(&compute, Reduction::Sum, &compute.vector(&x).unwrap()).unwrap();
        assert_near("10,000,000 x 0.1", sum, want, bounds::sum(want, x.len()));
        assert!(bounds::sum(want, x.len()) < 2e-5 * want, "a bound that says something");
    }
}

#[test]
fn nothing_has_a_sum_but_no_maximum() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let nothing = compute.vector::<f32>(&[]).unwrap();
        assert_eq!(reduce(&compute, Reduction::Sum, &nothing).unwrap(), 0.0);
        assert!(reduce(&compute, Reduction::Maximum, &nothing).is_err());
        assert!(reduce(&compute, Reduction::Mean, &nothing).is_err());
        assert!(block_sums(&compute, 3, &nothing).unwrap().is_empty());
        assert!(block_sums(&compute, 0, &nothing).is_err());
        let flat = compute.matrix(&Array2::zeros((3, 0))).unwrap();
        let sums = reduce_axis(&compute, Reduction::Sum, Axis::Rows, &flat).unwrap();
        assert_eq!(sums.read(&compute).unwrap(), [0.0; 3]);
        assert!(reduce_axis(&compute, Reduction::Mean, Axis::Rows, &flat).is_err());
        assert!(reduce_axis(&compute, Reduction::Maximum, Axis::Columns, &flat).unwrap().is_empty());
    });
}

/// WGSL does not guarantee this, but our adapters do it.
#[test]
fn nan_and_infinity_are_passed_on() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for position in [0, 17, 299] {
            let with = |value: f32| {
                let mut x = vec![-1.0f32; 300];
                x[position] = value;
                let x = compute.vector(&x).unwrap();
                [Reduction::Sum, Reduction::Maximum].map(|reduction| reduce(&compute, reduction, &x).unwrap())
            };
            assert!(with(f32::NAN).iter().all(|value| value.is_nan()));
            assert_eq!(with(f32::INFINITY), [f32::INFINITY; 2]);
            assert_eq!(with(f32::NEG_INFINITY), [f32::NEG_INFINITY, -1.0]);
            assert_eq!(with(f32::MAX)[1], f32::MAX);
        }
        let lowest = compute.vector(&[f32::NEG_INFINITY; 5]).unwrap();
        assert_eq!(reduce(&compute, Reduction::Maximum, &lowest).unwrap(), f32::NEG_INFINITY);
    });
}

#[test]
fn two_runs_are_equal_bit_for_bit() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let x: Vec<f32> = random(1, 9999, 6).iter().copied().collect();
        let bits = || reduce(&compute, Reduction::Sum, &compute.vector(&x).unwrap()).unwrap().to_bits();
        assert_eq!(bits(), bits());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_shapes(rows in 1..200usize, columns in 1..200usize, down: bool, team in 1..65usize) {
        for lab in labs() {
            let _turn = lab.turn();
            let compute = lab.compute(&Tuning { team, ..Tuning::GPU });
            check_axis(&compute, &random(rows, columns, 7), if down { Axis::Columns } else { Axis::Rows });
        }
    }
}
