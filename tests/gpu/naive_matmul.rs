use tinytrain::kernels::{Grid, Tuning, naive_matmul};
use tinytrain::reference::{bounds, ops};

use crate::lab::{ODD, assert_close, everywhere, random, wide};

#[test]
fn odd_shapes_in_both_grids() {
    everywhere(|lab, tuning| {
        for (i, m) in ODD.into_iter().enumerate() {
            let (k, n) = (ODD[(i + 2) % 6], ODD[(i + 3) % 6]);
            let (a, b) = (random(m, k, 1), random(k, n, 2));
            for (grid, plane) in [(Grid::Line, [8, 8]), (Grid::Plane, [8, 8]), (Grid::Plane, [3, 3])] {
                let compute = lab.compute(&Tuning { plane, ..*tuning });
                let c =
                    naive_matmul(&compute, grid, &compute.matrix(&a).unwrap(), &compute.matrix(&b).unwrap());
                let got = c.unwrap().read(&compute).unwrap();
                let (a, b) = (wide(&a), wide(&b));
                let want = ops::matmul(a.view(), b.view());
                assert_close("naive_matmul", lab, &got, &want, &bounds::matmul(a.view(), b.view()));
            }
        }
    });
}

#[test]
fn shapes_that_do_not_go_together() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let (a, b) = (compute.matrix(&random(2, 3, 1)).unwrap(), compute.matrix(&random(4, 5, 2)).unwrap());
        let error = naive_matmul(&compute, Grid::Line, &a, &b).unwrap_err();
        assert_eq!(error.to_string(), "naive_matmul: expected B of 3 rows for A of 2 x 3, found 4 x 5");
    });
}
