use tinytrain::kernels::{Comparison, Grid, StepRecord, Tensor, Tuning, Zip, ZipKernel, compare, zip};

use crate::lab::{ODD, assert_close, everywhere, random, wide};

const OPERATIONS: [Zip; 5] = [Zip::Add, Zip::Subtract, Zip::Multiply, Zip::Divide, Zip::Maximum];

#[test]
fn every_operation_on_odd_shapes() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for (i, operation) in OPERATIONS.into_iter().enumerate() {
            for (rows, columns) in [(1, ODD[i]), (ODD[i], ODD[(i + 3) % 6]), (33, 3)] {
                let (a, b) = (random(rows, columns, 1), random(rows, columns, 2).mapv(|value| value + 3.0));
                let c = zip(&compute, operation, &compute.matrix(&a).unwrap(), &compute.matrix(&b).unwrap());
                let got = c.unwrap().read(&compute).unwrap();
                let (a, b) = (wide(&a), wide(&b));
                let want = match operation {
                    Zip::Add => &a + &b,
                    Zip::Subtract => &a - &b,
                    Zip::Multiply => &a * &b,
                    Zip::Divide => &a / &b,
                    Zip::Maximum => {
                        ndarray::Zip::from(&a).and(&b).map_collect(|a, b| if a > b { *a } else { *b })
                    }
                };
                // Division may be off by 2.5 units in the last place, the others round once.
                let bound = want.mapv(|value| value.abs() * 3.0 * f64::from(f32::EPSILON) + 1e-37);
                assert_close(&format!("{operation:?}"), lab, &got, &want, &bound);
            }
        }
    });
}

#[test]
fn integers() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        for length in ODD {
            let a: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
            let b: Vec<u32> =
                (0..length as u32).map(|i| if i % 3 == 0 { a[i as usize] } else { i + 1 }).collect();
            let (on_a, on_b) = (compute.vector(&a).unwrap(), compute.vector(&b).unwrap());
            let check = |name: &str, got: Vec<u32>, formula: fn(u32, u32) -> u32| {
                let want: Vec<u32> = a.iter().zip(&b).map(|(a, b)| formula(*a, *b)).collect();
                assert_eq!(got, want, "{name} of {length}");
            };
            let run = |operation| zip(&compute, operation, &on_a, &on_b).unwrap().read(&compute).unwrap();
            check("add", run(Zip::Add), u32::wrapping_add);
            check("subtract", run(Zip::Subtract), u32::wrapping_sub);
            check("multiply", run(Zip::Multiply), u32::wrapping_mul);
            check("divide", run(Zip::Divide), |a, b| a.checked_div(b).unwrap_or(a));
            check("maximum", run(Zip::Maximum), Ord::max);
            let run =
                |comparison| compare(&compute, comparison, &on_a, &on_b).unwrap().read(&compute).unwrap();
            check("equal", run(Comparison::Equal), |a, b| u32::from(a == b));
            check("different", run(Comparison::Different), |a, b| u32::from(a != b));
        }
    });
}

#[test]
fn both_grids_and_any_workgroup() {
    everywhere(|lab, tuning| {
        for (workgroup, plane) in [(64, [8, 8]), (5, [3, 2]), (1, [1, 7])] {
            let compute = lab.compute(&Tuning { workgroup, plane, ..*tuning });
            for grid in [Grid::Line, Grid::Plane] {
                let (a, b) = (random(29, 23, 3), random(29, 23, 4));
                let c = lab.output_matrix(29, 23);
                let (on_a, on_b) = (compute.matrix(&a).unwrap(), compute.matrix(&b).unwrap());
                let kernel = ZipKernel::new::<f32>(29, 23, Zip::Add, grid);
                compute
                    .run(&kernel, &[on_a.buffer(), on_b.buffer(), &c.buffer], StepRecord::default())
                    .unwrap();
                assert_eq!(lab.read(&c, 29, 23), a + b);
            }
        }
    });
}

#[test]
fn shapes_that_differ_and_special_values() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let vector = |x: &[f32]| compute.vector(x).unwrap();
        let error = zip(&compute, Zip::Add, &vector(&[1.0]), &vector(&[1.0, 2.0])).unwrap_err();
        assert_eq!(error.to_string(), "zip: expected two of 1 x 1, found 1 x 2");
        assert!(zip(&compute, Zip::Add, &vector(&[]), &vector(&[])).unwrap().is_empty());
        let (a, b) = (vector(&[f32::NAN, 1.0, f32::INFINITY]), vector(&[1.0, f32::NAN, f32::NEG_INFINITY]));
        let maxima = zip(&compute, Zip::Maximum, &a, &b).unwrap().read(&compute).unwrap();
        assert!(maxima[0].is_nan() && maxima[1].is_nan());
        assert_eq!(maxima[2], f32::INFINITY);
        let sums = zip(&compute, Zip::Add, &a, &b).unwrap().read(&compute).unwrap();
        assert!(sums.iter().all(|sum| sum.is_nan()));
    });
}
