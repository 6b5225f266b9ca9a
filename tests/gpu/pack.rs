//! Networks that are trained together, each a z of the grid: compared with the reference and with separate
//! training.

use ndarray::{Array2, Axis};
use tinytrain::Error;
use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::{
    BatchMetrics, Batches, Drive, Engine, EngineOptions, EngineState, GpuEngine, GpuPack, MemberMetrics,
    Order, PackMember,
};
use tinytrain::engine::{Inference, block};
use tinytrain::kernels::{MOST_MEMBERS, Tuning};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, Parameters};
use tinytrain::reference::{ReferenceNetwork, ReferenceRun, ReferenceTargets};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{
    Activation, Augment, Distortion, ImageSize, Loss, Optimizer, OptimizerKind, RateSchedule, Rates,
    UpdateRule,
};

use crate::lab::{Lab, indices, labels, labs, random};

const BATCH: usize = 33;
const SAMPLES: usize = 208;
const INPUTS: usize = 7;
const CLASSES: usize = 5;
/// Twenty steps, the last with fewer rows.
const POSITIONS: usize = 19 * BATCH + 10;

/// A network, its initial parameters, and its training options.
struct Trained {
    network: Network,
    parameters: Parameters,
    options: EngineOptions,
}

impl Trained {
    fn as_member(&self) -> PackMember<'_> {
        PackMember { network: &self.network, parameters: &self.parameters, options: &self.options }
    }
}

/// Activation, optimizer, and dropout of the first network.
type Kind = (Activation, OptimizerKind, f32);

/// Returns sixteen networks of widths 1 to 65 and depths 0 to 3, all with different parameters.
fn mixed() -> Vec<Trained> {
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
        let options = options(number, kind);
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    };
    hidden.chain(flat).enumerate().map(|(number, kind)| trained(number, kind)).collect()
}

/// Returns the training options of network `number` with an optimizer, all with different values.
fn options(number: usize, kind: OptimizerKind) -> EngineOptions {
    // With small gradients Adam would amplify differences of the last digit.
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
    EngineOptions { rule, schedule: Some(ScheduleKind::Fused), ..EngineOptions::sgd(BATCH, 0.1) }
}

fn data() -> Dataset {
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

fn order() -> Vec<u32> {
    (0..POSITIONS as u32).map(|position| (position * 77 + 5) % SAMPLES as u32).collect()
}

fn pack(lab: &Lab, tuning: &Tuning, members: &[Trained]) -> GpuPack {
    let members: Vec<_> = members.iter().map(Trained::as_member).collect();
    GpuPack::with_tuning(lab.compute(tuning), *tuning, &members).unwrap()
}

/// Trains on `order`; returns the metrics.
fn train(pack: &mut GpuPack, data: &Dataset, order: &[u32]) -> Vec<MemberMetrics> {
    train_epoch(pack, data, order, 1)
}

fn train_epoch(pack: &mut GpuPack, data: &Dataset, order: &[u32], epoch: usize) -> Vec<MemberMetrics> {
    let (mut metrics, mut start) = (Vec::new(), 0);
    while start < order.len() {
        let rows = data.view();
        let batches = Batches { rows, order: Order::Given(order), positions: start..order.len(), epoch };
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

fn of_member(metrics: &[MemberMetrics], member: usize) -> Vec<BatchMetrics> {
    metrics.iter().filter(|it| it.member == member).map(|it| it.metrics).collect()
}

/// Trains a network separately, with the same schedule.
fn alone(lab: &Lab, tuning: &Tuning, it: &Trained, data: &Dataset, order: &[u32]) -> Outcome {
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
    let outputs = block(engine.outputs(&data.view())).unwrap();
    (block(engine.parameters()).unwrap(), block(engine.snapshot()).unwrap().1, metrics, outputs)
}

/// Parameters, state, metrics of the batches, outputs of all rows.
type Outcome = (Parameters, EngineState, Vec<BatchMetrics>, Vec<f32>);

fn in_pack(pack: &mut GpuPack, member: usize, metrics: &[MemberMetrics], data: &Dataset) -> Outcome {
    let outputs = pack.outputs(&[member], &data.view()).unwrap().swap_remove(0);
    let parameters = pack.parameters(member).unwrap();
    (parameters, pack.snapshot(member).unwrap().1, of_member(metrics, member), outputs)
}

/// Returns parameters and losses after twenty steps of the reference.
fn reference(it: &Trained, data: &Dataset, order: &[u32]) -> (Vec<f64>, Vec<f64>) {
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

/// Checks parameters and losses of a member against the reference after twenty steps.
fn assert_near(
    pack: &mut GpuPack,
    number: usize,
    metrics: &[MemberMetrics],
    (want, losses): &(Vec<f64>, Vec<f64>),
) {
    let got = flat(&pack.parameters(number).unwrap());
    let largest = want.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    // About a hundred roundings per step, relative to the largest.
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

/// Two epochs on distorted rows, as images of one line.
#[test]
fn members_on_distorted_rows_equal_separate_training() {
    let (mut members, data, order) = (mixed(), data(), order());
    let size = ImageSize { height: 1, width: INPUTS, channels: 1 };
    let distortion = Distortion::new(&Augment::DIGITS, size, 3).unwrap();
    members.truncate(5);
    members.iter_mut().for_each(|member| member.options.distortion = Some(distortion));
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, &members);
        let metrics = [1, 2].map(|epoch| train_epoch(&mut pack, &data, &order, epoch)).concat();
        for (number, it) in members.iter().enumerate() {
            let Trained { network, parameters, options } = it;
            let compute = lab.compute(&tuning);
            let mut engine = GpuEngine::with_tuning(compute, tuning, parameters, network, options).unwrap();
            let mut own = Vec::new();
            let mut sink = |batch: BatchMetrics| {
                own.push(batch);
                Ok(())
            };
            for epoch in [1, 2] {
                let (rows, positions) = (data.view(), 0..order.len());
                engine
                    .drive(Batches { rows, order: Order::Given(&order), positions, epoch }, &mut sink)
                    .unwrap();
            }
            engine.finish(&mut sink).unwrap();
            assert_eq!(of_member(&metrics, number), own, "member {number}");
            assert!(
                pack.parameters(number).unwrap() == block(engine.parameters()).unwrap(),
                "member {number}"
            );
        }
    }
}

/// Members of any shape and order, on rows that are transferred in several turns.
#[test]
fn members_evaluated_together_equal_separate_evaluation() {
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
            let want = block(alone.evaluate(&many.view())).unwrap();
            assert_eq!(
                (evaluation.loss, &evaluation.predictions),
                (want.loss, &want.predictions),
                "{number}"
            );
            assert_eq!(*outputs, block(alone.outputs(&many.view())).unwrap(), "{number}");
        }
        assert!(pack.evaluate(&[], &many.view()).unwrap().is_empty());
    }
}

/// Returns a table of numbers and two columns of categories, one with unknown categories.
fn table() -> Dataset {
    let number = |row: usize, column: usize| match column {
        2 => (row * 7 % 5) as f32,
        5 => (row * 3 % 4) as f32,
        _ => ((row * 31 + column * 17) % 64) as f32 / 32.0 - 1.0,
    };
    let cells = (0..SAMPLES).flat_map(|row| (0..INPUTS).map(move |column| number(row, column)));
    Dataset { features: Features::Floats(cells.collect()), ..data() }
}

fn input_layer() -> InputLayer {
    let columns = vec![
        InputColumn::Number,
        InputColumn::Periodic,
        InputColumn::Embedding { categories: 4, size: 5 },
        InputColumn::Number,
        InputColumn::Periodic,
        InputColumn::OneHot { categories: 4 },
        InputColumn::Number,
    ];
    InputLayer::new(columns, true).unwrap()
}

/// Widths of hidden layers, activation, optimizer, dropout, and a norm for clipping.
struct Shape {
    hidden: &'static [usize],
    activation: Activation,
    optimizer: OptimizerKind,
    dropout: f32,
    clip_norm: Option<f32>,
}

const SHAPES: [Shape; 3] = [
    Shape {
        hidden: &[65, 17],
        activation: Activation::Tanh,
        optimizer: OptimizerKind::Sgd,
        dropout: 0.0,
        clip_norm: None,
    },
    Shape {
        hidden: &[33],
        activation: Activation::Gelu,
        optimizer: OptimizerKind::Momentum,
        dropout: 0.2,
        clip_norm: None,
    },
    Shape {
        hidden: &[3, 63],
        activation: Activation::Tanh,
        optimizer: OptimizerKind::Adam,
        dropout: 0.0,
        clip_norm: Some(0.3),
    },
];

impl Shape {
    /// Returns the network `number` of this shape, all with different parameters.
    fn trained(&self, number: usize, input: Option<&InputLayer>) -> Trained {
        let share = if self.dropout == 0.0 { 0.0 } else { self.dropout + 0.1 * (number % 3) as f32 };
        let Self { activation, optimizer, .. } = *self;
        let hidden = self.hidden.iter().map(|units| Dense { units: *units, activation, dropout: share });
        let layers = hidden.chain([Dense::new(CLASSES, Activation::Identity)]).collect();
        let inputs = input.map_or(INPUTS, InputLayer::inputs);
        let network = Network::new(inputs, layers, Loss::CrossEntropy).unwrap();
        let network = match input {
            Some(input) => network.with_input_layer(input.clone()).unwrap(),
            None => network,
        };
        let mut options = options(number, optimizer);
        options.rule.clip_norm = self.clip_norm.map(|norm| norm * (1 + number) as f32);
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    }
}

/// Returns three networks of each shape, in turn, so that neighbours belong to different groups.
fn of_shapes(input: Option<&InputLayer>) -> Vec<Trained> {
    let number = |number: usize| SHAPES[number % SHAPES.len()].trained(number, input);
    (0..3 * SHAPES.len()).map(number).collect()
}

/// Checks members of a pack against the reference and separate training, on every adapter.
fn check(members: &[Trained], data: &Dataset) {
    let order = order();
    let references: Vec<_> = members.iter().map(|it| reference(it, data, &order)).collect();
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, members);
        let metrics = train(&mut pack, data, &order);
        assert_eq!(metrics.len(), 20 * members.len());
        for (number, want) in references.iter().enumerate() {
            assert_near(&mut pack, number, &metrics, want);
            let want = alone(lab, &tuning, &members[number], data, &order);
            assert_eq!(in_pack(&mut pack, number, &metrics, data), want, "member {number}");
        }
    }
}

#[test]
fn members_of_any_shape_equal_the_reference_and_separate_training() {
    check(&of_shapes(None).into_iter().chain(mixed()).collect::<Vec<_>>(), &data());
}

#[test]
fn a_pack_may_have_one_member() {
    check(&[SHAPES[1].trained(4, None)], &data());
}

#[test]
fn members_with_an_input_layer_equal_them_too() {
    check(&of_shapes(Some(&input_layer())), &table());
}

/// Members that stop leave the grid and keep their bits, one that diverges does not affect others, and the
/// others continue as if trained separately.
#[test]
fn members_that_stop_leave_the_grid() {
    let (data, order) = (data(), order());
    let mut members: Vec<Trained> =
        [0, 3, 1, 6, 9].map(|number| SHAPES[number % 3].trained(number, None)).into();
    members[3].options.rule.rates = Rates::constant(1e38);
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let mut pack = pack(lab, &tuning, &members);
        let (first, rest) = order.split_at(7 * BATCH);
        let mut metrics = train(&mut pack, &data, first);
        pack.stop(0);
        pack.stop(2);
        assert_eq!(Vec::from_iter(pack.live()), [1, 3, 4]);
        metrics.extend(train(&mut pack, &data, rest));
        assert!(!pack.parameters(3).unwrap().is_finite(), "it was to diverge");
        for number in [0, 2] {
            let stopped = alone(lab, &tuning, &members[number], &data, first);
            assert_eq!(in_pack(&mut pack, number, &metrics, &data), stopped, "member {number}");
        }
        for number in [1, 4] {
            let want = alone(lab, &tuning, &members[number], &data, &order);
            assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}");
        }
        // Restarted from a state, a member trains in the same way.
        pack.restore(4, &members[4].parameters, &EngineState::default()).unwrap();
        let again = train(&mut pack, &data, &order);
        let want = alone(lab, &tuning, &members[4], &data, &order);
        assert_eq!(in_pack(&mut pack, 4, &again, &data), want);
    }
}

/// More members than one dispatch supports.
#[test]
fn many_members_are_several_groups() {
    let shape = Shape { hidden: &[3], ..SHAPES[0] };
    let members: Vec<Trained> = (0..MOST_MEMBERS + 3).map(|number| shape.trained(number, None)).collect();
    let (data, order) = (data(), order());
    let order = &order[..2 * BATCH + 1];
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let mut pack = pack(lab, &tuning, &members);
    let metrics = train(&mut pack, &data, order);
    assert_eq!(metrics.len(), 3 * members.len());
    for number in [0, MOST_MEMBERS - 1, MOST_MEMBERS, members.len() - 1] {
        let want = alone(lab, &tuning, &members[number], &data, order);
        assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}");
    }
}

#[test]
fn networks_that_no_pack_can_train_are_refused() {
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let refusal = |members: &[Trained]| {
        let members: Vec<_> = members.iter().map(Trained::as_member).collect();
        match GpuPack::with_tuning(lab.compute(&tuning), tuning, &members) {
            Err(Error::Config(text)) => text,
            other => panic!("{:?}", other.map(|_| "accepted")),
        }
    };
    assert!(refusal(&[]).contains("at least one network"));
    let mut members = mixed();
    members[3].options.batch += 1;
    assert!(refusal(&members).contains("number 3 differs"));
    for kind in [ScheduleKind::TwoDispatch, ScheduleKind::Plain] {
        let mut member = SHAPES[2].trained(0, None);
        member.options.schedule = Some(kind);
        assert!(refusal(&[member]).contains("no pack is trained by"));
    }
}

/// Values with row weights, for two losses.
#[test]
fn members_with_weighted_values_equal_separate_training() {
    let values = (0..2 * SAMPLES).map(|at| (at * 29 % 41) as f32 / 20.0 - 1.0).collect();
    let data = Dataset {
        targets: Targets::Values { columns: 2, values },
        weights: (0..SAMPLES).map(|row| (row % 4) as f32 / 2.0).collect(),
        ..data()
    };
    let order = order();
    let member = |number: usize| {
        let hidden = Dense { units: 17, activation: Activation::Silu, dropout: 0.0 };
        let layers = vec![hidden, Dense::new(2, Activation::Identity)];
        let network = Network::new(INPUTS, layers, [Loss::Mse, Loss::Mae][number % 2]).unwrap();
        let rule = UpdateRule::sgd(0.01 * (1 + number) as f32);
        let options = EngineOptions {
            rule,
            weighted: true,
            schedule: Some(ScheduleKind::Fused),
            ..EngineOptions::sgd(BATCH, 0.1)
        };
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    };
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        let members: Vec<Trained> = (0..5).map(&member).collect();
        let mut pack = pack(lab, &tuning, &members);
        let metrics = train(&mut pack, &data, &order);
        for (number, it) in members.iter().enumerate() {
            let want = alone(lab, &tuning, it, &data, &order);
            assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}");
            assert!(want.0.is_finite() && want.0 != it.parameters, "member {number} learns");
        }
    }
}
