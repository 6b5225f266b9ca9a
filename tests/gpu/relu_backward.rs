use ndarray::s;
use tinytrain::kernels::ReluBackward;
use tinytrain::reference::ops;

use crate::elementwise::{SHAPES, run};
use crate::lab::{everywhere, random, wide};

#[test]
fn equals_the_reference_exactly() {
    everywhere(|lab, tuning| {
        for (capacity, rows, columns) in SHAPES {
            let y = random(capacity, columns, 1).mapv(|value| value.max(0.0));
            let dy = random(capacity, columns, 2);
            let dz = run(lab, tuning, &ReluBackward { rows: capacity, columns }, &[&y, &dy], rows);
            let want = ops::relu_backward(wide(&y).slice(s![..rows, ..]), wide(&dy).slice(s![..rows, ..]));
            assert_eq!(wide(&dz), want);
        }
    });
}
