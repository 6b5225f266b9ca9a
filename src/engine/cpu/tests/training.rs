//! Training over many steps.

use std::sync::Arc;

use super::super::plan::Plan;
use super::{PLANS, Problem, ROWS, flat, number, numbers};
use crate::engine::{
    BatchMetrics, Detail, Drive, Engine, EngineOptions, EngineState, Inference, Log, Recorder, Work, block,
};
use crate::model::Parameters;
use crate::reference::ReferenceRun;
use crate::step::{
    Activation, Augment, Distortion, ImageSize, Loss, OptimizerKind, RateFactors, RateSchedule, Rates,
    UpdateRule,
};

/// Five passes over the data set, each in a different order.
pub fn order() -> Vec<u32> {
    let rows = ROWS as u32;
    (1..6).flat_map(|round| (0..rows).map(move |row| (row * (2 * round + 1) + round) % rows)).collect()
}

/// A rule that uses all features.
pub fn rule(kind: OptimizerKind) -> UpdateRule {
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = 0.02;
    UpdateRule {
        optimizer,
        rates: Rates { warmup: 3, ..Rates::new(RateSchedule::Cosine, kind.default_rate(), 12, 2) },
        factors: RateFactors { biases: 2.0, layers: vec![1.0, 0.5], ..RateFactors::default() },
        clip_norm: Some(0.3),
        label_smoothing: 0.1,
        seed: 9,
    }
}

pub fn options(batch: usize, rule: UpdateRule) -> EngineOptions {
    EngineOptions { rule, ..EngineOptions::sgd(batch, 0.1) }
}

pub fn train(engine: &mut impl Engine, problem: &Problem, order: &[u32]) -> Vec<BatchMetrics> {
    let mut ended = Vec::new();
    let mut sink = |metrics| {
        ended.push(metrics);
        Ok(())
    };
    engine.train(&problem.data.view(), order, &mut sink).unwrap();
    engine.finish(&mut sink).unwrap();
    ended
}

/// Compares 21 steps, the last with fewer rows.
pub fn check_training(problem: &Problem, rule: &UpdateRule, plans: &[Plan]) {
    check_batches(problem, rule, plans, 9, &order()[..20 * 9 + 2]);
}

/// Losses and parameters stay near the reference: dividing by the root of a mean of squares propagates the
/// relative error of single gradients.
fn check_batches(problem: &Problem, rule: &UpdateRule, plans: &[Plan], batch: usize, order: &[u32]) {
    let mut run = ReferenceRun::new(problem.reference(), rule.clone());
    let losses: Vec<f64> = order
        .chunks(batch)
        .zip(0..)
        .map(|(order, step)| {
            let rows = problem.batch(order);
            run.step(rows.x.view(), rows.targets(), step) * order.len() as f64
        })
        .collect();
    for plan in plans {
        let mut engine = problem.engine(&options(batch, rule.clone()), *plan);
        let ended = train(&mut engine, problem, order);
        let what = (rule.optimizer.kind, problem.network.loss(), *plan);
        assert_eq!(ended.len(), losses.len());
        for ((got, want), step) in ended.iter().zip(&losses).zip(0..) {
            let want = *want;
            assert!((got.loss - want).abs() <= 1e-4 * want, "{what:?} step {step}: {}, not {want}", got.loss);
        }
        let got = block(engine.parameters()).unwrap();
        for (got, want) in numbers(&got).iter().zip(flat(&run.network)) {
            assert!((f64::from(*got) - want).abs() <= 2e-5, "{what:?}: {got}, not {want}");
        }
        let state = block(engine.snapshot()).unwrap().1;
        let steps = losses.len() as u64;
        assert_eq!((state.step, state.optimizer.len()), (steps, rule.optimizer.kind.states()));
        for (got, want) in state.optimizer.iter().zip(&run.states) {
            for (got, want) in numbers(got).iter().zip(flat(want)) {
                let bound = 1e-4 * want.abs().max(0.1);
                assert!((f64::from(*got) - want).abs() <= bound, "{what:?}: state {got}, not {want}");
            }
        }
    }
}

#[test]
fn every_optimizer_trains_as_the_reference_does() {
    for kind in OptimizerKind::ALL.iter().copied() {
        let problem = Problem::new(&[9, 50, 17, 5], Activation::Gelu, 0.2, Loss::CrossEntropy, true);
        check_training(&problem, &rule(kind), &PLANS);
        let unclipped = UpdateRule { clip_norm: None, ..rule(kind) };
        check_training(&problem, &unclipped, &[Plan::Rows(2), Plan::Columns(2), Plan::Apart]);
    }
}

#[test]
fn plain_gradient_descent_and_regression_train_as_the_reference_does() {
    for loss in Loss::ALL.iter().copied() {
        let problem = Problem::new(&[9, 50, 17, 5], Activation::Tanh, 0.0, loss, false);
        check_training(&problem, &UpdateRule::sgd(0.05), &PLANS);
    }
}

/// A row of weights is longer than a tile, and the deltas are so large that they are copied for all tiles.
#[test]
fn wide_layers_train_as_the_reference_does() {
    let problem = Problem::new(&[3, 40, 3700, 2], Activation::Tanh, 0.0, Loss::CrossEntropy, false);
    // With this number of units, steps have to be small for the loss to fall: larger ones multiply the errors
    // of earlier steps.
    let rates = Rates::new(RateSchedule::Cosine, 1e-3, 12, 2);
    let rule = UpdateRule { clip_norm: None, rates, ..rule(OptimizerKind::Momentum) };
    check_training(&problem, &rule, &[Plan::Rows(2), Plan::Columns(1), Plan::Columns(2)]);
}

/// Batches of several tiles of rows, which each part gathers for itself, and in shares.
#[test]
fn large_batches_train_as_the_reference_does() {
    let rule = UpdateRule { clip_norm: None, ..rule(OptimizerKind::Momentum) };
    for (sizes, batch) in [([9, 70, 3], 110), ([200, 9, 3], 150)] {
        for activation in [Activation::Gelu, Activation::Relu] {
            let problem = Problem::new(&sizes, activation, 0.2, Loss::CrossEntropy, false);
            check_batches(&problem, &rule, &PLANS, batch, &[order(), order()].concat());
        }
    }
}

#[test]
fn batches_of_one_row_and_layers_of_one_unit_train() {
    let rule = rule(OptimizerKind::AdamW);
    for sizes in [&[3, 1, 1][..], &[3, 1, 4, 2]] {
        let problem = Problem::new(sizes, Activation::Silu, 0.1, Loss::Mse, false);
        let order = &order()[..20];
        let mut run = ReferenceRun::new(problem.reference(), rule.clone());
        for (row, step) in order.chunks(1).zip(0..) {
            let rows = problem.batch(row);
            run.step(rows.x.view(), rows.targets(), step);
        }
        for plan in PLANS {
            let mut engine = problem.engine(&options(1, rule.clone()), plan);
            train(&mut engine, &problem, order);
            for (got, want) in numbers(&block(engine.parameters()).unwrap()).iter().zip(flat(&run.network)) {
                assert!((f64::from(*got) - want).abs() <= 1e-5, "{sizes:?} {plan:?}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn rows_classified_correctly_are_counted() {
    let problem = Problem::new(&[9, 20, 5], Activation::Relu, 0.0, Loss::CrossEntropy, false);
    let order: Vec<u32> = (0..ROWS as u32).collect();
    for plan in PLANS {
        let mut engine = problem.engine(&options(ROWS, UpdateRule::sgd(0.1)), plan);
        let evaluation = block(engine.evaluate(&problem.data.view())).unwrap();
        let right = evaluation.predictions.iter().zip(problem.data.labels()).filter(|(a, b)| a == b).count();
        let ended = train(&mut engine, &problem, &order);
        assert_eq!(ended.iter().map(|it| (it.rows, it.correct)).collect::<Vec<_>>(), [(ROWS, right as u64)]);
    }
    let problem = Problem::new(&[9, 20, 1], Activation::Relu, 0.0, Loss::Mae, false);
    let ended = train(&mut problem.engine(&options(ROWS, UpdateRule::sgd(0.1)), PLANS[1]), &problem, &order);
    assert_eq!(ended[0].correct, 0);
}

/// Steps are counted over calls, and so are the numbers that depend on them: dropout, rates and corrections.
#[test]
fn a_run_in_pieces_is_the_run_as_a_whole() {
    let problem = Problem::new(&[9, 50, 17, 5], Activation::Elu, 0.3, Loss::CrossEntropy, true);
    let (order, options) = (order(), options(8, rule(OptimizerKind::Adam)));
    for plan in PLANS {
        let (mut whole, mut pieces) = (problem.engine(&options, plan), problem.engine(&options, plan));
        pieces.slice = 3;
        let all = train(&mut whole, &problem, &order);
        let mut ended = train(&mut pieces, &problem, &order[..40]);
        ended.extend(train(&mut pieces, &problem, &order[40..]));
        assert_eq!(ended, all);
        assert_eq!(block(pieces.parameters()).unwrap(), block(whole.parameters()).unwrap(), "{plan:?}");
        assert_eq!(block(pieces.snapshot()).unwrap().1, block(whole.snapshot()).unwrap().1, "{plan:?}");
    }
}

#[test]
fn what_is_restored_goes_on_bit_for_bit() {
    let problem = Problem::new(&[9, 50, 17, 5], Activation::Mish, 0.3, Loss::CrossEntropy, false);
    let order = order();
    for kind in OptimizerKind::ALL.iter().copied() {
        let options = options(8, rule(kind));
        for plan in [Plan::Rows(2), Plan::Columns(2), Plan::Apart] {
            let mut engine = problem.engine(&options, plan);
            train(&mut engine, &problem, &order[..64]);
            let (parameters, state) = block(engine.snapshot()).unwrap();
            assert_eq!(state.step, 8);
            let first = train(&mut engine, &problem, &order[64..]);
            let want = block(engine.snapshot()).unwrap();
            // In another engine, and in the same one.
            let mut other = problem.engine(&options, plan);
            for engine in [&mut other, &mut engine] {
                engine.restore(&parameters, &state).unwrap();
                assert_eq!(train(engine, &problem, &order[64..]), first, "{kind} {plan:?}");
                assert_eq!(block(engine.snapshot()).unwrap(), want, "{kind} {plan:?}");
            }
            let beginning = EngineState::default();
            engine.restore(&problem.parameters, &beginning).unwrap();
            train(&mut engine, &problem, &order[..64]);
            assert_eq!(block(engine.parameters()).unwrap(), parameters, "{kind} {plan:?}");
        }
    }
}

/// Bits depend neither on the number of parts nor on the gathering thread, for networks divided by columns
/// and for others.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let order = &order()[..50];
    for sizes in [&[9, 200, 170, 33, 5][..], &[9, 70, 3], &[9, 100], &[21, 161, 1, 17]] {
        for (sparse, clip_norm) in [(true, None), (false, Some(0.3))] {
            let problem = Problem::new(sizes, Activation::Silu, 0.2, Loss::Mse, sparse);
            let rule = UpdateRule { clip_norm, ..rule(OptimizerKind::Momentum) };
            for rule in [rule, UpdateRule::sgd(0.05)] {
                let trained = |plan| {
                    let mut engine = problem.engine(&options(17, rule.clone()), plan);
                    let ended = train(&mut engine, &problem, order);
                    (ended, block(engine.snapshot()).unwrap())
                };
                let paired = trained(Plan::Rows(1));
                for plan in [Plan::Apart, Plan::Rows(2), Plan::Rows(3), Plan::Rows(5)] {
                    assert!(trained(plan) == paired, "{sizes:?} {plan:?}");
                }
                if sizes.len() > 2 {
                    let columns = trained(Plan::Columns(1));
                    for plan in [Plan::Columns(2), Plan::Columns(3), Plan::Columns(5)] {
                        assert!(trained(plan) == columns, "{sizes:?} {plan:?}");
                    }
                }
            }
        }
    }
}

/// The groups of skipped inputs affect neither parameters nor results.
#[test]
fn groups_of_inputs_are_seen_nowhere() {
    for plan in [Plan::Rows(2), Plan::Columns(3), Plan::Apart] {
        let mut problem = Problem::new(&[21, 50, 5], Activation::Relu, 0.0, Loss::CrossEntropy, true);
        let options = options(8, UpdateRule::sgd(0.1));
        let mut trained = problem.engine(&options, plan);
        train(&mut trained, &problem, &order());
        assert!(!trained.network.groups.are_neighbours());
        problem.parameters = block(trained.parameters()).unwrap();
        let mut other = problem.engine(&options, plan);
        let (rows, batch) = (problem.data.view(), problem.first_rows(8));
        assert_eq!(block(trained.outputs(&rows)).unwrap(), block(other.outputs(&rows)).unwrap());
        assert!(block(trained.evaluate(&rows)).unwrap().loss == block(other.evaluate(&rows)).unwrap().loss);
        let gradients =
            [&mut trained, &mut other].map(|it| numbers(&block(it.gradients(&batch.view())).unwrap()));
        for (got, want) in gradients[0].iter().zip(&gradients[1]) {
            assert!((got - want).abs() <= 1e-5 * want.abs().max(0.1), "{plan:?}: {got}, not {want}");
        }
    }
}

/// A norm that is never reached changes no bit; one that is reached bounds the step.
#[test]
fn clipping_bounds_the_step() {
    let problem = Problem::new(&[9, 50, 17, 5], Activation::Relu, 0.0, Loss::CrossEntropy, false);
    let order: Vec<u32> = (0..ROWS as u32).collect();
    let moved = |clip_norm, plan| {
        let mut rule = UpdateRule { clip_norm, ..UpdateRule::sgd(0.5) };
        rule.factors.layers = vec![1.0, 1.0];
        let mut engine = problem.engine(&options(ROWS, rule), plan);
        train(&mut engine, &problem, &order);
        block(engine.parameters()).unwrap()
    };
    let distance = |parameters: &Parameters| {
        let both = numbers(parameters).into_iter().zip(numbers(&problem.parameters));
        both.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    };
    for plan in PLANS {
        let free = moved(None, plan);
        assert!(distance(&free) > 0.5 * 0.4, "{}", distance(&free));
        assert_eq!(moved(Some(1e6), plan), free, "{plan:?}");
        // Every parameter is rounded to 2^-24 of its size, which is about 1.
        let clipped = distance(&moved(Some(0.2), plan));
        assert!((clipped - 0.1).abs() <= 1e-5, "{plan:?}: {clipped}");
    }
}

/// Gradients stored as a whole, for a norm that is never reached, and gradients used tile by tile update to
/// the same bits: one tile and several, lists in which no row has some groups, and deltas that are copied.
#[test]
fn tiles_of_gradients_update_as_whole_ones_do() {
    let order: Vec<u32> = (0..7).flat_map(|round| (0..37).map(move |row| (row * 3 + round) % 37)).collect();
    for kind in OptimizerKind::ALL.iter().copied() {
        for (sizes, batch, sparse) in [
            (&[21, 170, 33, 5][..], 17, true),
            (&[300, 9, 3], 17, false),
            (&[9, 150, 400, 3], 90, true),
            (&[270, 160, 2], 220, false),
            (&[9, 5], 13, true),
        ] {
            let problem = Problem::new(sizes, Activation::Relu, 0.2, Loss::CrossEntropy, sparse);
            for plan in [Plan::Rows(1), Plan::Rows(3), Plan::Columns(1), Plan::Columns(2)] {
                if plan.is_by_columns() && sizes.len() == 2 {
                    continue; // Nothing above the first layer is divided.
                }
                let trained = |clip_norm| {
                    let rule = UpdateRule { clip_norm, ..rule(kind) };
                    let mut engine = problem.engine(&options(batch, rule), plan);
                    train(&mut engine, &problem, &order);
                    block(engine.snapshot()).unwrap()
                };
                assert!(trained(None) == trained(Some(1e30)), "{kind} {sizes:?} {plan:?}");
            }
        }
    }
}

/// Padding of the first layer and all results in it stay 0 during training.
#[test]
fn padding_stays_zero() {
    let problem = Problem::new(&[9, 5, 3], Activation::Sigmoid, 0.3, Loss::CrossEntropy, true);
    for kind in OptimizerKind::ALL.iter().copied() {
        let mut engine =
            problem.engine(&options(8, UpdateRule { clip_norm: None, ..rule(kind) }), Plan::Rows(1));
        train(&mut engine, &problem, &order());
        let owned = engine.network.parameters[0].read(0);
        for tensors in [&owned.values, &owned.states[0], &owned.states[1]] {
            let columns = tensors.weights.chunks(16).chain(tensors.bias.chunks(16));
            assert!(columns.clone().all(|row| row[5..].iter().all(|padding| *padding == 0.0)), "{kind}");
            assert!(
                tensors.weights.len() <= 12 * 16 && tensors.weights.iter().skip(9 * 16).all(|it| *it == 0.0)
            );
        }
    }
}

/// Losses that f32 cannot represent are infinite, and NaN is reported.
#[test]
fn what_diverges_is_seen() {
    let mut problem = Problem::new(&[9, 20, 3], Activation::Relu, 0.0, Loss::Mse, false);
    let order: Vec<u32> = (0..8).collect();
    problem.parameters.layers[1].bias[0] = 3e30;
    let loss = |problem: &Problem| {
        train(&mut problem.engine(&options(8, UpdateRule::sgd(0.1)), Plan::Rows(2)), problem, &order)[0].loss
    };
    assert_eq!(loss(&problem), f64::INFINITY);
    problem.parameters.layers[0].bias[0] = f32::NAN;
    problem.parameters.layers[1].weights.iter_mut().enumerate().for_each(|(i, w)| *w = number(300, i));
    assert!(loss(&problem).is_nan());
}

#[test]
fn the_log_has_the_times_of_distortions() {
    let problem = Problem::new(&[9, 20, 3], Activation::Relu, 0.0, Loss::CrossEntropy, false);
    let size = ImageSize { height: 3, width: 3, channels: 1 };
    let distortion = Distortion::new(&Augment::DIGITS, size, 1).unwrap();
    for (distortion, is_logged) in [(None, false), (Some(distortion), true)] {
        let options = EngineOptions { distortion, ..EngineOptions::sgd(9, 0.1) };
        let mut engine = problem.engine(&options, PLANS[0]);
        let recorder = Arc::new(Recorder::new(Detail::Stages));
        engine.observe(Some(recorder.clone()));
        train(&mut engine, &problem, &order());
        let distorted = |log: &Log| log.host.iter().any(|(work, _)| *work == Work::Distorting);
        assert_eq!(distorted(&recorder.log()), is_logged);
    }
}
