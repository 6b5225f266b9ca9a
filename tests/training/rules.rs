//! Steps with every activation, loss and optimizer, with dropout, weights, label smoothing, clipping and
//! factors of the learning rate, on every engine and under every schedule, compared with a run of the
//! reference; and saving and restoring of the optimizer state.

use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::block;
use tinytrain::engine::{Engine, EngineOptions, EngineState};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, ReferenceRun};
use tinytrain::step::{Activation, Loss, OptimizerKind, RateFactors, RateSchedule, Rates, UpdateRule};

use crate::problem::{Expected, Problem, assert_near, flat, number, numbers};
use crate::support::{Make, engines};

const SIZES: [usize; 4] = [13, 18, 11, 5];
const ROWS: usize = 200;
const BATCH: usize = 16;
/// Problems from this number on have an input layer.
const WITHOUT_INPUT_LAYER: usize = 12;

/// Returns number `number` of a list in which all activations, losses and optimizers take turns.
fn problem(case: usize) -> Problem {
    let activation = |place: usize| Activation::ALL[(case + 3 * place) % Activation::ALL.len()];
    let loss = Loss::ALL[(case + case / OptimizerKind::ALL.len()) % Loss::ALL.len()];
    let dropout = if !case.is_multiple_of(2) { 0.25 } else { 0.0 };
    let layers = vec![
        Dense { units: SIZES[1], activation: activation(0), dropout },
        Dense::new(SIZES[2], activation(1)),
        Dense::new(SIZES[3], Activation::Identity),
    ];
    let network = Network::new(SIZES[0], layers, loss).unwrap();
    let columns = [
        InputColumn::OneHot { categories: 3 },
        InputColumn::Periodic,
        InputColumn::Embedding { categories: 4, size: 5 },
        InputColumn::Number,
    ];
    let input_layer = InputLayer::new(columns.to_vec(), !case.is_multiple_of(3)).unwrap();
    let network =
        if case < WITHOUT_INPUT_LAYER { network } else { network.with_input_layer(input_layer).unwrap() };
    // In the second round each optimizer has another loss.
    let kind = OptimizerKind::ALL[case % OptimizerKind::ALL.len()];
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = 0.01;
    let rule = UpdateRule {
        optimizer,
        rates: Rates { warmup: 3, ..Rates::new(RateSchedule::Cosine, kind.default_rate(), 10, 4) },
        factors: RateFactors {
            biases: 2.0,
            layers: vec![1.0, 0.5],
            layer_weights: vec![1.0, 1.0, 0.75],
            embeddings: 0.5,
            scale: 3.0,
            ..RateFactors::default()
        },
        clip_norm: Some(0.4).filter(|_| case % 4 == 2),
        label_smoothing: if loss.of_classes() { 0.1 } else { 0.0 },
        seed: 0x1_0000_0003,
    };
    let weighted = case % 3 < 2;
    let options = EngineOptions { rule, weighted, ..EngineOptions::sgd(BATCH, 0.1) };
    let mut parameters = Parameters::he_normal(&network, 4);
    for (layer, place) in parameters.layers.iter_mut().zip(100..) {
        layer.bias.iter_mut().enumerate().for_each(|(i, bias)| *bias = 0.3 * number(5, place, i));
    }
    let outputs = SIZES[3];
    let targets = if loss.of_classes() {
        Targets::Classes((0..ROWS).map(|row| (row * 7 / 3 % outputs) as u32).collect())
    } else {
        let value = |i: usize| match number(5, 201, i) {
            value if loss.of_labels() => f32::from(value > 0.0),
            value => value,
        };
        let values = (0..ROWS * outputs).map(value).collect();
        Targets::Values { columns: outputs, values }
    };
    let weight = |row: usize| [1.0, 0.5, 2.0][row % 3];
    let weights = (0..ROWS).filter(|_| weighted).map(weight).collect();
    let inputs = network.columns();
    let value = |i: usize| match columns[i % inputs % columns.len()] {
        // The last category is unknown.
        InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. }
            if network.input_layer().is_some() =>
        {
            (i / inputs % (categories + 1)) as f32
        }
        _ => number(5, 200, i),
    };
    let features = Features::Floats((0..ROWS * inputs).map(value).collect());
    let data = Dataset { inputs, features, targets, weights };
    Problem { network, options, parameters, data }
}

/// Returns the rows of steps, the last of which has 5 rows less than the others.
fn order(steps: usize) -> Vec<u32> {
    (0..(BATCH * steps - 5) as u32).map(|i| (i * 77 + 5) % ROWS as u32).collect()
}

/// Compares one step: every parameter, and its state, is as near to the reference as its gradient is.
fn one_step(what: &str, problem: &Problem, make: &Make) {
    let expected = Expected::of(problem, &problem.parameters, &EngineState::default(), &order(1));
    let mut engine = make(&problem.parameters, &problem.network, &problem.options);
    problem.train(&mut *engine, &order(1));
    assert_eq!(block(engine.snapshot()).unwrap().1.step, 1);
    expected.assert_near(&format!("{what}, one step"), problem, &mut *engine);
}

/// Compares twenty steps: parameters and states are off by less than a thousandth of the largest change, and
/// losses by less than 1e-4.
fn twenty_steps(what: &str, problem: &Problem, make: &Make) {
    let Problem { network, options, parameters, .. } = problem;
    let mut run = ReferenceRun::new(ReferenceNetwork::new(network, parameters), options.rule.clone());
    let before = flat(&run.network);
    let mut losses = Vec::new();
    for (step, order) in (0..).zip(order(20).chunks(BATCH)) {
        let batch = problem.batch(order);
        losses.push(run.step(batch.x.view(), batch.targets(), step) * order.len() as f64);
    }
    let mut engine = make(parameters, network, options);
    let metrics = problem.train(&mut *engine, &order(20));
    assert_eq!(metrics.len(), 20, "{what}");
    for (step, (metrics, want)) in metrics.iter().zip(losses).enumerate() {
        let near = (metrics.loss - want).abs() <= 1e-4 * want;
        assert!(near, "{what}, step {step}: loss {}, not {want}", metrics.loss);
        assert_eq!(metrics.rows, if step < 19 { BATCH } else { BATCH - 5 });
    }
    let largest =
        |values: &mut dyn Iterator<Item = f64>| values.fold(0.0f64, |most, value| most.max(value.abs()));
    let after = flat(&run.network);
    let moved = largest(&mut after.iter().zip(&before).map(|(after, before)| after - before));
    assert_near(
        &format!("{what}, twenty steps"),
        &numbers(&block(engine.parameters()).unwrap()),
        &after,
        |_| 1e-3 * moved,
    );
    let state = block(engine.snapshot()).unwrap().1;
    assert_eq!(state.step, 20);
    for (place, (got, want)) in state.optimizer.iter().zip(&run.states).enumerate() {
        let want = flat(want);
        let moved = largest(&mut want.iter().copied());
        assert_near(&format!("{what}, state {place}"), &numbers(got), &want, |_| 1e-3 * moved);
    }
}

/// Checks that ten steps, and ten of another engine that starts from the first one's state, equal twenty.
fn continued(what: &str, problem: &Problem, make: &Make) {
    let Problem { network, options, parameters, .. } = problem;
    let (order, half) = (order(20), 10 * BATCH);
    let made = || make(parameters, network, options);
    let end = |mut engine: Box<dyn Engine>| block(engine.snapshot()).unwrap();
    let mut straight = made();
    let all = problem.train(&mut *straight, &order);
    let mut first = made();
    let mut metrics = problem.train(&mut *first, &order[..half]);
    let (parameters, state) = end(first);
    let mut second = made();
    second.restore(&parameters, &state).unwrap();
    assert_eq!(block(second.snapshot()).unwrap(), (parameters, state), "{what}");
    metrics.extend(problem.train(&mut *second, &order[half..]));
    assert_eq!(metrics, all, "{what}");
    let straight = end(straight);
    assert!(straight == end(second), "{what}: other bits");
    // Without the state the run differs.
    let mut fresh = made();
    fresh.restore(&problem.parameters, &EngineState::default()).unwrap();
    problem.train(&mut *fresh, &order);
    assert!(straight == end(fresh), "{what}: other bits from the start");
}

/// Runs `test` with each of these cases, on the CPU engine and under each schedule: the engines of a schedule
/// (adapters, tunings) take turns.
fn each(cases: impl Iterator<Item = usize> + Clone, test: impl Fn(&str, usize, &Make)) {
    let engines = engines();
    for kind in ["cpu", "plain", "fused", "two-dispatch"] {
        let is_of_kind = |name: &str| name.starts_with(kind) || name.contains(&format!(", {kind},"));
        let of_kind: Vec<_> = engines.iter().filter(|(name, _)| is_of_kind(name)).collect();
        assert!(!of_kind.is_empty(), "{kind}");
        for case in cases.clone() {
            let (name, make) = of_kind[case % of_kind.len()];
            test(&format!("case {case} on {name}"), case, make);
        }
    }
}

/// Every value of each setting, under every schedule once.
#[test]
fn every_rule_on_every_schedule() {
    each(0..WITHOUT_INPUT_LAYER + 6, |what, case, make| {
        let problem = problem(case);
        if case % 3 != 1 {
            one_step(what, &problem, make);
        }
        if case % 3 != 0 {
            twenty_steps(what, &problem, make);
        }
    });
}

/// One number of state and two; with dropout, which depends on the step.
#[test]
fn a_state_that_is_restored_continues_with_the_same_bits() {
    each([1, 3, 5, WITHOUT_INPUT_LAYER + 4].into_iter(), |what, case, make| {
        continued(what, &problem(case), make)
    });
}

/// A run of more steps than 32 bits can count: four steps near this number, each from the engine's state.
#[test]
fn steps_are_counted_in_64_bits() {
    each([1, 3].into_iter(), |what, case, make| {
        let problem = problem(case);
        let mut engine = make(&problem.parameters, &problem.network, &problem.options);
        let first = u64::from(u32::MAX) - 1;
        engine.restore(&problem.parameters, &EngineState { step: first, ..EngineState::default() }).unwrap();
        for (step, order) in (first..).zip(order(5).chunks_exact(BATCH)) {
            let (parameters, state) = block(engine.snapshot()).unwrap();
            assert_eq!(state.step, step, "{what}");
            let expected = Expected::of(&problem, &parameters, &state, order);
            problem.train(&mut *engine, order);
            expected.assert_near(&format!("{what}, step {step}"), &problem, &mut *engine);
        }
        assert_eq!(block(engine.snapshot()).unwrap().1.step, first + 4, "{what}");
    });
}
