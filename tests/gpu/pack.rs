//! Networks that are trained together, a workgroup each: what a pack of them gives, against the reference and against each by
//! itself. Those of the schedule `fused` are in `pack_fused`.

use ndarray::{Array2, Axis};
use tinytrain::Error;
use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::{
    BatchMetrics, Batches, Drive, Engine, EngineOptions, EngineState, GpuEngine, GpuPack, MemberMetrics,
    Order, PackMember,
};
use tinytrain::kernels::Tuning;
use tinytrain::model::{Dense, Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{Activation, Loss, Optimizer, OptimizerKind, RateSchedule, Rates, UpdateRule};

use crate::lab::{Lab, indices, labels, labs, random};

pub const BATCH: usize = 33;
pub const SAMPLES: usize = 208;
pub const INPUTS: usize = 7;
pub const CLASSES: usize = 5;
/// Twenty steps, the last of them of fewer rows.
const POSITIONS: usize = 19 * BATCH + 10;

/// A network, its first parameters, and how it is trained.
pub struct Trained {
    pub network: Network,
    pub parameters: Parameters,
    pub options: EngineOptions,
}

impl Trained {
    fn as_member(&self) -> PackMember<'_> {
        PackMember { network: &self.network, parameters: &self.parameters, options: &self.options }
    }
}

/// Activation, optimizer, dropout of the first network.
type Kind = (Activation, OptimizerKind, f32);

/// Sixteen networks of widths 1 to 65 and depths 0 to 3, no two of which have the same numbers: four with each of three
/// optimizers and two activations, with dropout or without, and four of no hidden layer.
pub fn mixed() -> Vec<Trained> {
    let kinds = [
        (Activation::Tanh, OptimizerKind::Sgd, 0.0),
        (Activation::Gelu, OptimizerKind::Momentum, 0.2),
        (Activation::Tanh, OptimizerKind::Adam, 0.0),
    ];
    let widths: [&[usize]; 4] = [&[65], &[17, 3], &[63, 1, 17], &[3]];
    let hidden = kinds.iter().flat_map(|kind| widths.map(|widths| (*kind, widths)));
    let flat = [(kinds[0], &[][..]); 4];
    let trained = |number: usize, ((activation, kind, dropout), widths): (Kind, &[usize])| {
        let share = if dropout == 0.0 { 0.0 } else { dropout + 0.1 * (number % 3) as f32 };
        let mut layers: Vec<Dense> =
            widths.iter().map(|units| Dense { units: *units, activation, dropout: share }).collect();
        layers.push(Dense::new(CLASSES, Activation::Identity));
        let network = Network::new(INPUTS, layers, Loss::CrossEntropy).unwrap();
        let options = options(number, kind, ScheduleKind::Resident);
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    };
    hidden.chain(flat).enumerate().map(|(number, kind)| trained(number, kind)).collect()
}

/// How network `number` is trained by an optimizer: no two have the same numbers.
pub fn options(number: usize, kind: OptimizerKind, schedule: ScheduleKind) -> EngineOptions {
    // Where gradients are small Adam would make differences of the last digit large.
    let settings = Optimizer { epsilon: 1e-2, weight_decay: 0.01 * (number % 4) as f32, ..kind.defaults() };
    let rates = [RateSchedule::Constant, RateSchedule::Cosine][number % 2];
    let rate = kind.default_rate() * (0.5 + 0.1 * number as f32);
    let rule = UpdateRule {
        optimizer: settings,
        rates: Rates::new(rates, rate, 7, 4),
        label_smoothing: 0.05 * (number % 3) as f32,
        seed: 40 + number as u64,
        ..UpdateRule::sgd(0.1)
    };
    EngineOptions { rule, schedule: Some(schedule), ..EngineOptions::sgd(BATCH, 0.1) }
}

pub fn data() -> Dataset {
    rows(SAMPLES)
}

fn rows(count: usize) -> Dataset {
    Dataset {
        inputs: INPUTS,
        features: Features::Floats(random(count, INPUTS, 70).iter().copied().collect()),
        targets: Targets::Classes(labels(count, CLASSES)),
        weights: Vec::new(),
    }
}

pub fn order() -> Vec<u32> {
    (0..POSITIONS as u32).map(|position| (position * 77 + 5) % SAMPLES as u32).collect()
}

pub fn pack(lab: &Lab, tuning: &Tuning, members: &[Trained]) -> GpuPack {
    let members: Vec<_> = members.iter().map(Trained::as_member).collect();
    GpuPack::with_tuning(lab.compute(tuning), *tuning, &members).unwrap()
}

/// Trains on `order`; gives what was said.
pub fn train(pack: &mut GpuPack, data: &Dataset, order: &[u32]) -> Vec<MemberMetrics> {
    let (mut metrics, mut start) = (Vec::new(), 0);
    while start < order.len() {
        let rows = data.view();
        let batches = Batches { rows, order: Order::Given(order), positions: start..order.len() };
        let taken = pack.submit(&batches).unwrap();
        start += taken;
        metrics.extend(pack.poll(taken == 0).unwrap());
    }
    loop {
        let more = pack.poll(true).unwrap();
        if more.is_empty() {
            return metrics;
        }
        metrics.extend(more);
    }
}

pub fn of_member(metrics: &[MemberMetrics], member: usize) -> Vec<BatchMetrics> {
    metrics.iter().filter(|it| it.member == member).map(|it| it.metrics).collect()
}

/// The same by itself, by the same schedule.
pub fn alone(lab: &Lab, tuning: &Tuning, it: &Trained, data: &Dataset, order: &[u32]) -> Outcome {
    let compute = lab.compute(tuning);
    let Trained { network, parameters, options } = it;
    let mut engine = GpuEngine::with_tuning(compute, *tuning, parameters, network, options).unwrap();
    let mut metrics = Vec::new();
    let mut sink = |batch: BatchMetrics| {
        metrics.push(batch);
        Ok(())
    };
    engine.train(&data.view(), order, &mut sink).unwrap();
    engine.finish(&mut sink).unwrap();
    let outputs = engine.outputs(&data.view()).unwrap();
    (engine.parameters().unwrap(), engine.snapshot().unwrap().1, metrics, outputs)
}

/// Parameters, state, what the batches said, outputs of all rows.
pub type Outcome = (Parameters, EngineState, Vec<BatchMetrics>, Vec<f32>);

pub fn in_pack(pack: &mut GpuPack, member: usize, metrics: &[MemberMetrics], data: &Dataset) -> Outcome {
    let outputs = pack.outputs(&[member], &data.view()).unwrap().swap_remove(0);
    let parameters = pack.parameters(member).unwrap();
    (parameters, pack.snapshot(member).unwrap().1, of_member(metrics, member), outputs)
}

/// Parameters and losses after twenty steps of the reference.
pub fn reference(it: &Trained, data: &Dataset, order: &[u32]) -> (Vec<f64>, Vec<f64>) {
    let mut run =
        ReferenceRun::new(ReferenceNetwork::new(&it.network, &it.parameters), it.options.rule.clone());
    let (Features::Floats(x), Targets::Classes(classes)) = (&data.features, &data.targets) else {
        panic!("floats and classes")
    };
    let x = Array2::from_shape_fn((SAMPLES, INPUTS), |(row, column)| f64::from(x[row * INPUTS + column]));
    let losses = (0..).zip(order.chunks(BATCH)).map(|(step, taken)| {
        let rows = indices(taken);
        let classes: Vec<usize> = rows.iter().map(|row| classes[*row] as usize).collect();
        let targets = ReferenceTargets::classes(&classes);
        run.step(x.select(Axis(0), &rows).view(), targets, step) * rows.len() as f64
    });
    let losses = losses.collect();
    let layers = run.network.weights.iter().zip(&run.network.biases);
    let input = run.network.input.iter().flat_map(|input| input.weights.iter().chain(&input.scale));
    (layers.flat_map(|(w, b)| w.iter().chain(b)).chain(input).copied().collect(), losses)
}

fn flat(parameters: &Parameters) -> Vec<f32> {
    let layers = parameters.layers.iter().flat_map(|layer| layer.weights.iter().chain(&layer.bias));
    let input = parameters.input.iter().flat_map(|input| input.weights.iter().chain(&input.scale));
    layers.chain(input).copied().collect()
}

/// Demands that parameters and losses of a member are those of the reference after twenty steps.
pub fn assert_near(
    pack: &mut GpuPack,
    number: usize,
    metrics: &[MemberMetrics],
    (want, losses): &(Vec<f64>, Vec<f64>),
) {
    let got = flat(&pack.parameters(number).unwrap());
    let largest = want.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    // Some hundred roundings a step, relative to the largest.
    let bound = 20.0 * 100.0 * f64::from(f32::EPSILON);
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        let error = (f64::from(*got) - want).abs();
        assert!(error <= bound * largest, "member {number}: {got}, not {want}");
    }
    let said = of_member(metrics, number);
    let sizes: Vec<usize> = said.iter().map(|batch| batch.rows).collect();
    assert_eq!(sizes, [vec![BATCH; 19], vec![10]].concat());
    for (got, want) in said.iter().zip(losses) {
        assert!((got.loss - want).abs() <= bound * want, "member {number}: {} not {want}", got.loss);
    }
}

#[test]
fn a_mixed_pack_is_what_the_reference_and_each_by_itself_are() {
    let (members, data, order) = (mixed(), data(), order());
    let references: Vec<_> = members.iter().map(|it| reference(it, &data, &order)).collect();
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, &members);
        let metrics = train(&mut pack, &data, &order);
        assert_eq!(metrics.len(), 20 * members.len());
        for (number, want) in references.iter().enumerate() {
            assert_near(&mut pack, number, &metrics, want);
        }
        // One with dropout, one with Adam; and a pack of it alone.
        for number in [6, 10] {
            let want = alone(lab, &tuning, &members[number], &data, &order);
            assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}");
            let mut one = self::pack(lab, &tuning, &members[number..=number]);
            let metrics = train(&mut one, &data, &order);
            assert_eq!(in_pack(&mut one, 0, &metrics, &data), want, "member {number} in a pack of one");
            let said = pack.evaluate(&[number], &data.view()).unwrap().swap_remove(0);
            let of_one = one.evaluate(&[0], &data.view()).unwrap().swap_remove(0);
            assert_eq!((said.loss, said.predictions), (of_one.loss, of_one.predictions));
        }
    }
}

/// Whatever their shapes, in any order, on rows that come to the device in several turns.
#[test]
fn members_that_are_evaluated_together_give_what_each_gives_by_itself() {
    let (members, data, many) = (mixed(), data(), rows(1100));
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, &members);
        train(&mut pack, &data, &order()[..3 * BATCH]);
        let numbers = [10, 2, 13, 6, 12, 15, 2];
        let evaluations = pack.evaluate(&numbers, &many.view()).unwrap();
        let outputs = pack.outputs(&numbers, &many.view()).unwrap();
        for (number, (evaluation, outputs)) in numbers.iter().zip(evaluations.iter().zip(&outputs)) {
            let Trained { network, options, .. } = &members[*number];
            let options = EngineOptions { schedule: Some(ScheduleKind::Fused), ..options.clone() };
            let (compute, parameters) = (lab.compute(&tuning), pack.parameters(*number).unwrap());
            let mut alone = GpuEngine::with_tuning(compute, tuning, &parameters, network, &options).unwrap();
            let want = alone.evaluate(&many.view()).unwrap();
            assert_eq!(
                (evaluation.loss, &evaluation.predictions),
                (want.loss, &want.predictions),
                "{number}"
            );
            assert_eq!(*outputs, alone.outputs(&many.view()).unwrap(), "{number}");
        }
        assert!(pack.evaluate(&[], &many.view()).unwrap().is_empty());
    }
}

/// Members that stop keep their bits, one that diverges spoils nobody's, and the others go on as if they were alone.
#[test]
fn what_becomes_of_others_changes_no_bit() {
    let (data, order) = (data(), order());
    let mut members = mixed();
    members.truncate(4);
    members[2].options.rule.rates = Rates::constant(1e38);
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, &members);
        let (first, rest) = order.split_at(7 * BATCH);
        let mut metrics = train(&mut pack, &data, first);
        pack.stop(0);
        assert_eq!(Vec::from_iter(pack.live()), [1, 2, 3]);
        metrics.extend(train(&mut pack, &data, rest));
        assert!(!pack.parameters(2).unwrap().is_finite(), "it was to diverge");
        let stopped = alone(lab, &tuning, &members[0], &data, first);
        assert_eq!(in_pack(&mut pack, 0, &metrics, &data), stopped);
        for number in [1, 3] {
            let want = alone(lab, &tuning, &members[number], &data, &order);
            assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}");
        }
        // Begun again from a state, another member goes the same way.
        let state = EngineState { step: 0, ..EngineState::default() };
        pack.restore(1, &members[1].parameters, &state).unwrap();
        let again = train(&mut pack, &data, &order);
        let want = alone(lab, &tuning, &members[1], &data, &order);
        assert_eq!(in_pack(&mut pack, 1, &again, &data), want);
        (1..4).for_each(|number| pack.stop(number));
        let all = Batches { rows: data.view(), order: Order::Given(&order), positions: 0..BATCH };
        assert!(matches!(pack.submit(&all), Err(Error::Config(_))));
    }
}

#[test]
fn what_no_pack_can_train_is_refused() {
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let says = |members: &[Trained], word: &str| {
        let members: Vec<_> = members.iter().map(Trained::as_member).collect();
        match GpuPack::with_tuning(lab.compute(&tuning), tuning, &members) {
            Err(Error::Config(text)) => assert!(text.contains(word), "{text}"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("taken, not refused for {word}"),
        }
    };
    says(&[], "at least one network");
    let mut members = mixed();
    members[3].options.batch += 1;
    says(&members, "number 3 differs");
    let mut members = mixed();
    members[15].options.rule.clip_norm = Some(1.0);
    says(&members, "cannot clip");
    let (network, options) = (&mixed()[0].network, &mixed()[0].options);
    // Weights and biases; outputs and deltas of both layers, and inputs, of 36 rows.
    let numbers = 8 * 68 + 66 * 8 + 36 * (2 * 68 + 2 * 8 + 8);
    assert_eq!(GpuPack::member_bytes(network, options).unwrap(), 4 * numbers);
}
