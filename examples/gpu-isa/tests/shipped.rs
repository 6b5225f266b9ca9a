//! The machine code of all that is shipped, on each GPU that the table knows. Skipped where RADV is not there.

use std::collections::HashSet;
use std::io::{self, Write};
use std::thread;

use tinytrain::gpu::{Carrier, Program};
use tinytrain::kernels::{
    Axis, FeatureFormat, Kernel, Machine, Members, Reduce, Samples, Segments, Share, Tuning, program,
};
use tinytrain::model::{Dense, InputColumn, InputLayer, Network};
use tinytrain::schedule::{Dispatch, Schedule, ScheduleKind, TrainingStep};
use tinytrain::step::{Activation, Loss, OptimizerKind, UpdateRule};

use crate::device::find_driver;
use crate::gpus::{GPUS, Gpu};
use crate::judgement::{Judge, Judgement};
use crate::model::Time;
use crate::shaders::Shaders;
use crate::work::{SEQUENCES, Workload};

/// Most round trips to memory, one after the other, of a step along the inner dimension: kernel, its buffers (a fourth
/// is the order, by way of which the first layer reads its inputs), round trips.
/// (`row` has none: its code is made for the network, and its products are in no loop.)
const ROUND_TRIPS: [(&str, usize, f64); 7] = [
    ("forward", 4, 1.0),
    ("forward", 3, 1.0),
    ("input_gradient", 4, 1.0),
    ("weight_gradient", 4, 1.0),
    ("weight_gradient", 3, 1.0),
    ("column", 4, 1.0),
    ("resident", 6, 1.0),
];

/// Most round trips of `row` of W1 in all: the first sums, two turns forward and one, a target, one turn back and two of three.
const ROUND_TRIPS_OF_ROW: u64 = 7;

/// Tells whoever runs the tests, also where they pass.
fn say(text: &str) {
    writeln!(io::stderr(), "{text}").unwrap();
}

/// The model that chooses a schedule knows the shapes alone. It takes a discrete GPU for this one, and what it says of a kernel
/// is near what its machine code says; what the model leaves out is in no loop.
fn check_model(kernel: &dyn Kernel, judgement: &Judgement, label: &str) {
    let launch = Machine::DISCRETE.launch() / judgement.steps as f64;
    let model = Machine::DISCRETE.microseconds(kernel, &Tuning::GPU) - launch;
    let Some([Time { microseconds, .. }, _]) = judgement.times else { return };
    let ratio = model / microseconds;
    assert!((0.55..=1.85).contains(&ratio), "{label}: modelled {model:.2} us, by its code {microseconds:.2}");
    let latency = kernel.latency(&Tuning::GPU);
    if judgement.barriers > Some(0) {
        // A workgroup of one wave has none, and a workgroup whose slowest wave is another's may have fewer.
        assert_eq!(judgement.barriers, Some(latency.barriers as u64), "{label}");
    }
}

/// The kernels of W1 and those of an epoch's order, walked through. All waves together load and store what the kernel's
/// cost says, which is counted elsewhere: so each walk takes the turns that the kernel takes. (A driver may load once for
/// the wave what its threads ask for.)
fn check_walks(gpu: &Gpu, judge: &mut Judge<'_>) -> HashSet<Program> {
    // A walk of W1 by one workgroup would take many seconds.
    let [w1, w3] = ["W1", "W3"].map(|name| Workload::parse(name, None).unwrap());
    let (mut checked, mut seen) = (HashSet::new(), HashSet::new());
    for name in SEQUENCES {
        let workload = if name == "resident" { &w3 } else { &w1 };
        let sequence = workload.sequence(name, &Tuning::GPU).unwrap();
        for kernel in &sequence.kernels {
            let judgement = judge.judge(&**kernel, &Tuning::GPU, &sequence.record).unwrap();
            let label = format!("{}: {} {}", gpu.name, judgement.kernel, judgement.shape);
            if gpu.hardware.name == "RX 6800 XT" {
                check_model(&**kernel, &judgement, &label);
            }
            let Judgement { starts, trips, products, spills, scratch, .. } = judgement;
            assert_eq!([spills, scratch], [0, 0], "{label}");
            if !starts && seen.is_empty() {
                say(&format!("{}: this version of Mesa starts its waves in another way, no walks", gpu.name));
                return seen;
            }
            assert!(trips.is_some(), "{label}: a loop without a known end");
            if seen.insert(program(&**kernel, &Tuning::GPU, Carrier::Immediates))
                && let Some(bytes) = judge.bytes(&**kernel, &Tuning::GPU, &sequence.record).unwrap()
            {
                let cost = kernel.cost(&Tuning::GPU).bytes() as f64;
                assert!((0.99 * cost..=cost).contains(&bytes), "{label}: {bytes} bytes, by its cost {cost}");
            }
            let (name, buffers) = (kernel.shader().name, kernel.shader().bindings.len());
            if name == "row" {
                assert!(trips <= Some(ROUND_TRIPS_OF_ROW), "{label}: {trips:?} round trips");
            }
            let row = ROUND_TRIPS.iter().position(|bound| (bound.0, bound.1) == (name, buffers));
            assert_eq!(row.is_some(), !products.is_empty(), "{label}: in the table, or no product");
            for product in products {
                let [found, most] = [product.trips, row.map_or(0.0, |row| ROUND_TRIPS[row].2)];
                assert!(found <= most, "{label}: {found} round trips a step, {most} at most");
            }
            checked.extend(row);
        }
    }
    assert_eq!(checked.len(), ROUND_TRIPS.len(), "{}: a kernel of the table is in no schedule", gpu.name);
    seen
}

/// One that makes 784 inputs.
fn input_layer(scaled: bool) -> InputLayer {
    let kinds = [InputColumn::Periodic, InputColumn::Embedding { categories: 20, size: 8 }];
    let columns = kinds.into_iter().cycle().take(130);
    InputLayer::new(columns.chain([InputColumn::OneHot { categories: 4 }]).collect(), scaled).unwrap()
}

/// The kernels of a step for several networks. Their lengths are numbers in a uniform.
fn several(schedule: Schedule) -> impl Iterator<Item = Box<dyn Kernel>> {
    schedule.dispatches.into_iter().map(|Dispatch { kernel, buffers }| {
        Box::new(Members::new(kernel, vec![Share::Common; buffers.len()], vec![[0; 2]; 2])) as _
    })
}

/// The kernels of W2; every optimizer, activation and loss, also for several networks; reductions.
fn others() -> Vec<Box<dyn Kernel>> {
    let tuning = &Tuning::GPU;
    let w2 = Workload::parse("W2", None).unwrap();
    let sequences = SEQUENCES.iter().map(|name| w2.sequence(name, tuning).unwrap());
    let mut all: Vec<Box<dyn Kernel>> = sequences.flat_map(|sequence| sequence.kernels).collect();
    for (number, kind) in OptimizerKind::ALL.iter().enumerate() {
        let activation = |at: usize| Activation::ALL[(2 * number + at) % Activation::ALL.len()];
        let dense = |units, activation| Dense { units, activation, dropout: 0.2 };
        let layers =
            vec![dense(300, activation(0)), dense(100, activation(1)), Dense::new(10, Activation::Identity)];
        let network = Network::new(784, layers, Loss::ALL[number % Loss::ALL.len()]).unwrap();
        let behind = network.clone().behind(input_layer(number > 0)).unwrap();
        // Two dispatches take the longest to compile.
        let schedules: &[ScheduleKind] = match number {
            0 => &[ScheduleKind::Fused, ScheduleKind::Plain],
            _ if number % 2 == 0 => &[ScheduleKind::Fused],
            _ => &[ScheduleKind::Fused, ScheduleKind::TwoDispatch, ScheduleKind::Resident],
        };
        for schedule in schedules {
            let clip_norm = (*schedule == ScheduleKind::Plain).then_some(1.0);
            let rule = UpdateRule { optimizer: kind.defaults(), clip_norm, ..UpdateRule::sgd(0.1) };
            let step = TrainingStep { weighted: number % 2 == 1, ..TrainingStep::new(&network, &rule, 64) };
            let samples = Samples { stored: FeatureFormat::Floats, count: 1000 };
            let dispatches = Schedule::train(*schedule, &step, samples, tuning).dispatches;
            all.extend(dispatches.into_iter().map(|dispatch| dispatch.kernel));
            let step = TrainingStep { network: &behind, ..step };
            if number % 2 == 0 {
                // Behind an input layer has all of them; of the first optimizer with clipping, of the others without.
                all.extend(several(Schedule::train(ScheduleKind::Fused, &step, samples, tuning)));
            }
            let dispatches = Schedule::train(ScheduleKind::Fused, &step, samples, tuning).dispatches;
            let of_input = ["embed", "embed_gradient", "scale_gradient"];
            let kernels = dispatches.into_iter().map(|dispatch| dispatch.kernel);
            all.extend(kernels.filter(|kernel| of_input.contains(&kernel.shader().name)));
        }
    }
    for axis in [Axis::Rows, Axis::Columns] {
        for segments in Segments::passes(axis, 1000, 1000, 1000, tuning) {
            for maximum in [false, true] {
                all.push(Box::new(Reduce { segments, maximum, integers: false }));
            }
        }
    }
    all
}

/// Of all others the statistics, each program once.
fn check_memory(gpu: &Gpu, judge: &Judge<'_>, mut seen: HashSet<Program>) {
    for kernel in others() {
        let program = program(&*kernel, &Tuning::GPU, Carrier::Immediates);
        if seen.insert(program.clone()) {
            let (compiled, _) = judge.compile(&*kernel, &Tuning::GPU, &program, false).unwrap();
            let used =
                ["Spilled VGPRs", "Spilled SGPRs", "Scratch size"].map(|name| compiled.statistics[name]);
            assert_eq!(used, [0; 3], "{}: {}", gpu.name, kernel.label());
        }
    }
}

#[test]
fn nothing_spills_and_no_step_of_a_product_waits_more_often_than_it_must() {
    if let Err(reason) = find_driver() {
        return say(&format!("no machine code is judged: {reason}"));
    }
    let judges: Vec<_> =
        GPUS.iter().map(|gpu| (gpu, Judge::new(gpu, &Shaders::BuiltIn, None).unwrap())).collect();
    thread::scope(|scope| {
        for (gpu, mut judge) in judges {
            scope.spawn(move || {
                let seen = check_walks(gpu, &mut judge);
                check_memory(gpu, &judge, seen);
            });
        }
    });
}
