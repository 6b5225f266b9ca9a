//! Networks with an input layer.

use super::super::plan::Plan;
use super::gradients::check_gradients;
use super::training::{check_training, options, order, rule, train};
use super::{Problem, ROWS, number};
use crate::data::Features;
use crate::engine::Engine;
use crate::engine::{Inference, block};
use crate::model::{InputColumn, InputLayer, Parameters};
use crate::step::{Activation, Loss, OptimizerKind, UpdateRule};

/// A network wide enough for several pieces, most with a column of each kind; its rows contain unknown
/// categories.
pub fn problem(scaled: bool, loss: Loss) -> Problem {
    problem_with(&[40, 17, 3], scaled, loss)
}

/// The same network with layers of these units.
fn problem_with(units: &[usize], scaled: bool, loss: Loss) -> Problem {
    let kinds = [
        InputColumn::Periodic,
        InputColumn::OneHot { categories: 3 },
        InputColumn::Embedding { categories: 5, size: 7 },
        InputColumn::Number,
    ];
    let columns: Vec<InputColumn> = kinds.into_iter().cycle().take(19).collect();
    let layer = InputLayer::new(columns.clone(), scaled).unwrap();
    let dense = Problem::new(&[&[layer.inputs()], units].concat(), Activation::Silu, 0.2, loss, false);
    let network = dense.network.with_input_layer(layer).unwrap();
    let mut parameters = Parameters { input: Parameters::he_normal(&network, 4).input, ..dense.parameters };
    let input = parameters.input.as_mut().unwrap();
    input.scale.iter_mut().enumerate().for_each(|(i, scale)| *scale += 0.3 * number(300, i));
    let value = |index: usize| match columns[index % 19] {
        InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. } => {
            (index / 19 % (categories + 2)) as f32 - 1.0
        }
        _ => number(301, index),
    };
    let features = Features::Floats((0..ROWS * 19).map(value).collect());
    Problem { network, parameters, data: crate::data::Dataset { inputs: 19, features, ..dense.data } }
}

const COLUMNS: [Plan; 3] = [Plan::Columns(1), Plan::Columns(2), Plan::Columns(5)];

#[test]
fn gradients_agree_with_the_reference() {
    for loss in [Loss::CrossEntropy, Loss::Mse] {
        for (scaled, rows) in [(true, ROWS), (true, 1), (false, 2)] {
            check_gradients(&problem(scaled, loss), rows, &COLUMNS);
            check_gradients(&problem_with(&[70, 3], scaled, loss), rows, &COLUMNS);
        }
    }
}

#[test]
fn outputs_agree_with_the_reference() {
    let problem = problem(true, Loss::Mse);
    let rows: Vec<u32> = (0..ROWS as u32).collect();
    let want = problem.reference().logits(problem.batch(&rows).x.view());
    for plan in COLUMNS {
        let mut engine = problem.engine(&options(8, UpdateRule::sgd(0.1)), plan);
        let got = block(engine.outputs(&problem.data.view())).unwrap();
        assert_eq!(got.len(), 3 * ROWS);
        for (got, want) in got.iter().zip(&want) {
            assert!((f64::from(*got) - want).abs() <= 2e-6 * want.abs().max(1.0), "{got}, not {want}");
        }
    }
}

#[test]
fn every_optimizer_trains_as_the_reference_does() {
    for kind in OptimizerKind::ALL.iter().copied() {
        let mut rule = rule(kind);
        (rule.factors.embeddings, rule.factors.scale) = (0.5, 3.0);
        rule.factors.layer_weights = vec![0.5];
        check_training(&problem(true, Loss::CrossEntropy), &rule, &COLUMNS);
        rule.clip_norm = None;
        check_training(&problem(false, Loss::Mse), &rule, &COLUMNS[1..2]);
    }
    for scaled in [true, false] {
        check_training(&problem(scaled, Loss::Mse), &UpdateRule::sgd(0.05), &COLUMNS);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let order = order();
    let clipped = UpdateRule { clip_norm: Some(0.3), ..rule(OptimizerKind::Adam) };
    // After the input layer and after another layer: layers with few outputs.
    for units in [&[40, 17, 3][..], &[3], &[70, 3]] {
        let problem = problem_with(units, true, Loss::CrossEntropy);
        for rule in [rule(OptimizerKind::Adam), clipped.clone(), UpdateRule::sgd(0.05)] {
            let trained = |plan| {
                let mut engine = problem.engine(&options(17, rule.clone()), plan);
                let ended = train(&mut engine, &problem, &order[..60]);
                (ended, block(engine.snapshot()).unwrap())
            };
            let one = trained(COLUMNS[0]);
            assert!(trained(COLUMNS[1]) == one && trained(COLUMNS[2]) == one, "{units:?}");
        }
    }
}

/// Also in an engine other than the source of the parameters and state.
#[test]
fn what_is_restored_goes_on_bit_for_bit() {
    let (problem, order) = (problem(true, Loss::CrossEntropy), order());
    let options = options(8, rule(OptimizerKind::AdamW));
    let mut engine = problem.engine(&options, COLUMNS[1]);
    train(&mut engine, &problem, &order[..64]);
    let (parameters, state) = block(engine.snapshot()).unwrap();
    assert_ne!(parameters.input, problem.parameters.input);
    let first = train(&mut engine, &problem, &order[64..]);
    let mut other = problem.engine(&options, COLUMNS[1]);
    other.restore(&parameters, &state).unwrap();
    assert_eq!(train(&mut other, &problem, &order[64..]), first);
    assert_eq!(block(other.parameters()).unwrap(), block(engine.parameters()).unwrap());
}
