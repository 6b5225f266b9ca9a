use ndarray::{Array1, Array2, s};
use tinytrain::kernels::{
    FeatureFormat, Forward, LayerInputs, Nonlinearity, Samples, StepRecord, Tuning, blocks, unpad_rows,
};
use tinytrain::reference::{bounds, ops};

use crate::lab::{Lab, ODD, Output, assert_close, batch, everywhere, indices, random, shuffled, wide};
use crate::nonlinear::{self, LINEAR, RELU, numbered};

/// Appends a column of ones to X, so that the bound of X W + b is the bound of one product.
pub fn with_ones(x: &Array2<f64>) -> Array2<f64> {
    let mut wider = Array2::ones((x.nrows(), x.ncols() + 1));
    wider.slice_mut(s![.., ..x.ncols()]).assign(x);
    wider
}

/// Shape of a check: batch size, rows of this batch, inputs, outputs.
type Shape = [usize; 4];

/// Allocates Y and, if the activation keeps it, Z after it.
fn room(lab: &Lab, [capacity, rows, _, outputs]: Shape, nonlinearity: &Nonlinearity) -> Output {
    let behind = if nonlinearity.keeps_z() { capacity } else { 0 };
    lab.output_matrix(behind + rows, outputs)
}

/// Reads Y, and Z if the activation keeps it; the space between must be unchanged.
fn read(
    lab: &Lab,
    output: &Output,
    [capacity, rows, _, outputs]: Shape,
    nonlinearity: &Nonlinearity,
) -> (Array2<f32>, Option<Array2<f32>>) {
    if !nonlinearity.keeps_z() {
        return (lab.read(output, rows, outputs), None);
    }
    let (values, stride) = (lab.floats(output), 4 * blocks(outputs));
    let between = &values[rows * stride..capacity * stride];
    assert!(between.iter().all(|value| value.is_nan()), "wrote into rows that are not live");
    let matrix = |place: usize| {
        let live = &values[place * stride..(place + rows) * stride];
        let padding = live.iter().enumerate().filter(|(i, _)| i % stride >= outputs);
        assert!(padding.into_iter().all(|(_, value)| *value == 0.0), "the padding is not 0");
        Array2::from_shape_vec((rows, outputs), unpad_rows(live, outputs)).unwrap()
    };
    (matrix(0), Some(matrix(capacity)))
}

/// Compares Y and Z with X W + b, where `all` has b below W.
fn compare(
    what: &str,
    lab: &Lab,
    (y, z): &(Array2<f32>, Option<Array2<f32>>),
    nonlinearity: &Nonlinearity,
    [x, all]: [&Array2<f64>; 2],
) {
    let inputs = x.ncols();
    let want = ops::forward(x.view(), all.slice(s![..inputs, ..]), all.row(inputs));
    let bound = bounds::matmul(with_ones(x).view(), all.view());
    let what = format!("{what} {nonlinearity:?}");
    if let Some(z) = z {
        assert_close(&format!("{what}: Z"), lab, z, &want, &bound);
    }
    let y_bound = nonlinear::value_bound(nonlinearity, &want, &bound);
    assert_close(&what, lab, y, &nonlinear::value(nonlinearity, &want), &y_bound);
}

/// Runs the kernel for the live rows of X; the layer is stored after some vec4s of other data.
fn forward(
    lab: &Lab,
    tuning: &Tuning,
    x: &Array2<f32>,
    parameters: &Array2<f32>,
    rows: usize,
    nonlinearity: Nonlinearity,
) -> (Array2<f32>, Option<Array2<f32>>) {
    let (capacity, inputs, outputs) = (x.nrows(), x.ncols(), parameters.ncols());
    let offset_rows = 2;
    let mut stored = Array2::from_elem((offset_rows + inputs + 1, outputs), f32::NAN);
    stored.slice_mut(s![offset_rows.., ..]).assign(parameters);
    let shape = [capacity, rows, inputs, outputs];
    let y = room(lab, shape, &nonlinearity);
    let (offset, source) = (offset_rows * blocks(outputs), LayerInputs::Matrix);
    lab.run(
        &Forward { rows: capacity, inputs, outputs, offset, nonlinearity, source },
        tuning,
        &[&lab.matrix(x), &lab.matrix(&stored), &y.buffer],
        batch(rows),
    );
    read(lab, &y, shape, &nonlinearity)
}

pub fn check(lab: &Lab, tuning: &Tuning, shape: Shape, nonlinearity: Nonlinearity) {
    let [capacity, rows, inputs, outputs] = shape;
    let x = random(capacity, inputs, 1);
    let parameters = random(inputs + 1, outputs, 2);
    let got = forward(lab, tuning, &x, &parameters, rows, nonlinearity);
    let x = wide(&x).slice(s![..rows, ..]).to_owned();
    let what = format!("forward {rows} of {capacity} x {inputs} x {outputs} {tuning:?}");
    compare(&what, lab, &got, &nonlinearity, [&x, &wide(&parameters)]);
}

/// Checks rows of a data set with 7 more rows, from the sixth of the order on.
fn check_stored(lab: &Lab, tuning: &Tuning, shape: Shape, stored: FeatureFormat, nonlinearity: Nonlinearity) {
    let [capacity, rows, inputs, outputs] = shape;
    let (count, first) = (capacity + 7, 5);
    let (features, values) = lab.features(stored, count, inputs);
    let order = shuffled(count);
    let parameters = random(inputs + 1, outputs, 2);
    let source = LayerInputs::DataSet(Samples { stored, count });
    let kernel = Forward { rows: capacity, inputs, outputs, offset: 0, nonlinearity, source };
    let run = || {
        let y = room(lab, shape, &nonlinearity);
        lab.run(
            &kernel,
            tuning,
            &[&features, &lab.matrix(&parameters), &lab.upload(&order), &y.buffer],
            StepRecord { first: first as u32, ..batch(rows) },
        );
        read(lab, &y, shape, &nonlinearity)
    };
    let x = ops::gather(values.view(), &indices(&order[first..first + rows]), 1.0);
    let what = format!("forward {rows} of {capacity} x {inputs} x {outputs} {stored:?} {tuning:?}");
    let got = run();
    compare(&what, lab, &got, &nonlinearity, [&x, &wide(&parameters)]);
    assert_eq!(got, run(), "{what}: again");
}

#[test]
fn rows_of_the_data_set_by_way_of_the_order() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate().filter(|(j, _)| (i + j) % 3 < 2) {
                let stored = if (i + j) % 2 == 0 { FeatureFormat::Bytes } else { FeatureFormat::Floats };
                check_stored(lab, tuning, [rows + j, rows, ODD[(2 * i + j) % 6], outputs], stored, RELU);
            }
        }
        for (number, stored) in [FeatureFormat::Bytes, FeatureFormat::Floats].into_iter().enumerate() {
            check_stored(lab, tuning, [64, 64, 784, 300], stored, RELU);
            // One that keeps Z, and one that does not; both with dropout.
            check_stored(lab, tuning, [64, 30, 784, 30], stored, numbered(5 + 2 * number));
        }
    });
}

#[test]
fn odd_shapes() {
    everywhere(|lab, tuning| {
        for (i, rows) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate() {
                let nonlinearity = if (i + j) % 2 == 0 { RELU } else { LINEAR };
                check(lab, tuning, [rows, rows, ODD[(i + j) % 6], outputs], nonlinearity);
            }
        }
    });
}

#[test]
fn every_activation_with_and_without_dropout() {
    everywhere(|lab, tuning| {
        for (number, nonlinearity) in nonlinear::all().enumerate() {
            let [rows, inputs, outputs] = [1, 2, 3].map(|step| ODD[(step * number + step) % ODD.len()]);
            check(lab, tuning, [rows + 3, rows, inputs, outputs], nonlinearity);
        }
    });
}

#[test]
fn the_first_layer_of_mnist_and_a_short_last_batch() {
    everywhere(|lab, tuning| {
        check(lab, tuning, [64, 64, 784, 300], RELU);
        check(lab, tuning, [64, 30, 784, 30], RELU);
        check(lab, tuning, [64, 1, 100, 10], LINEAR);
    });
}

#[test]
fn relu_keeps_nan() {
    everywhere(|lab, tuning| {
        let mut x = random(3, 5, 1);
        x[[1, 2]] = f32::NAN;
        let parameters = random(6, 4, 2);
        let (y, _) = forward(lab, tuning, &x, &parameters, 3, RELU);
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
        let (y, _) = forward(lab, tuning, &random(70, 9, 1), &parameters, 70, LINEAR);
        assert!(y.rows().into_iter().all(|row| row == bias), "{y}");
    });
}
