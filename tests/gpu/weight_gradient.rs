use ndarray::{Array2, concatenate, s};
use ndarray::{Axis, stack};
use tinytrain::kernels::{FeatureFormat, StepRecord, Tuning, WeightGradient, blocks};
use tinytrain::reference::{bounds, ops};

use crate::forward::with_ones;
use crate::lab::{Lab, ODD, assert_close, batch, everywhere, indices, random, shuffled, wide};

/// dW and below it db, as the kernel stores them.
fn reference(x: &Array2<f64>, dy: &Array2<f64>) -> Array2<f64> {
    let (dw, db) = ops::weight_gradient(x.view(), dy.view());
    concatenate(Axis(0), &[dw.view(), stack(Axis(0), &[db.view()]).unwrap().view()]).unwrap()
}

/// What a check is about: most rows of a batch, those of this one, inputs, outputs; where X comes from.
type Case = ([usize; 4], Option<FeatureFormat>);

/// The buffer that X is read from, that of the order if it is read, and the live rows of X.
fn operand(
    lab: &Lab,
    ([capacity, rows, inputs, _], stored): Case,
) -> (wgpu::Buffer, Option<wgpu::Buffer>, Array2<f64>) {
    let Some(stored) = stored else {
        let x = random(capacity, inputs, 1);
        return (lab.matrix(&x), None, wide(&x).slice(s![..rows, ..]).to_owned());
    };
    let samples = capacity + FIRST + 2;
    let (features, values) = lab.features(stored, samples, inputs);
    let order = shuffled(samples);
    let x = ops::gather(values.view(), &indices(&order[FIRST..FIRST + rows]), 1.0);
    (features, Some(lab.upload(&order)), x)
}

/// Where the batch begins in the order.
const FIRST: usize = 5;

fn check_from(lab: &Lab, tuning: &Tuning, case: Case) {
    let ([capacity, rows, inputs, outputs], stored) = case;
    let what = format!("weight_gradient {rows} of {capacity} x {inputs} x {outputs} {stored:?} {tuning:?}");
    let (on_x, order, x) = operand(lab, case);
    let mut dy = random(capacity, outputs, 2);
    // What an earlier, longer batch has left behind must not count.
    dy.slice_mut(s![rows.., ..]).fill(f32::NAN);
    let live = wide(&dy).slice(s![..rows, ..]).to_owned();
    let gradient = reference(&x, &live);
    let bound = bounds::matmul(with_ones(&x).t(), live.view());
    let kernel = WeightGradient { rows: capacity, inputs, outputs, offset: 0, update: None, stored };
    let run = |kernel: &WeightGradient, result: &wgpu::Buffer| {
        let on_dy = lab.matrix(&dy);
        let buffers: Vec<_> = [&on_x, &on_dy].into_iter().chain(&order).chain([result]).collect();
        lab.run(kernel, tuning, &buffers, StepRecord { first: FIRST as u32, ..batch(rows) });
    };

    let result = lab.output_matrix(inputs + 1, outputs);
    run(&kernel, &result.buffer);
    let got = lab.read(&result, inputs + 1, outputs);
    assert_close(&what, lab, &got, &gradient, &bound);
    run(&kernel, &result.buffer);
    assert_eq!(got, lab.read(&result, inputs + 1, outputs), "{what}: again");

    // The same, as an update of parameters that stand behind others.
    let rate = 0.1f32;
    let before = random(2 + inputs + 1, outputs, 3);
    let updated = lab.output_matrix(2 + inputs + 1, outputs);
    let stored: Vec<f32> = before.iter().copied().collect();
    let padded = tinytrain::kernels::pad_rows(&stored, outputs);
    lab.context.queue.write_buffer(&updated.buffer, 0, bytemuck::cast_slice(&padded));
    run(&WeightGradient { offset: 2 * blocks(outputs), update: Some(rate), ..kernel }, &updated.buffer);
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

pub fn check(lab: &Lab, tuning: &Tuning, shape: [usize; 4]) {
    check_from(lab, tuning, (shape, None));
}

#[test]
fn rows_of_the_data_set_by_way_of_the_order() {
    everywhere(|lab, tuning| {
        for (i, inputs) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate() {
                let stored = if (i + j) % 2 == 0 { FeatureFormat::Bytes } else { FeatureFormat::Floats };
                let rows = ODD[(i + 2 * j) % 6];
                check_from(lab, tuning, ([rows + j, rows, inputs, outputs], Some(stored)));
            }
        }
        for stored in [FeatureFormat::Bytes, FeatureFormat::Floats] {
            check_from(lab, tuning, ([64, 64, 784, 300], Some(stored)));
            check_from(lab, tuning, ([64, 30, 784, 10], Some(stored)));
        }
    });
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
