use ndarray::{Array2, concatenate, s};
use ndarray::{Axis, stack};
use tinytrain::kernels::{
    FeatureFormat, LayerInputs, LayerUpdate, Samples, StepRecord, Tuning, WeightGradient, blocks, pad_rows,
};
use tinytrain::model::ParameterLayout;
use tinytrain::reference::{bounds, ops};
use tinytrain::step::UpdateRule;

use crate::forward::with_ones;
use crate::lab::{Lab, ODD, assert_close, everywhere, indices, random, shuffled, wide};
use crate::optimized::{STEP, assert_row, optimized, rules, state};

/// Returns dW and below it db, as the kernel stores them.
fn reference(x: &Array2<f64>, dy: &Array2<f64>) -> Array2<f64> {
    let (dw, db) = ops::weight_gradient(x.view(), dy.view());
    concatenate(Axis(0), &[dw.view(), stack(Axis(0), &[db.view()]).unwrap().view()]).unwrap()
}

/// Parameters of a check: batch size, rows of this batch, inputs, outputs; the format of X.
type Case = ([usize; 4], Option<FeatureFormat>);

/// Start of the batch in the order.
const FIRST: usize = 5;

/// X as input of the kernel: its buffer, the buffer of the order if it is read, and its live rows.
struct Operand {
    source: LayerInputs,
    buffer: wgpu::Buffer,
    order: Option<wgpu::Buffer>,
    x: Array2<f64>,
}

fn operand(lab: &Lab, ([capacity, rows, inputs, _], stored): Case) -> Operand {
    let Some(stored) = stored else {
        let x = random(capacity, inputs, 1);
        let live = wide(&x).slice(s![..rows, ..]).to_owned();
        return Operand { source: LayerInputs::Matrix, buffer: lab.matrix(&x), order: None, x: live };
    };
    let count = capacity + FIRST + 2;
    let (buffer, values) = lab.features(stored, count, inputs);
    let order = shuffled(count);
    let x = ops::gather(values.view(), &indices(&order[FIRST..FIRST + rows]), 1.0);
    let source = LayerInputs::DataSet(Samples { stored, count });
    Operand { source, buffer, order: Some(lab.upload(&order)), x }
}

/// Checks the gradient, twice, and the update by a rule.
fn check_with(lab: &Lab, tuning: &Tuning, case: Case, rule: &UpdateRule) {
    let ([capacity, rows, inputs, outputs], stored) = case;
    let what = format!("weight_gradient {rows} of {capacity} x {inputs} x {outputs} {stored:?} {tuning:?}");
    let Operand { source, buffer, order, x } = operand(lab, case);
    let mut dy = random(capacity, outputs, 2);
    // Values left by an earlier, longer batch must have no effect.
    dy.slice_mut(s![rows.., ..]).fill(f32::NAN);
    let live = wide(&dy).slice(s![..rows, ..]).to_owned();
    let gradient = reference(&x, &live);
    let bound = bounds::matmul(with_ones(&x).t(), live.view());
    let kernel = WeightGradient { rows: capacity, inputs, outputs, offset: 0, update: None, source };
    let on_dy = lab.matrix(&dy);
    let run = |kernel: &WeightGradient, result: &wgpu::Buffer| {
        let buffers: Vec<_> = [&buffer, &on_dy].into_iter().chain(&order).chain([result]).collect();
        let record = StepRecord { first: FIRST as u32, rows: rows as u32, ..rule.record(STEP) };
        lab.run(kernel, tuning, &buffers, record);
    };

    let result = lab.output_matrix(inputs + 1, outputs);
    run(&kernel, &result.buffer);
    let got = lab.read(&result, inputs + 1, outputs);
    assert_close(&what, lab, &got, &gradient, &bound);
    run(&kernel, &result.buffer);
    assert_eq!(got, lab.read(&result, inputs + 1, outputs), "{what}: again");

    // The same, as an update of the second layer's parameters, which follow the first layer's.
    let kind = rule.optimizer.kind;
    let layout = ParameterLayout::of_sizes(&[1, outputs, outputs]).with_states(kind.states());
    let above = layout.layers()[1].offset / blocks(outputs);
    let (region, length) = (above + inputs + 1, inputs + 1);
    let update = LayerUpdate {
        state: region * blocks(outputs),
        region: region * blocks(outputs),
        ..LayerUpdate::for_layer(rule, &layout, 1)
    };
    let mut before = random((1 + kind.states()) * region, outputs, 3);
    let states = state(kind, length, outputs);
    for (number, state) in states.iter().enumerate() {
        before.slice_mut(s![(number + 1) * region + above..(number + 2) * region, ..]).assign(state);
    }
    let updated = lab.output_matrix(before.nrows(), outputs);
    let padded = pad_rows(&before.iter().copied().collect::<Vec<_>>(), outputs);
    lab.context.queue.write_buffer(&updated.buffer, 0, bytemuck::cast_slice(&padded));
    run(&WeightGradient { offset: above * blocks(outputs), update: Some(update), ..kernel }, &updated.buffer);
    let after = lab.read(&updated, before.nrows(), outputs);
    for number in 0..=kind.states() {
        let other = s![number * region..number * region + above, ..];
        assert_eq!(after.slice(other), before.slice(other), "{what}: parameters of another layer");
    }
    for row in 0..length {
        let number = |place: usize| place * region + above + row;
        let want: Vec<_> = (0..outputs)
            .map(|column| {
                let at = [row, column];
                let p = f64::from(before[[number(0), column]]);
                let state = [0, 1].map(|n| states.get(n).map_or(0.0, |state| f64::from(state[at])));
                optimized(rule, [1, usize::from(row == inputs)], (p, gradient[at], bound[at]), state)
            })
            .collect();
        let got: Vec<_> = (0..=kind.states()).map(|place| after.row(number(place)).to_owned()).collect();
        assert_row(&format!("{what}, {kind}, row {row}"), &got, &want);
    }
}

fn check_from(lab: &Lab, tuning: &Tuning, case: Case) {
    check_with(lab, tuning, case, &UpdateRule::sgd(0.1));
}

pub fn check(lab: &Lab, tuning: &Tuning, shape: [usize; 4]) {
    check_from(lab, tuning, (shape, None));
}

#[test]
fn rows_of_the_data_set_by_way_of_the_order() {
    everywhere(|lab, tuning| {
        for (i, inputs) in ODD.into_iter().enumerate() {
            for (j, outputs) in ODD.into_iter().enumerate().filter(|(j, _)| (i + j) % 3 < 2) {
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
fn every_optimizer_updates_parameters_and_state() {
    everywhere(|lab, tuning| {
        let sources = [None, Some(FeatureFormat::Bytes), Some(FeatureFormat::Floats)];
        for (number, rule) in rules().iter().enumerate() {
            let [rows, inputs, outputs] = [3, 4, 5].map(|step| ODD[(step * number + step) % ODD.len()]);
            check_with(lab, tuning, ([rows + 2, rows, inputs, outputs], sources[number % 3]), rule);
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
