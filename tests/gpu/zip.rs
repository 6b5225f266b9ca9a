use tinytrain::kernels::{Grid, StepRecord, Tensor, Tuning, Zip, ZipKernel, zip};

use crate::lab::{everywhere, random};

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
