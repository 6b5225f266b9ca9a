use ndarray::Array2;
use tinytrain::kernels::{Grid, Map, MapKernel, StepRecord, Tensor, Tuning, map};

use crate::lab::{ODD, assert_close, everywhere, random, wide};

type Formula = fn(f64) -> f64;

/// Operation, the function in f64, and its error in units of eps relative to the result: WGSL allows 3 + 2 |x| units
/// in the last place for exp, 3 (or 2^-21 absolute near 1) for log, 2.5 for division; sqrt is that of 1/inverseSqrt.
fn operations() -> [(Map, Formula, Formula); 7] {
    let eps = f64::from(f32::EPSILON);
    assert!(eps < 1.2e-7);
    [
        (Map::Add(10.0), |x| x + 10.0, |x| (x.abs() + 10.0) * 1e-7),
        (Map::Multiply(-3.0), |x| -3.0 * x, |x| 3.0 * x.abs() * 1e-7),
        (Map::Square, |x| x * x, |x| x * x * 1e-7),
        (Map::Sqrt, f64::sqrt, |x| x.sqrt() * 6e-7),
        (Map::Reciprocal, |x| 1.0 / x, |x| 3e-7 / x.abs()),
        (Map::Exp, f64::exp, |x| x.exp() * (4.0 + 2.0 * x.abs()) * 1.2e-7),
        (Map::Log, f64::ln, |x| x.ln().abs() * 4e-7 + 4.8e-7),
    ]
}

#[test]
fn every_operation_on_odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, (operation, formula, bound)) in operations().into_iter().enumerate() {
            for (rows, columns) in [(1, ODD[i % 6]), (ODD[i % 6], ODD[(i + 3) % 6]), (33, 3)] {
                let compute = lab.compute(tuning);
                let x = random(rows, columns, 1).mapv(|value| value.abs() + 0.01);
                let got =
                    map(&compute, operation, &compute.matrix(&x).unwrap()).unwrap().read(&compute).unwrap();
                let x = wide(&x);
                assert_close(&format!("{operation:?}"), lab, &got, &x.mapv(formula), &x.mapv(bound));
            }
        }
    });
}

#[test]
fn both_grids_and_any_workgroup() {
    everywhere(|lab, tuning| {
        for (workgroup, plane) in [(64, [8, 8]), (5, [3, 2]), (1, [1, 7])] {
            let compute = lab.compute(&Tuning { workgroup, plane, ..*tuning });
            for grid in [Grid::Line, Grid::Plane] {
                let x = random(29, 23, 2);
                let kernel = MapKernel { rows: 29, columns: 23, operation: Map::Multiply(2.0), grid };
                let y = lab.output_matrix(29, 23);
                compute
                    .run(&kernel, &[compute.matrix(&x).unwrap().buffer(), &y.buffer], StepRecord::default())
                    .unwrap();
                assert_eq!(lab.read(&y, 29, 23), x * 2.0);
            }
        }
    });
}

/// More than 65,535 workgroups in both layouts: the grid folds into y.
#[test]
fn grids_larger_than_one_row() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(&Tuning { workgroup: 1, plane: [1, 1], ..*tuning });
        let x = Array2::from_shape_fn((70_001, 5), |(i, j)| i as f32 + j as f32 * 0.125);
        let y = map(&compute, Map::Add(1.0), &compute.matrix(&x).unwrap()).unwrap();
        assert!(y.read(&compute).unwrap() == &x + 1.0, "some element is wrong");
        let x: Vec<f32> = x.iter().copied().collect();
        let y = map(&compute, Map::Add(1.0), &compute.vector(&x).unwrap()).unwrap();
        assert!(
            y.read(&compute).unwrap().iter().zip(&x).all(|(y, x)| *y == x + 1.0),
            "some element is wrong"
        );
    });
}

#[test]
fn empty_and_special_values() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let run = |operation, x: &[f32]| {
            map(&compute, operation, &compute.vector(x).unwrap()).unwrap().read(&compute).unwrap()
        };
        assert!(run(Map::Square, &[]).is_empty());
        let y = run(Map::Add(1.0), &[f32::NAN, f32::INFINITY, f32::MAX, f32::NEG_INFINITY]);
        assert!(y[0].is_nan());
        assert_eq!(y[1..], [f32::INFINITY, f32::MAX, f32::NEG_INFINITY]);
        assert_eq!(run(Map::Exp, &[-1e4, 0.0, 1e4]), [0.0, 1.0, f32::INFINITY]);
    });
}
