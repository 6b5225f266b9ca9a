use ndarray::s;
use tinytrain::kernels::{InputGradient, Nonlinearity, Tuning, blocks};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, ODD, assert_close, batch, everywhere, random, wide};
use crate::nonlinear::{self, LINEAR, RELU};

/// Batch size, rows of this batch, inputs, outputs; the layer below, if its gradient is wanted.
pub fn check(
    lab: &Lab,
    tuning: &Tuning,
    [capacity, rows, inputs, outputs]: [usize; 4],
    below: Option<Nonlinearity>,
) {
    let dy = random(capacity, outputs, 1);
    let parameters = random(3 + inputs + 1, outputs, 2);
    let z = random(capacity, inputs, 3) * 2.0;
    let dx = lab.output_matrix(rows, inputs);
    lab.run(
        &InputGradient { rows: capacity, inputs, outputs, offset: 3 * blocks(outputs), below },
        tuning,
        &[
            &lab.matrix(&dy),
            &lab.matrix(&parameters),
            &nonlinear::kept(lab, &below.unwrap_or(LINEAR), &z),
            &dx.buffer,
        ],
        batch(rows),
    );
    let wide_dy = wide(&dy).slice(s![..rows, ..]).to_owned();
    let w = wide(&parameters).slice(s![3..3 + inputs, ..]).to_owned();
    let product = ops::input_gradient(wide_dy.view(), w.view());
    let bound = bounds::matmul(wide_dy.view(), w.t());
    let z = wide(&z).slice(s![..rows, ..]).to_owned();
    let (want, bound) = match below {
        Some(it) => {
            (nonlinear::gradient(&it, &product, &z), nonlinear::gradient_bound(&it, &product, &z, &bound))
        }
        None => (product, bound),
    };
    assert_close(
        &format!("input_gradient {rows} of {capacity} x {inputs} x {outputs} {below:?} {tuning:?}"),
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
                let below = Some(RELU).filter(|_| (i + j) % 2 == 0);
                check(lab, tuning, [rows, rows, inputs, ODD[(2 * i + j) % 6]], below);
            }
        }
    });
}

#[test]
fn every_activation_with_and_without_dropout() {
    everywhere(|lab, tuning| {
        for (number, nonlinearity) in nonlinear::all().enumerate() {
            let [rows, inputs, outputs] = [1, 2, 3].map(|step| ODD[(step * number + step) % ODD.len()]);
            check(lab, tuning, [rows + 3, rows, inputs, outputs], Some(nonlinearity));
        }
    });
}

#[test]
fn the_layers_of_mnist_and_a_short_last_batch() {
    everywhere(|lab, tuning| {
        check(lab, tuning, [64, 64, 300, 100], Some(RELU));
        check(lab, tuning, [64, 32, 100, 10], Some(RELU));
        check(lab, tuning, [64, 3, 20, 1], None);
    });
}
