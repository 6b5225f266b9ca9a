use tinytrain::kernels::{Grid, naive_matmul};

use crate::lab::{everywhere, random};

#[test]
fn shapes_that_do_not_go_together() {
    everywhere(|lab, tuning| {
        let compute = lab.compute(tuning);
        let (a, b) = (compute.matrix(&random(2, 3, 1)).unwrap(), compute.matrix(&random(4, 5, 2)).unwrap());
        let error = naive_matmul(&compute, Grid::Line, &a, &b).unwrap_err();
        assert_eq!(error.to_string(), "naive_matmul: expected B of 3 rows for A of 2 x 3, found 4 x 5");
    });
}
