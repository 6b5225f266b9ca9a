use ndarray::s;
use tinytrain::kernels::{InputGradient, Tuning, blocks};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, ODD, assert_close, batch, everywhere, random, wide};

pub fn check(lab: &Lab, tuning: &Tuning, [capacity, rows, inputs, outputs]: [usize; 4], mask: bool) {
    let dy = random(capacity, outputs, 1);
    let parameters = random(3 + inputs + 1, outputs, 2);
    let h = random(capacity, inputs, 3).mapv(|value| value.max(0.0));
    let dx = lab.output_matrix(rows, inputs);
    lab.run(
        &InputGradient { rows: capacity, inputs, outputs, offset: 3 * blocks(outputs), mask },
        tuning,
        &[&lab.matrix(&dy), &lab.matrix(&parameters), &lab.matrix(&h), &dx.buffer],
        batch(rows),
    );
    let wide_dy = wide(&dy).slice(s![..rows, ..]).to_owned();
    let w = wide(&parameters).slice(s![3..3 + inputs, ..]).to_owned();
    let product = ops::input_gradient(wide_dy.view(), w.view());
    let want =
        if mask { ops::relu_backward(wide(&h).slice(s![..rows, ..]), product.view()) } else { product };
    let bound = bounds::matmul(wide_dy.view(), w.t());
    assert_close(
        &format!("input_gradient {rows} of {capacity} x {inputs} x {outputs} mask {mask} {tuning:?}"),
        lab,
        &lab.read(&dx, rows, inputs),
        &want,
        &bound,
    );
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, inputs) in ODD.into_iter().enumerate() {
                check(lab, tuning, [rows, rows, inputs, ODD[(2 * i + j) % 6]], (i + j) % 2 == 0);
            }
        }
    });
}

#[test]
fn the_layers_of_mnist_and_a_short_last_batch() {
    everywhere(|lab, tuning| {
        check(lab, tuning, [64, 64, 300, 100], true);
        check(lab, tuning, [64, 32, 100, 10], true);
        check(lab, tuning, [64, 3, 20, 1], false);
    });
}
