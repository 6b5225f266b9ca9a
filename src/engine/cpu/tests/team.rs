//! Networks that one thread trains together, compared with each network trained separately.

use std::sync::Arc;

use super::super::plan::Plan;
use super::super::{CpuEngine, CpuTeam};
use super::training::{options, order, rule};
use super::{Problem, ROWS, input_layer, numbers};
use crate::data::{Dataset, Rows};
use crate::engine::{BatchMetrics, Batches, Engine, EngineOptions, EngineState, Order};
use crate::engine::{Inference, block};
use crate::model::{Network, Parameters};
use crate::step::{Activation, Augment, Distortion, ImageSize, Loss, OptimizerKind, UpdateRule};

/// Not a divisor of the number of rows.
const BATCH: usize = 9;

/// A network, its first parameters, and its options.
type Member = (Network, Parameters, EngineOptions);

fn engine((network, parameters, options): &Member) -> CpuEngine {
    CpuEngine::with_threads(parameters, network, options, 1)
}

fn team(members: &[Member]) -> CpuTeam {
    CpuTeam::new(members.iter().map(engine).collect(), &Arc::default()).unwrap()
}

/// Odd widths, several depths, one panel and more; one by columns; with and without dropout; any optimizer and clipping.
fn members(sparse: bool) -> (Vec<Member>, Dataset) {
    const SIZES: [&[usize]; 8] = [
        &[21, 5],
        &[21, 1, 5],
        &[21, 50, 17, 5],
        &[21, 90, 5],
        &[21, 200, 33, 5],
        &[21, 3, 3, 3, 5],
        &[21, 80, 81, 5],
        &[21, 600, 440, 5],
    ];
    let mut data = None;
    let member = |(number, sizes): (usize, &&[usize])| {
        let kind = OptimizerKind::ALL[number % OptimizerKind::ALL.len()];
        let activation = Activation::ALL[number % Activation::ALL.len()];
        let dropout = 0.2 * (number % 2) as f32;
        let problem = Problem::new(sizes, activation, dropout, Loss::CrossEntropy, sparse);
        let mut rule = UpdateRule { seed: number as u64, ..rule(kind) };
        if number % 3 > 0 {
            rule.clip_norm = None;
        }
        if number == 2 {
            rule = UpdateRule::sgd(0.1);
        }
        data.get_or_insert(problem.data);
        (problem.network, problem.parameters, options(BATCH, rule))
    };
    let members = SIZES.iter().enumerate().map(member).collect();
    (members, data.unwrap())
}

/// Trains on a whole order in repeated calls.
fn train(rows: Rows<'_>, order: &[u32], mut submit: impl FnMut(&Batches<'_>) -> usize) {
    // Epochs of any number, to see that rows are distorted again for each.
    let epoch = order.len();
    let mut left = Batches { rows, order: Order::Given(order), positions: 0..order.len(), epoch };
    while !left.positions.is_empty() {
        left.positions.start += submit(&left);
    }
}

fn train_alone(engine: &mut CpuEngine, rows: Rows<'_>, order: &[u32]) -> Vec<BatchMetrics> {
    let mut metrics = Vec::new();
    train(rows, order, |left| {
        let taken = engine.submit(left).unwrap();
        metrics.extend(block(engine.poll(true)).unwrap());
        taken
    });
    metrics
}

fn bits(parameters: &Parameters) -> Vec<u32> {
    numbers(parameters).iter().map(|number| number.to_bits()).collect()
}

/// A network's state and results as bits, so that NaN compares equal.
fn trained(engine: &mut CpuEngine, metrics: &[BatchMetrics]) -> impl PartialEq + use<> {
    let EngineState { step, optimizer } = block(engine.snapshot()).unwrap().1;
    let metrics: Vec<_> = metrics.iter().map(|it| (it.rows, it.loss.to_bits(), it.correct)).collect();
    (
        metrics,
        step,
        bits(&block(engine.parameters()).unwrap()),
        optimizer.iter().map(bits).collect::<Vec<_>>(),
    )
}

/// With and without skipped zeros, in calls of any length; one network diverges, and one stops early.
#[test]
fn each_network_of_a_team_is_what_it_is_alone() {
    let order = order();
    // A data set's last batch has fewer rows.
    let (first, second) = order.split_at(4 * ROWS);
    for (sparse, distorts) in [(true, false), (false, false), (true, true)] {
        let (mut members, data) = members(sparse);
        let size = ImageSize { height: 1, width: data.inputs, channels: 1 };
        let distortion = Distortion::new(&Augment::DIGITS, size, 3).unwrap();
        members.iter_mut().for_each(|member| member.2.distortion = distorts.then_some(distortion));
        (members[5].2.rule.rates.peak, members[5].2.rule.clip_norm) = (1e30, None);
        let rows = data.view();
        // Another team has trained on these rows before.
        let kept = Arc::default();
        let mut before = CpuTeam::new(vec![engine(&members[0])], &kept).unwrap();
        train(rows, &order[..BATCH], |left| before.submit(left).unwrap());
        let mut together = CpuTeam::new(members.iter().map(engine).collect(), &kept).unwrap();
        train(rows, first, |left| together.submit(left).unwrap());
        together.stop(4);
        together.slice = 3;
        train(rows, second, |left| together.submit(left).unwrap());
        assert!(together.member(4).is_none());
        let (evaluations, outputs) = (together.evaluate(&rows), together.outputs(&rows));
        assert!(evaluations[4].is_none() && outputs[4].is_none());
        let mut lost = Vec::new();
        for (number, member) in members.iter().enumerate().filter(|(number, _)| *number != 4) {
            let mut alone = engine(member);
            let metrics = [first, second].map(|order| train_alone(&mut alone, rows, order)).concat();
            let among = together.member(number).unwrap();
            let of_team = block(among.poll(true)).unwrap();
            assert_eq!(of_team.len(), 17 + 5);
            assert_eq!(among.network.groups.are_neighbours(), !sparse);
            assert!(trained(among, &of_team) == trained(&mut alone, &metrics), "{number} {sparse}");
            if !block(alone.parameters()).unwrap().is_finite() {
                lost.push(number);
            }
            let (got, want) = (evaluations[number].as_ref().unwrap(), block(alone.evaluate(&rows)).unwrap());
            assert_eq!(got.loss.to_bits(), want.loss.to_bits(), "{number} {sparse}");
            assert_eq!(got.predictions, want.predictions);
            let as_bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            let got = outputs[number].as_ref().unwrap();
            assert_eq!(as_bits(got), as_bits(&block(alone.outputs(&rows)).unwrap()), "{number} {sparse}");
        }
        assert_eq!(lost, [5]);
    }
}

/// With an input layer and without one, on the same columns; restored from a state in the middle, in another
/// team and in the same one.
#[test]
fn networks_behind_an_input_layer_are_trained_among_others() {
    let problem = input_layer::problem(true, Loss::CrossEntropy);
    let dense = Problem::new(&[19, 40, 3], Activation::Relu, 0.0, Loss::CrossEntropy, false);
    let options = |kind| options(BATCH, rule(kind));
    let members = [
        (problem.network.clone(), problem.parameters.clone(), options(OptimizerKind::Adam)),
        (dense.network.clone(), dense.parameters.clone(), options(OptimizerKind::Momentum)),
        (problem.network.clone(), problem.parameters.clone(), options(OptimizerKind::Sgd)),
    ];
    let (rows, order) = (problem.data.view(), order());
    let (first, second) = order.split_at(7 * BATCH);
    let mut together = team(&members);
    let mut other = team(&members);
    train(rows, first, |left| together.submit(left).unwrap());
    for number in 0..3 {
        let among = together.member(number).unwrap();
        assert_eq!(block(among.poll(true)).unwrap().len(), 7);
        let (parameters, state) = block(among.snapshot()).unwrap();
        assert_eq!(state.step, 7);
        other.member(number).unwrap().restore(&parameters, &state).unwrap();
    }
    // Members of the same team are restored after steps whose results are discarded.
    let states = [0, 1, 2].map(|number| {
        let among = together.member(number).unwrap();
        block(among.snapshot()).unwrap()
    });
    train(rows, first, |left| together.submit(left).unwrap());
    for (number, (parameters, state)) in states.iter().enumerate() {
        together.member(number).unwrap().restore(parameters, state).unwrap();
    }
    for team in [&mut together, &mut other] {
        train(rows, second, |left| team.submit(left).unwrap());
        for (number, member) in members.iter().enumerate() {
            let mut alone = engine(member);
            train_alone(&mut alone, rows, first);
            let metrics = train_alone(&mut alone, rows, second);
            let among = team.member(number).unwrap();
            let of_team = block(among.poll(true)).unwrap();
            assert!(trained(among, &of_team) == trained(&mut alone, &metrics), "{number}");
        }
    }
}

#[test]
fn what_shares_no_batches_is_no_team() {
    let (members, data) = members(false);
    let error = |members: Vec<CpuEngine>| CpuTeam::new(members, &Arc::default()).err().unwrap().to_string();
    assert_eq!(error(Vec::new()), "expected networks of a team, found none");
    let mut other = members[0].clone();
    other.2.batch = 8;
    let text = "expected batches of 9 rows of 21 columns, found 8 of 21";
    assert_eq!(error(vec![engine(&members[0]), engine(&other)]), text);
    let (network, parameters, options) = &members[1];
    let planned = CpuEngine::with_plan(parameters, network, options, 2, Plan::Rows(2));
    assert_eq!(error(vec![planned]), "expected one thread a network, found 2");
    let mut team = team(&members[..1]);
    let batches =
        Batches { rows: data.view(), order: Order::Given(&[0, ROWS as u32]), positions: 0..2, epoch: 1 };
    assert!(team.submit(&batches).unwrap_err().to_string().contains("row 37 of 37"));
}
