use tinytrain::kernels::{EmbedGradient, LayerUpdate, StepRecord, Tuning};
use tinytrain::model::{ParameterLayout, Parameters};
use tinytrain::reference::{ReferenceInput, bounds};
use tinytrain::step::UpdateRule;

use crate::embed::Problem;
use crate::lab::{Lab, everywhere, random, wide};
use crate::optimized::{STEP, assert_row, optimized_input, rules};

/// Parameters and their state for an update rule, all in one buffer, and the layout.
pub struct Updated {
    pub layout: ParameterLayout,
    pub before: Vec<f32>,
}

impl Updated {
    /// The state has the size of an optimizer's after some steps; means of squares are above 0. Padding is 0.
    pub fn new(problem: &Problem, rule: &UpdateRule) -> Self {
        let states = rule.optimizer.kind.states();
        let layout = problem.layout.clone().with_states(states);
        let mut before = layout.pack(&problem.parameters);
        for number in 0..states {
            let mut state = problem.parameters.clone();
            let input = state.input.as_mut().unwrap();
            for (i, value) in input.weights.iter_mut().chain(&mut input.scale).enumerate() {
                let drawn = 0.3 * random(1, 1, 900 + i as u32)[[0, 0]];
                let fresh = if number == 1 { 0.05 + drawn * drawn } else { drawn };
                *value = if *value == 0.0 { 0.0 } else { fresh };
            }
            before.extend(layout.pack(&state));
        }
        Self { layout, before }
    }

    /// Returns the numbers of a region: parameters, or state.
    pub fn region(&self, values: &[f32], number: usize) -> Parameters {
        let length = 4 * self.layout.weights();
        self.layout.unpack(&values[number * length..][..length])
    }
}

fn check(lab: &Lab, tuning: &Tuning, problem: &Problem, rule: &UpdateRule) {
    let (rows, inputs) = (problem.rows.nrows(), problem.layer.inputs());
    let (layout, _) = problem.input();
    let (on_rows, dx) = (lab.matrix(&problem.rows), random(rows, inputs, 8));
    let on_dx = lab.matrix(&dx);
    let record = StepRecord { rows: rows as u32, ..rule.record(STEP) };
    let reference = problem.reference();
    let (values, dx) = (wide(&problem.rows), wide(&dx));
    let want: ReferenceInput = reference.gradients(values.view(), &reference.embedded(values.view()), &dx);
    let bound = bounds::input_gradients(&reference, &values, &dx);
    let what = format!("embed_gradient {rows} x {inputs} {}", rule.optimizer.kind);

    // Stored, twice.
    let on_parameters = lab.upload(&problem.layout.pack(&problem.parameters));
    let stored = || {
        let result = lab.output(4 * layout.scale());
        for kernel in EmbedGradient::all(rows + 1, &problem.layer, layout, None) {
            lab.run(&kernel, tuning, &[&on_rows, &on_dx, &on_parameters, &result.buffer], record);
        }
        lab.floats(&result).split_off(4 * layout.offset)
    };
    let got = stored();
    assert_eq!(got.len(), want.weights.len());
    for (i, ((got, want), bound)) in got.iter().zip(&want.weights).zip(&bound.weights).enumerate() {
        let error = (f64::from(*got) - want).abs();
        assert!(error <= *bound, "{what}, {i}: {got}, not {want} within {bound:e}");
    }
    assert_eq!(got, stored(), "{what}: again");

    // As an update in place.
    let updated = Updated::new(problem, rule);
    let output = lab.output(updated.before.len());
    lab.context.queue.write_buffer(&output.buffer, 0, bytemuck::cast_slice(&updated.before));
    let update = Some(LayerUpdate::for_input_layer(rule, &updated.layout));
    for kernel in EmbedGradient::all(rows + 1, &problem.layer, layout, update) {
        lab.run(&kernel, tuning, &[&on_rows, &on_dx, &output.buffer], record);
    }
    let after = lab.floats(&output);
    let states = rule.optimizer.kind.states();
    let before: Vec<Parameters> = (0..=states).map(|place| updated.region(&updated.before, place)).collect();
    let after: Vec<Parameters> = (0..=states).map(|place| updated.region(&after, place)).collect();
    for (before, after) in before.iter().zip(&after) {
        let rest = |of: &Parameters| (of.layers.clone(), of.input.as_ref().unwrap().scale.clone());
        assert_eq!(rest(before), rest(after), "{what}: other parameters");
    }
    let weights = |of: &[Parameters], place: usize, i: usize| of[place].input.as_ref().unwrap().weights[i];
    let wanted: Vec<_> = (0..want.weights.len())
        .map(|i| {
            let state = [1, 2].map(|n| if n <= states { f64::from(weights(&before, n, i)) } else { 0.0 });
            let of = (f64::from(weights(&before, 0, i)), want.weights[i], bound.weights[i]);
            optimized_input(rule, 0, of, state)
        })
        .collect();
    let got: Vec<_> = (0..=states)
        .map(|place| (0..want.weights.len()).map(|i| weights(&after, place, i)).collect())
        .collect();
    assert_row(&what, &got, &wanted);
}

#[test]
fn every_optimizer_updates_the_weights_of_columns() {
    everywhere(|lab, tuning| {
        for (number, rule) in rules().into_iter().enumerate() {
            check(lab, tuning, &Problem::new(7, 17, number % 2 == 0), &rule);
        }
    });
}

#[test]
fn batches_and_tables_of_any_size() {
    everywhere(|lab, tuning| {
        for (columns, rows) in [(1, 1), (2, 65), (140, 3)] {
            check(lab, tuning, &Problem::new(columns, rows, true), &UpdateRule::sgd(0.3));
        }
    });
}
