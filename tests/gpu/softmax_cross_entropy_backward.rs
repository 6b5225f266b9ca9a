use ndarray::s;
use tinytrain::kernels::SoftmaxCrossEntropyBackward;
use tinytrain::reference::ops;

use crate::lab::{assert_close, batch, everywhere, indices, labels, random, wide};
use crate::softmax::SHAPES;

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (capacity, rows, classes) in SHAPES {
            let p = ops::softmax(wide(&random(capacity, classes, 1)).view()).mapv(|value| value as f32);
            let targets = labels(capacity, classes);
            let delta = lab.output_matrix(rows, classes);
            lab.run(
                &SoftmaxCrossEntropyBackward { rows: capacity, classes },
                tuning,
                &[&lab.matrix(&p), &lab.upload(&targets), &delta.buffer],
                batch(rows),
            );
            let live = wide(&p).slice(s![..rows, ..]).to_owned();
            let want = ops::softmax_cross_entropy_backward(live.view(), &indices(&targets[..rows]));
            // A difference and a quotient, both of numbers up to 1; WGSL divides within 2.5 units.
            let bound = want.mapv(|value| (value.abs() * 4.0 + 1.0 / rows as f64) * f64::from(f32::EPSILON));
            assert_close(
                "softmax_cross_entropy_backward",
                lab,
                &lab.read(&delta, rows, classes),
                &want,
                &bound,
            );
        }
    });
}
