use ndarray::{Axis, concatenate};
use tinytrain::kernels::{LayerUpdate, ScaleGradient, StepRecord, Tuning};
use tinytrain::step::UpdateRule;

use crate::embed::Problem;
use crate::embed_gradient::Updated;
use crate::lab::{Lab, everywhere, random, wide};
use crate::optimized::{STEP, assert_row, optimized_input, rules};

fn check(lab: &Lab, tuning: &Tuning, [columns, rows]: [usize; 2], rule: &UpdateRule) {
    let problem = Problem::new(columns, rows, true);
    let (inputs, capacity) = (problem.layer.inputs(), rows + 3);
    let offset = problem.input().0.scale();
    let (x, e, dx) = (random(capacity, inputs, 1), random(rows, inputs, 2), random(rows, inputs, 3));
    let on_x = lab.matrix(&concatenate![Axis(0), x, e]);
    let on_dx = lab.matrix(&dx);
    let record = StepRecord { rows: rows as u32, ..rule.record(STEP) };
    let products = wide(&e) * wide(&dx);
    let want = products.sum_axis(Axis(0));
    let bound = products.mapv(f64::abs).sum_axis(Axis(0)) * ((rows as f64 + 2.0) * f64::from(f32::EPSILON));
    let what = format!("scale_gradient {rows} x {inputs} {}", rule.optimizer.kind);

    let result = lab.output(4 * (offset + inputs.div_ceil(4)));
    let kernel = ScaleGradient { rows: capacity, inputs, offset, update: None };
    lab.run(&kernel, tuning, &[&on_x, &on_dx, &result.buffer], record);
    let got = lab.floats(&result).split_off(4 * offset);
    for (i, value) in got.iter().enumerate() {
        let (want, bound) = if i < inputs { (want[i], bound[i]) } else { (0.0, 0.0) };
        assert!((f64::from(*value) - want).abs() <= bound, "{what}, {i}: {value}, not {want} +- {bound}");
    }

    let updated = Updated::new(&problem, rule);
    let output = lab.output(updated.before.len());
    lab.context.queue.write_buffer(&output.buffer, 0, bytemuck::cast_slice(&updated.before));
    let update = Some(LayerUpdate::for_input_layer(rule, &updated.layout));
    lab.run(&ScaleGradient { update, ..kernel }, tuning, &[&on_x, &on_dx, &output.buffer], record);
    let after = lab.floats(&output);
    let scale = |values: &[f32], place: usize| updated.region(values, place).input.unwrap().scale;
    let states = rule.optimizer.kind.states();
    let before: Vec<_> = (0..=states).map(|place| scale(&updated.before, place)).collect();
    let wanted: Vec<_> = (0..inputs)
        .map(|i| {
            let state = [1, 2].map(|n: usize| before.get(n).map_or(0.0, |state| f64::from(state[i])));
            optimized_input(rule, 1, (f64::from(before[0][i]), want[i], bound[i]), state)
        })
        .collect();
    let got: Vec<_> = (0..=states).map(|place| scale(&after, place).into()).collect();
    assert_row(&what, &got, &wanted);
    let weights = |values: &[f32]| updated.region(values, 0).input.unwrap().weights;
    assert_eq!(weights(&after), weights(&updated.before), "{what}: other parameters");
}

#[test]
fn every_optimizer_updates_the_factors_of_inputs() {
    everywhere(|lab, tuning| {
        for rule in rules() {
            check(lab, tuning, [7, 17], &rule);
        }
        for shape in [[1, 1], [3, 65], [40, 3]] {
            check(lab, tuning, shape, &UpdateRule::sgd(0.3));
        }
    });
}
