//! Networks that the kernels of the schedule `fused` train together, a z of the grid each: against the reference and against
//! each by itself.

use tinytrain::data::{Dataset, Features, Targets};
use tinytrain::engine::{EngineOptions, EngineState, PackMember};
use tinytrain::kernels::{MOST_MEMBERS, Tuning};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network, Parameters};
use tinytrain::schedule::ScheduleKind;
use tinytrain::step::{Activation, Loss, OptimizerKind, Rates, UpdateRule};

use crate::lab::labs;
use crate::pack::{
    BATCH, CLASSES, INPUTS, SAMPLES, Trained, alone, assert_near, data, in_pack, mixed, options, order, pack,
    reference, train,
};

/// Numbers and two columns of categories, of which one has unknown ones.
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

/// Widths of hidden layers, activation, optimizer, whether there is dropout, a norm to clip to.
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
    /// The network number `number` of this shape: no two have the same numbers.
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
        let mut options = options(number, optimizer, ScheduleKind::Fused);
        options.rule.clip_norm = self.clip_norm.map(|norm| norm * (1 + number) as f32);
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    }
}

/// Three networks of each shape, in turn: so neighbours belong to different groups.
fn of_shapes(input: Option<&InputLayer>) -> Vec<Trained> {
    let number = |number: usize| SHAPES[number % SHAPES.len()].trained(number, input);
    (0..3 * SHAPES.len()).map(number).collect()
}

/// Demands that members of a pack are what the reference is, and each by itself, on every adapter.
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
fn members_of_one_shape_are_what_the_reference_and_each_by_itself_are() {
    // Two of another schedule among them.
    let mut members = of_shapes(None);
    members.extend(mixed().into_iter().skip(3).take(2));
    check(&members, &data());
}

#[test]
fn a_pack_may_have_one_member() {
    check(&[SHAPES[1].trained(4, None)], &data());
}

#[test]
fn members_behind_an_input_layer_are_too() {
    check(&of_shapes(Some(&input_layer())), &table());
}

/// Members that stop leave the grid and keep their bits, one that diverges spoils nobody's, and the others go on as if they were
/// alone.
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
        // Begun again from a state, one goes the same way.
        pack.restore(4, &members[4].parameters, &EngineState::default()).unwrap();
        let again = train(&mut pack, &data, &order);
        let want = alone(lab, &tuning, &members[4], &data, &order);
        assert_eq!(in_pack(&mut pack, 4, &again, &data), want);
    }
}

/// More members than one dispatch has room for.
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

/// Without a schedule a pack takes what should be the faster: of clipping and input layers `fused`. A network of 65 layers is
/// none for `resident`, and no pack is trained by the schedules that are left.
#[test]
fn a_schedule_that_nobody_asks_for_is_chosen() {
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let mut member = SHAPES[2].trained(0, None);
    let pack = |member: &Trained| {
        let members = [PackMember {
            network: &member.network,
            parameters: &member.parameters,
            options: &member.options,
        }];
        tinytrain::engine::GpuPack::with_tuning(lab.compute(&tuning), tuning, &members).map(|_| ())
    };
    member.options.schedule = None;
    pack(&member).unwrap();
    for (kind, word) in [
        (ScheduleKind::Resident, "cannot clip"),
        (ScheduleKind::TwoDispatch, "no pack is trained by"),
        (ScheduleKind::Plain, "no pack is trained by"),
    ] {
        member.options.schedule = Some(kind);
        assert!(pack(&member).unwrap_err().to_string().contains(word));
    }
}

/// Values with a weight a row, of two losses, under both schedules.
#[test]
fn members_that_learn_weighted_values_are_what_each_is_by_itself() {
    let values = (0..2 * SAMPLES).map(|at| (at * 29 % 41) as f32 / 20.0 - 1.0).collect();
    let data = Dataset {
        targets: Targets::Values { columns: 2, values },
        weights: (0..SAMPLES).map(|row| (row % 4) as f32 / 2.0).collect(),
        ..data()
    };
    let order = order();
    let member = |number: usize, schedule| {
        let hidden = Dense { units: 17, activation: Activation::Silu, dropout: 0.0 };
        let layers = vec![hidden, Dense::new(2, Activation::Identity)];
        let network = Network::new(INPUTS, layers, [Loss::Mse, Loss::Mae][number % 2]).unwrap();
        let rule = UpdateRule::sgd(0.01 * (1 + number) as f32);
        let options = EngineOptions {
            rule,
            weighted: true,
            schedule: Some(schedule),
            ..EngineOptions::sgd(BATCH, 0.1)
        };
        Trained { parameters: Parameters::he_normal(&network, number as u64), network, options }
    };
    for lab in labs() {
        let _turn = lab.turn();
        let tuning = Tuning::for_device(&lab.context);
        for schedule in [ScheduleKind::Fused, ScheduleKind::Resident] {
            let members: Vec<Trained> = (0..5).map(|number| member(number, schedule)).collect();
            let mut pack = pack(lab, &tuning, &members);
            let metrics = train(&mut pack, &data, &order);
            for (number, it) in members.iter().enumerate() {
                let want = alone(lab, &tuning, it, &data, &order);
                assert_eq!(in_pack(&mut pack, number, &metrics, &data), want, "member {number}, {schedule}");
                assert!(want.0.is_finite() && want.0 != it.parameters, "member {number} learns");
            }
        }
    }
}
