use tinytrain::kernels::{Update, blocks};
use tinytrain::reference::ops;

use crate::lab::{ODD, assert_close, batch, everywhere, random, wide};

#[test]
fn odd_lengths() {
    everywhere(|lab, tuning| {
        for columns in ODD {
            let (p, g) = (random(3, columns, 1), random(3, columns, 2));
            let rate = 0.3f32;
            let output = lab.output_matrix(3, columns);
            let values: Vec<f32> = p.iter().copied().collect();
            let padded = tinytrain::kernels::pad_rows(&values, columns);
            lab.context.queue.write_buffer(&output.buffer, 0, bytemuck::cast_slice(&padded));
            let kernel = Update { length: 3 * blocks(columns), rate };
            lab.run(&kernel, tuning, &[&lab.matrix(&g), &output.buffer], batch(0));
            let (p, g) = (wide(&p), wide(&g));
            let want = ops::update(p.view(), g.view(), f64::from(rate));
            let bound = (p.mapv(f64::abs) + g.mapv(f64::abs)) * f64::from(f32::EPSILON);
            assert_close("update", lab, &lab.read(&output, 3, columns), &want, &bound);
        }
    });
}
