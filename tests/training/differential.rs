//! Random networks, rules and batches on every engine compared with the reference, for cases that no one
//! thought of.
//!
//! `TINYTRAIN_CASES` sets the number of cases, `TINYTRAIN_FIRST_CASE` the first: see docs/RELIABILITY.md.

use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::block;
use tinytrain::engine::{Engine, EngineOptions, EngineState};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, Parameters};
use tinytrain::random::{Purpose, words};
use tinytrain::reference::ReferenceNetwork;
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{Activation, Loss, OptimizerKind, RateFactors, RateSchedule, Rates, UpdateRule};

use crate::problem::{Expected, Problem, assert_near, number};
use crate::support::{Make, engines, tests_all};

/// A sequence of random choices.
struct Draw {
    seed: u64,
    place: u32,
}

impl Draw {
    /// Returns a number from `least` to `most`, all equally probable.
    fn between(&mut self, least: usize, most: usize) -> usize {
        self.place += 1;
        least + words(self.seed, Purpose::Sample, [self.place, 0])[0] as usize % (most - least + 1)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.between(1, times) == 1
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() - 1)]
    }

    fn factor(&mut self) -> f32 {
        self.one_of(&[1.0, 1.0, 0.5, 3.0])
    }

    fn share(&mut self) -> f32 {
        self.one_of(&[0.0, 0.0, 0.1, 0.5, 0.9])
    }
}

/// Returns a network of 0 to 4 hidden layers of 1 to 70 units, with 1 to 70 inputs and 1 to 70 outputs; one
/// in five has an input layer.
fn random_network(draw: &mut Draw) -> Network {
    let loss = draw.one_of(Loss::ALL);
    let depth = draw.between(0, 4);
    let mut layers: Vec<Dense> = (0..depth)
        .map(|_| Dense {
            units: draw.between(1, 70),
            activation: draw.one_of(Activation::ALL),
            dropout: draw.share(),
        })
        .collect();
    layers.push(Dense::new(draw.between(1, 70), Activation::Identity));
    if !draw.one_in(5) {
        return Network::new(draw.between(1, 70), layers, loss).unwrap();
    }
    let columns = (0..draw.between(1, 7)).map(|_| match draw.between(0, 3) {
        0 => InputColumn::Number,
        1 => InputColumn::Periodic,
        2 => InputColumn::OneHot { categories: draw.between(2, 9) },
        _ => InputColumn::Embedding { categories: draw.between(2, 30), size: draw.between(1, 9) },
    });
    let columns: Vec<InputColumn> = columns.collect();
    let layer = InputLayer::new(columns, draw.one_in(2)).unwrap();
    Network::new(layer.inputs(), layers, loss).unwrap().with_input_layer(layer).unwrap()
}

/// Returns a rule with any optimizer, and each setting of an update rule at its usual value or not.
fn random_rule(draw: &mut Draw, network: &Network) -> UpdateRule {
    let kind = draw.one_of(OptimizerKind::ALL);
    let mut optimizer = kind.defaults();
    optimizer.weight_decay = draw.one_of(&[0.0, 0.01, 0.1]);
    let layers = network.dense().len();
    let factors = |draw: &mut Draw| (0..draw.between(0, layers)).map(|_| draw.factor()).collect();
    let factors = RateFactors {
        layers: factors(draw),
        layer_weights: factors(draw),
        weights: draw.factor(),
        biases: draw.factor(),
        embeddings: draw.factor(),
        scale: draw.factor(),
    };
    let (schedule, warmup) = (draw.one_of(&RateSchedule::ALL), draw.between(0, 3) as u64);
    UpdateRule {
        optimizer,
        rates: Rates { warmup, ..Rates::new(schedule, 0.3 * kind.default_rate(), 5, 3) },
        factors,
        clip_norm: draw.one_in(6).then(|| draw.one_of(&[0.01, 0.5, 1000.0])),
        label_smoothing: if network.loss().of_classes() { draw.one_of(&[0.0, 0.1]) } else { 0.0 },
        seed: draw.seed,
    }
}

/// Returns rows of bytes or floats, with classes or values, weighted or not.
fn random_data(draw: &mut Draw, network: &Network, rows: usize, weighted: bool) -> Dataset {
    let (inputs, outputs, seed) = (network.columns(), network.outputs(), draw.seed);
    let cells = rows * inputs;
    let features = match network.input_layer() {
        None if draw.one_in(2) => Features::Bytes((0..cells).map(|_| draw.between(0, 255) as u8).collect()),
        None => Features::Floats((0..cells).map(|i| number(seed, 200, i)).collect()),
        Some(layer) => {
            let value = |i: usize| match layer.columns()[i % inputs] {
                // The last category is unknown.
                InputColumn::OneHot { categories } | InputColumn::Embedding { categories, .. } => {
                    draw.between(0, categories) as f32
                }
                _ => number(seed, 200, i),
            };
            Features::Floats((0..cells).map(value).collect())
        }
    };
    let targets = if network.loss().of_classes() {
        Targets::Classes((0..rows).map(|_| draw.between(0, outputs - 1) as u32).collect())
    } else {
        let of_labels = network.loss().of_labels();
        let value = |i: usize| match number(seed, 201, i) {
            value if of_labels => f32::from(value > 0.0),
            value => value,
        };
        let values = (0..rows * outputs).map(value).collect();
        Targets::Values { columns: outputs, values }
    };
    let weights = (0..rows).filter(|_| weighted).map(|_| draw.one_of(&[1.0, 0.5, 2.0, 0.0])).collect();
    Dataset { inputs, features, targets, weights }
}

fn random_problem(case: u64) -> Problem {
    let mut draw = Draw { seed: 0x5eed_0000_0000 + case, place: 0 };
    let network = random_network(&mut draw);
    let rule = random_rule(&mut draw, &network);
    let (batch, weighted) = (draw.between(1, 130), draw.one_in(2));
    let rows = draw.between(1, 3 * batch);
    let data = random_data(&mut draw, &network, rows, weighted);
    let mut parameters = Parameters::he_normal(&network, draw.seed);
    for (layer, place) in parameters.layers.iter_mut().zip(100..) {
        layer.bias.iter_mut().enumerate().for_each(|(i, bias)| *bias = 0.3 * number(draw.seed, place, i));
    }
    let options = EngineOptions { rule, weighted, ..EngineOptions::sgd(batch, 0.1) };
    Problem { network, options, parameters, data }
}

/// Maximum number of steps until one is far enough from every kink.
const MOST_STEPS: usize = 12;
/// Errors of pre-activations are a tenth of this.
const NEAR: f64 = 2e-5;

/// One in this number of cases also trains on a GPU: its shaders take seconds to compile.
const GPU_EVERY: usize = 6;

/// Result of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    Cpu,
    Gpu(ScheduleKind),
    /// The loss diverged before a step was compared.
    Diverged,
}

/// Compares outputs before the first step, one step after some others, its loss, and all steps again at once.
fn agrees(what: &str, problem: &Problem, make: &Make) -> Became {
    let Problem { network, options, parameters, data } = problem;
    let mut engine = make(parameters, network, options);
    outputs_agree(what, problem, &mut *engine);

    let (rows, batch) = (data.rows(), options.batch);
    let all: Vec<u32> = (0..MOST_STEPS * batch).map(|i| ((i * 77 + 5) % rows) as u32).collect();
    let (mut metrics, mut start) = (Vec::new(), 0);
    // The compared step has an incomplete batch, except with few rows.
    let (first, short) = (rows % 4, (batch - rows % batch.min(7)).max(1));
    let end = loop {
        let (parameters, state) = block(engine.snapshot()).unwrap();
        assert_eq!(state.step as usize, start / batch, "{what}");
        let order = &all[start..start + short];
        let expected = Expected::of(problem, &parameters, &state, order);
        if expected.loss.abs() > 1e6 * rows as f64 {
            return Became::Diverged;
        }
        if start >= first * batch && expected.kink > NEAR {
            let what = format!("{what}, step {}", state.step);
            let got = problem.train(&mut *engine, order);
            assert_eq!((got.len(), got[0].rows), (1, short), "{what}");
            let bound = 1e-5 * (expected.loss.abs() + short as f64);
            assert_near(&format!("{what}, loss"), &[got[0].loss], &[expected.loss], |_| bound);
            expected.assert_near(&what, problem, &mut *engine);
            metrics.extend(got);
            break start + short;
        }
        assert!(start + 2 * batch <= all.len(), "{what}: every step is near a kink");
        metrics.extend(problem.train(&mut *engine, &all[start..start + batch]));
        start += batch;
    };
    let ended = block(engine.snapshot()).unwrap();
    engine.restore(parameters, &EngineState::default()).unwrap();
    assert_eq!(problem.train(&mut *engine, &all[..end]), metrics, "{what}: other metrics in one go");
    assert!(ended == block(engine.snapshot()).unwrap(), "{what}: other bits in one go");
    engine.description().schedule.map_or(Became::Cpu, |selected| Became::Gpu(selected.kind))
}

/// Checks that outputs are off by less than 2e-5 of the largest, or of 1.
fn outputs_agree(what: &str, problem: &Problem, engine: &mut dyn Engine) {
    let all: Vec<u32> = (0..problem.data.rows() as u32).collect();
    let reference = ReferenceNetwork::new(&problem.network, &problem.parameters);
    let want: Vec<f64> = reference.logits(problem.batch(&all).x.view()).into_iter().collect();
    let largest = want.iter().fold(1.0f64, |most, z| most.max(z.abs()));
    let got: Vec<f64> =
        block(engine.outputs(&problem.data.view())).unwrap().into_iter().map(f64::from).collect();
    assert_near(&format!("{what}, outputs"), &got, &want, |_| 2e-5 * largest);
}

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Tests each configuration on the CPU engine with one thread or three, and some on one of the GPU engines,
/// which take turns: adapters, tunings, schedules.
#[test]
fn random_configurations_agree_with_the_reference() {
    let usual = if tests_all() { 200 } else { 60 };
    let (first, cases) = (variable("TINYTRAIN_FIRST_CASE", 0), variable("TINYTRAIN_CASES", usual));
    let (on_cpu, on_gpu): (Vec<_>, Vec<_>) =
        engines().into_iter().partition(|(name, _)| name.starts_with("cpu"));
    let mut became = Vec::new();
    for case in first..first + cases {
        let problem = random_problem(case);
        let turn = case as usize;
        let on_cpu = [&on_cpu[turn % on_cpu.len()]];
        let on_gpu = turn.is_multiple_of(GPU_EVERY).then(|| &on_gpu[turn / GPU_EVERY % on_gpu.len()]);
        for (name, make) in on_cpu.into_iter().chain(on_gpu) {
            let what = format!("case {case}, {}, {:?} on {name}", problem.network, problem.options.rule);
            became.push(agrees(&what, &problem, make));
        }
    }
    let of = |wanted| became.iter().filter(|it| **it == wanted).count();
    let kinds = ScheduleKind::ALL.map(|kind| (kind, of(Became::Gpu(kind))));
    let (cpu, diverged) = (of(Became::Cpu), of(Became::Diverged));
    println!("compared: {cpu} on the CPU engine, {kinds:?}; {diverged} diverged");
    // Clipping and input layers need the fused schedule.
    assert!(cases < 200 || kinds.iter().all(|(_, count)| *count > 1), "{kinds:?}");
    assert!(diverged <= became.len() / 20, "{diverged} of {}", became.len());
}
