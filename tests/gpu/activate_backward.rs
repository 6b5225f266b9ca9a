use ndarray::{Array2, s};
use tinytrain::kernels::ActivateBackward;
use tinytrain::reference::ops;

use crate::elementwise::{SHAPES, run};
use crate::lab::{assert_close, everywhere, random, wide};
use crate::nonlinear::{self, RELU};

#[test]
fn every_activation_with_and_without_dropout() {
    everywhere(|lab, tuning| {
        for (number, nonlinearity) in nonlinear::all().enumerate() {
            let (capacity, rows, columns) = SHAPES[number % SHAPES.len()];
            let (z, dy) = (random(capacity, columns, 1) * 3.0, random(capacity, columns, 2));
            let live = |matrix: &Array2<f32>| wide(matrix).slice(s![..rows, ..]).to_owned();
            // The mask depends on the row, not on the number of rows.
            let y = nonlinear::value(&nonlinearity, &wide(&z)).mapv(|y| y as f32);
            let kept = if nonlinearity.keeps_z() { &z } else { &y };
            let kernel = ActivateBackward { rows: capacity, columns, nonlinearity };
            let dz = run(lab, tuning, &kernel, &[kept, &dy], rows);
            let (z, dy) = (live(&z), live(&dy));
            let want = nonlinear::gradient(&nonlinearity, &dy, &z);
            let bound = nonlinear::gradient_bound(&nonlinearity, &dy, &z, &Array2::zeros(z.dim()));
            assert_close(&format!("{nonlinearity:?}"), lab, &dz, &want, &bound);
        }
    });
}

#[test]
fn far_from_zero_slopes_reach_their_limits() {
    everywhere(|lab, tuning| {
        for nonlinearity in nonlinear::all().filter(|it| it.dropout.is_none()) {
            let (z, finite) = nonlinear::far();
            let y = nonlinear::value(&nonlinearity, &finite).mapv(|y| y as f32);
            let kept = if nonlinearity.keeps_z() { z } else { y };
            let kernel = ActivateBackward { rows: 1, columns: kept.len(), nonlinearity };
            let dy = Array2::from_elem(kept.dim(), 0.5);
            let dz = run(lab, tuning, &kernel, &[&kept, &dy], 1);
            let want = nonlinear::gradient(&nonlinearity, &wide(&dy), &finite);
            let exact = Array2::zeros(kept.dim());
            let bound = nonlinear::gradient_bound(&nonlinearity, &wide(&dy), &finite, &exact);
            assert_close(&format!("{nonlinearity:?}"), lab, &dz, &want, &bound);
        }
    });
}

#[test]
fn the_mask_of_relu_is_exact() {
    everywhere(|lab, tuning| {
        for (capacity, rows, columns) in SHAPES {
            let y = random(capacity, columns, 1).mapv(|value| value.max(0.0));
            let dy = random(capacity, columns, 2);
            let kernel = ActivateBackward { rows: capacity, columns, nonlinearity: RELU };
            let dz = run(lab, tuning, &kernel, &[&y, &dy], rows);
            let want = ops::relu_backward(wide(&y).slice(s![..rows, ..]), wide(&dy).slice(s![..rows, ..]));
            assert_eq!(wide(&dz), want);
        }
    });
}
