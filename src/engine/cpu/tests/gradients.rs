//! Gradients, outputs and losses of one batch.

use super::super::CpuEngine;
use super::super::plan::Plan;
use super::{PLANS, Problem, ROWS, flat, number, numbers};
use crate::data::{Features, Rows, Targets, TargetsRef};
use crate::engine::{Engine, EngineOptions};
use crate::engine::{Inference, block};
use crate::reference::bounds;
use crate::step::{Activation, Loss, UpdateRule};

/// Compares gradients of a step with weights, label smoothing and dropout with the reference, within rounding
/// error.
pub fn check_gradients(problem: &Problem, rows: usize, plans: &[Plan]) {
    let rule = UpdateRule { label_smoothing: 0.1, seed: 3, ..UpdateRule::sgd(0.1) };
    let options = EngineOptions { rule: rule.clone(), ..EngineOptions::sgd(ROWS, 0.1) };
    let order: Vec<u32> = (0..rows as u32).collect();
    let (reference, batch) = (problem.reference(), problem.batch(&order));
    let pass = reference.pass(batch.x.view(), Some(&rule.record(0)));
    let targets = batch.targets().smoothed(f64::from(rule.label_smoothing));
    let want = flat(&reference.gradients_of(&pass, &targets));
    let bounds = flat(&bounds::gradients_of(&reference, &pass, &targets));
    for plan in plans.iter().copied() {
        if plan.is_by_columns() && problem.network.dense().len() == 1 {
            continue; // Nothing above the first layer is divided.
        }
        let data = problem.first_rows(rows);
        let got = block(problem.engine(&options, plan).gradients(&data.view())).unwrap();
        for (((got, want), bound), place) in numbers(&got).iter().zip(&want).zip(&bounds).zip(0..) {
            let what = (problem.network.dense()[0], problem.network.loss(), plan);
            assert!(
                (f64::from(*got) - want).abs() <= *bound,
                "{what:?} {place}: {got}, not {want} +- {bound}"
            );
        }
    }
}

#[test]
fn gradients_of_every_activation_and_loss_are_those_of_the_reference() {
    for activation in Activation::ALL.iter().copied() {
        for loss in Loss::ALL.iter().copied() {
            for (dropout, sparse) in [(0.0, false), (0.3, true)] {
                check_gradients(
                    &Problem::new(&[9, 50, 17, 5], activation, dropout, loss, sparse),
                    ROWS,
                    &PLANS,
                );
            }
        }
    }
}

#[test]
fn layers_of_any_size_and_batches_of_any_size_have_gradients() {
    for sizes in [&[9, 65, 3, 40, 19][..], &[9, 60, 24], &[9, 1, 4], &[1, 1, 1, 2], &[9, 5], &[9, 40, 33, 1]]
    {
        for (loss, sparse) in [(Loss::CrossEntropy, false), (Loss::Mse, true)] {
            for rows in [1, 2, ROWS] {
                check_gradients(&Problem::new(sizes, Activation::Silu, 0.2, loss, sparse), rows, &PLANS);
            }
        }
    }
}

/// Neither dropout nor weights nor smoothing.
#[test]
fn evaluation_is_that_of_the_plain_network() {
    let problem = Problem::new(&[9, 50, 17, 5], Activation::Gelu, 0.4, Loss::CrossEntropy, false);
    let order: Vec<u32> = (0..ROWS as u32).collect();
    let (reference, batch) = (problem.reference(), problem.batch(&order));
    let logits = reference.logits(batch.x.view());
    let want = reference.loss(batch.x.view(), &batch.classes);
    let rule = UpdateRule { label_smoothing: 0.3, ..UpdateRule::sgd(0.1) };
    let options = EngineOptions { rule, ..EngineOptions::sgd(16, 0.1) };
    for plan in PLANS {
        let mut engine = problem.engine(&options, plan);
        let evaluation = block(engine.evaluate(&problem.data.view())).unwrap();
        assert!((evaluation.loss - want).abs() <= 1e-6 * want, "{plan:?}: {}, not {want}", evaluation.loss);
        let outputs = block(engine.outputs(&problem.data.view())).unwrap();
        for ((got, want), index) in outputs.iter().zip(&logits).zip(0..) {
            assert!((f64::from(*got) - want).abs() <= 1e-5, "{plan:?} {index}: {got}, not {want}");
        }
        let best = |z: &[f32]| (0..5).fold(0, |best, i| if z[i] > z[best] { i } else { best }) as u32;
        assert_eq!(evaluation.predictions, outputs.chunks(5).map(best).collect::<Vec<_>>());
    }
}

/// Enough rows for three threads, in parts of which the last is short.
#[test]
fn evaluation_on_several_threads_is_that_on_one() {
    let problem = Problem::new(&[9, 50, 3], Activation::Relu, 0.0, Loss::CrossEntropy, false);
    let rows = 3 * 7501;
    let mut data = problem.data.clone();
    data.features = Features::Floats((0..rows * 9).map(|index| number(7, index)).collect());
    data.targets = Targets::Classes((0..rows).map(|row| (row * 5 % 3) as u32).collect());
    let evaluated = [1, 3].map(|cores| {
        let (options, plan) = (EngineOptions::sgd(16, 0.1), PLANS[0]);
        let mut engine = CpuEngine::with_plan(&problem.parameters, &problem.network, &options, cores, plan);
        (block(engine.evaluate(&data.view())).unwrap(), block(engine.outputs(&data.view())).unwrap())
    });
    let (evaluation, outputs) = &evaluated[0];
    assert_eq!((evaluation.predictions.len(), outputs.len()), (rows, 3 * rows));
    assert!(evaluated[0] == evaluated[1]);
}

#[test]
fn outputs_need_no_targets() {
    for loss in [Loss::CrossEntropy, Loss::Huber] {
        let problem = Problem::new(&[9, 20, 3], Activation::Tanh, 0.0, loss, false);
        let mut engine = problem.engine(&EngineOptions::sgd(16, 0.1), PLANS[1]);
        let want = block(engine.outputs(&problem.data.view())).unwrap();
        assert_eq!(want.len(), ROWS * 3);
        let nothing = [TargetsRef::Classes(&[]), TargetsRef::Values { columns: 3, values: &[] }];
        for targets in nothing {
            let rows = Rows { targets, ..problem.data.view() };
            assert_eq!(block(engine.outputs(&rows)).unwrap(), want);
        }
    }
}
