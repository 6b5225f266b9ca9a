use ndarray::{Array2, Axis as NdAxis, array};
use tinytrain::kernels::{Axis, Compute, Tuning, argmax, argmax_axis, count_correct};
use tinytrain::reference::ops;

use crate::lab::{ODD, everywhere, labels, random, wide};

fn check(compute: &Compute, x: &Array2<f32>, axis: Axis) {
    let got = argmax_axis(compute, axis, &compute.matrix(x).unwrap()).unwrap().read(compute).unwrap();
    let lines = NdAxis(if axis == Axis::Rows { 0 } else { 1 });
    let want: Vec<u32> = wide(x).axis_iter(lines).map(|line| ops::argmax(line) as u32).collect();
    assert_eq!(got, want, "{axis:?} of {:?}", x.dim());
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, columns) in ODD.into_iter().enumerate() {
                let team = [256, 8, 5][(i + j) % 3];
                let compute = lab.compute(&Tuning { team, ..*tuning });
                let axis = if (i + j) % 2 == 0 { Axis::Rows } else { Axis::Columns };
                // Whole numbers, so that the maximum occurs often.
                check(&compute, &random(rows, columns, 1).mapv(|value| (value * 2.0).round()), axis);
            }
        }
        check(&lab.compute(tuning), &Array2::zeros((2, 9001)), Axis::Rows);
    });
}

#[test]
fn of_a_vector_with_several_passes() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for position in [0, 5000, 99_999] {
            let mut x = vec![0.5f32; 100_000];
            x[position] = 1.0;
            let on_device = compute.vector(&x).unwrap();
            assert_eq!(argmax(&compute, &on_device).unwrap(), (position, 1.0));
            x[70_000] = f32::NAN;
            let (found, value) = argmax(&compute, &compute.vector(&x).unwrap()).unwrap();
            assert_eq!((found, value.is_nan()), (70_000, true));
        }
        assert!(argmax(&compute, &compute.vector(&[]).unwrap()).is_err());
    });
}

#[test]
fn nan_counts_as_the_largest_and_the_first_wins() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let x = array![
            [1.0, infinity, nan, nan],
            [-infinity, -infinity, -infinity, -infinity],
            [nan, infinity, 0.0, 1.0],
            [2.0, 3.0, infinity, infinity]
        ];
        let got = argmax_axis(&compute, Axis::Rows, &compute.matrix(&x).unwrap()).unwrap();
        assert_eq!(got.read(&compute).unwrap(), [2, 0, 0, 2]);
        let got = argmax_axis(&compute, Axis::Columns, &compute.matrix(&x).unwrap()).unwrap();
        assert_eq!(got.read(&compute).unwrap(), [2, 0, 0, 0]);
    });
}

#[test]
fn correct_predictions_are_counted() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for (rows, classes) in [(1, 1), (65, 10), (257, 3)] {
            let (z, targets) = (random(rows, classes, 3), labels(rows, classes));
            let predicted = ops::predictions(wide(&z).view());
            let right = predicted.iter().zip(&targets).filter(|(a, b)| **a == **b as usize).count();
            let (z, targets) = (compute.matrix(&z).unwrap(), compute.vector(&targets).unwrap());
            assert_eq!(count_correct(&compute, &z, &targets).unwrap() as usize, right);
        }
    });
}
