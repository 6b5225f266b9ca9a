use ndarray::{Array1, Array2, s};
use tinytrain::kernels::{FeatureFormat, Forward, StepRecord, Tuning, blocks};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, ODD, assert_close, batch, everywhere, indices, random, shuffled, wide};

/// X with a column of ones, so that the bound of X W + b is that of one product.
pub fn with_ones(x: &Array2<f64>) -> Array2<f64> {
    let mut wider = Array2::ones((x.nrows(), x.ncols() + 1));
    wider.slice_mut(s![.., ..x.ncols()]).assign(x);
    wider
}

/// Runs the kernel for `rows` live rows of X; the layer stands behind `offset` vec4s of something else.
fn forward(
    lab: &Lab,
    tuning: &Tuning,
    x: &Array2<f32>,
    parameters: &Array2<f32>,
    rows: usize,
    relu: bool,
) -> Array2<f32> {
    let (inputs, outputs) = (x.ncols(), parameters.ncols());
    let offset_rows = 2;
    let mut stored = Array2::from_elem((offset_rows + inputs + 1, outputs), f32::NAN);
    stored.slice_mut(s![offset_rows.., ..]).assign(parameters);
    let y = lab.output_matrix(rows, outputs);
    lab.run(
        &Forward {
            rows: x.nrows(),
            inputs,
            outputs,
            offset: offset_rows * blocks(outputs),
            relu,
            stored: None,
        },
        tuning,
        &[&lab.matrix(x), &lab.matrix(&stored), &y.buffer],
        batch(rows),
    );
    lab.read(&y, rows, outputs)
}

pub fn check(lab: &Lab, tuning: &Tuning, [capacity, rows, inputs, outputs]: [usize; 4], relu: bool) {
    let x = random(capacity, inputs, 1);
    let parameters = random(inputs + 1, outputs, 2);
    let wide_x = wide(&x).slice(s![..rows, ..]).to_owned();
    let all = wide(&parameters);
    let z = ops::forward(wide_x.view(), all.slice(s![..inputs, ..]), all.row(inputs));
    assert_close(
        &format!("forward {rows} of {capacity} x {inputs} x {outputs} relu {relu} {tuning:?}"),
        lab,
        &forward(lab, tuning, &x, &parameters, rows, relu),
        &if relu { ops::relu(z.view()) } else { z },
        &bounds::matmul(with_ones(&wide_x).view(), all.view()),
    );
}

/// Rows of a data set of 7 more, those from the sixth of the order on.
fn check_stored(
    lab: &Lab,
    tuning: &Tuning,
    [capacity, rows, inputs, outputs]: [usize; 4],
    stored: FeatureFormat,
) {
    let (samples, first) = (capacity + 7, 5);
    let (features, values) = lab.features(stored, samples, inputs);
    let order = shuffled(samples);
    let parameters = random(inputs + 1, outputs, 2);
    let run = || {
        let y = lab.output_matrix(rows, outputs);
        lab.run(
            &Forward { rows: capacity, inputs, outputs, offset: 0, relu: true, stored: Some(stored) },
            tuning,
            &[&features, &lab.matrix(&parameters), &lab.upload(&order), &y.buffer],
            StepRecord { first: first as u32, ..batch(rows) },
        );
        lab.read(&y, rows, outputs)
    };
    let x = ops::gather(values.view(), &indices(&order[first..first + rows]), 1.0);
    let all = wide(&parameters);
    let z = ops::forward(x.view(), all.slice(s![..inputs, ..]), all.row(inputs));
    let what = format!("forward {rows} of {capacity} x {inputs} x {outputs} {stored:?} {tuning:?}");
    let y = run();
    assert_close(&what, lab, &y, &ops::relu(z.view()), &bounds::matmul(with_ones(&x).view(), all.view()));
    assert_eq!(y, run(), "{what}: again");
}

#[test]
fn rows_of_the_data_set_by_way_of_the_order() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate() {
                let stored = if (i + j) % 2 == 0 { FeatureFormat::Bytes } else { FeatureFormat::Floats };
                check_stored(lab, tuning, [rows + j, rows, ODD[(2 * i + j) % 6], outputs], stored);
            }
        }
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            check_stored(lab, tuning, [64, 64, 784, 300], stored);
            check_stored(lab, tuning, [64, 30, 784, 30], stored);
        }
    });
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate() {
                check(lab, tuning, [rows, rows, ODD[(i + j) % 6], outputs], (i + j) % 2 == 0);
            }
        }
    });
}

#[test]
fn the_first_layer_of_mnist_and_a_short_last_batch() {
    everywhere(|lab, tuning| {
        check(lab, tuning, [64, 64, 784, 300], true);
        check(lab, tuning, [64, 30, 784, 30], true);
        check(lab, tuning, [64, 1, 100, 10], false);
    });
}

#[test]
fn relu_keeps_nan() {
    everywhere(|lab, tuning| {
        let mut x = random(3, 5, 1);
        x[[1, 2]] = f32::NAN;
        let parameters = random(6, 4, 2);
        let y = forward(lab, tuning, &x, &parameters, 3, true);
        assert!(y.row(1).iter().all(|value| value.is_nan()), "{y}");
        assert!(y.row(0).iter().chain(y.row(2)).all(|value| value.is_finite()), "{y}");
    });
}

#[test]
fn the_bias_is_added_once() {
    everywhere(|lab, tuning| {
        let bias = Array1::from(vec![0.5f32, -2.0, 3.25]);
        let mut parameters = Array2::zeros((10, 3));
        parameters.row_mut(9).assign(&bias);
        let y = forward(lab, tuning, &random(70, 9, 1), &parameters, 70, false);
        assert!(y.rows().into_iter().all(|row| row == bias), "{y}");
    });
}
