use ndarray::{Array2, concatenate, s};
use ndarray::{Axis, stack};
use tinytrain::kernels::{Tuning, WeightGradient, blocks};
use tinytrain::reference::{bounds, ops};

use crate::forward::with_ones;
use crate::lab::{Lab, ODD, assert_close, batch, everywhere, random, wide};

/// dW and below it db, as the kernel stores them.
fn reference(x: &Array2<f64>, dy: &Array2<f64>) -> Array2<f64> {
    let (dw, db) = ops::weight_gradient(x.view(), dy.view());
    concatenate(Axis(0), &[dw.view(), stack(Axis(0), &[db.view()]).unwrap().view()]).unwrap()
}

pub fn check(lab: &Lab, tuning: &Tuning, [capacity, rows, inputs, outputs]: [usize; 4]) {
    let what = format!("weight_gradient {rows} of {capacity} x {inputs} x {outputs} {tuning:?}");
    let (x, mut dy) = (random(capacity, inputs, 1), random(capacity, outputs, 2));
    // What an earlier, longer batch has left behind must not count.
    dy.slice_mut(s![rows.., ..]).fill(f32::NAN);
    let live = |matrix: &Array2<f32>| wide(matrix).slice(s![..rows, ..]).to_owned();
    let gradient = reference(&live(&x), &live(&dy));
    let bound = bounds::matmul(with_ones(&live(&x)).t(), live(&dy).view());
    let kernel = WeightGradient { rows: capacity, inputs, outputs, offset: 0, update: None };

    let result = lab.output_matrix(inputs + 1, outputs);
    lab.run(&kernel, tuning, &[&lab.matrix(&x), &lab.matrix(&dy), &result.buffer], batch(rows));
    assert_close(&what, lab, &lab.read(&result, inputs + 1, outputs), &gradient, &bound);

    // The same, as an update of parameters that stand behind others.
    let rate = 0.1f32;
    let before = random(2 + inputs + 1, outputs, 3);
    let updated = lab.output_matrix(2 + inputs + 1, outputs);
    let stored: Vec<f32> = before.iter().copied().collect();
    let padded = tinytrain::kernels::pad_rows(&stored, outputs);
    lab.context.queue.write_buffer(&updated.buffer, 0, bytemuck::cast_slice(&padded));
    let kernel = WeightGradient { offset: 2 * blocks(outputs), update: Some(rate), ..kernel };
    lab.run(&kernel, tuning, &[&lab.matrix(&x), &lab.matrix(&dy), &updated.buffer], batch(rows));
    let after = lab.read(&updated, 2 + inputs + 1, outputs);
    assert_eq!(after.slice(s![..2, ..]), before.slice(s![..2, ..]), "{what}: parameters of another layer");
    let old = wide(&before).slice(s![2.., ..]).to_owned();
    let want = ops::update(old.view(), gradient.view(), f64::from(rate));
    // Two more roundings: the product with the rate and the difference.
    let rounding = (old.mapv(f64::abs) + gradient.mapv(f64::abs)) * f64::from(f32::EPSILON);
    assert_close(
        &what,
        lab,
        &after.slice(s![2.., ..]).to_owned(),
        &want,
        &(bound * f64::from(rate) + rounding),
    );
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, inputs) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate() {
                let rows = ODD[(i + 3 * j) % 6];
                check(lab, tuning, [rows, rows, inputs, outputs]);
            }
        }
    });
}

#[test]
fn the_first_layer_of_mnist_and_a_short_last_batch() {
    everywhere(|lab, tuning| {
        check(lab, tuning, [64, 64, 784, 300]);
        check(lab, tuning, [64, 30, 784, 10]);
        check(lab, tuning, [64, 1, 12, 10]);
    });
}
